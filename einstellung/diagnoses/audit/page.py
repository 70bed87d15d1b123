"""What the page of an audit shows besides its tables and figures."""

from __future__ import annotations

from typing import Any

from einstellung.diagnoses.audit.card import AuditCard
from einstellung.diagnoses.audit.error_rates import describe_alarms, describe_detection, describe_suspicions
from einstellung.diagnoses.wording import listed, percent

#: The class of a verdict's pill; it is a word in any case.
PILLS = {"localised cue": "red-flag", "global cue suspected": "shared-shortcut", "cue suspected": "shared-shortcut"}


def model_cards(card: AuditCard) -> list[dict[str, Any]]:
    """A model's verdict with its sentences, for the template."""
    return [
        {
            "model": name,
            "verdict": record.verdict.name,
            "pill": PILLS.get(record.verdict.name, ""),
            "sentences": record.verdict.sentences,
            "numbers": [
                ("accuracy", percent(record.accuracy)),
                ("findings", str(len(record.findings))),
                ("suspicions", str(len(record.suspicions))),
                ("images evaluated", f"{record.images_evaluated:,}"),
                ("seconds", f"{record.seconds:.0f}"),
            ],
        }
        for name, record in card.methods.items()
    ]


def _classes(card: AuditCard) -> str:
    if not (groups := card.settings.get("groups")):
        return str(len(card.class_names))
    words = listed([f"{name} ({size})" for name, size in groups.items()], most=12)
    return f"{len(card.class_names)} groups of classes, whose probabilities are summed: {words}"


def conditions(card: AuditCard) -> dict[str, str]:
    """What the numbers were measured under."""
    budgets = ", ".join(f"{100 * float(budget):g} %" for budget in card.settings.get("budgets", ()))
    detection = describe_detection(card.error_rates)
    return {
        "images": f"{card.n_images:,} of {card.settings.get('images_available', card.n_images):,}, "
        f"{card.image_size[0]} x {card.image_size[1]} pixels",
        "classes": _classes(card),
        "proxies": ", ".join(card.settings.get("proxies", ())),
        "budgets": f"{budgets} of the pixels",
        "random seed": str(card.settings.get("seed", 0)),
        "false-positive rate": describe_alarms(card.error_rates),
        "suspicions": describe_suspicions(card.error_rates),
        "finds a cue": f"{detection[0].upper()}{detection[1:]}.",
        "baseline": card.baseline or "none",
    }
