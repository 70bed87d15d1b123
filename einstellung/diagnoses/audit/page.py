"""What the page of an audit shows besides its tables and figures."""

from __future__ import annotations

from typing import Any

from einstellung.diagnoses.audit.card import AuditCard
from einstellung.diagnoses.audit.error_rates import describe_alarms, describe_detection
from einstellung.diagnoses.wording import percent

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
                ("images shown to it", f"{record.looks:,}"),
                ("seconds", f"{record.seconds:.0f}"),
            ],
        }
        for name, record in card.methods.items()
    ]


def conditions(card: AuditCard) -> dict[str, str]:
    """What the numbers were measured under."""
    budgets = ", ".join(f"{100 * float(budget):g} %" for budget in card.settings.get("budgets", ()))
    detection = describe_detection(card.error_rates)
    return {
        "images": f"{card.n_images:,} of {card.settings.get('images_available', card.n_images):,}, "
        f"{card.image_size[0]} x {card.image_size[1]} pixels",
        "classes": str(len(card.class_names)),
        "proxies": ", ".join(card.settings.get("proxies", ())),
        "budgets": f"{budgets} of the pixels",
        "seed of all draws": str(card.settings.get("seed", 0)),
        "accuses a clean net": describe_alarms(card.error_rates),
        "finds a cue": f"{detection[0].upper()}{detection[1:]}.",
        "baseline": card.baseline or "none",
    }
