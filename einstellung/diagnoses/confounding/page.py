"""What the page of a study of confounded tasks shows besides its tables and figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from einstellung.diagnoses.confounding.answer import describe_card_seeds, describe_perception
from einstellung.diagnoses.confounding.card import ConfoundingCard
from einstellung.diagnoses.confounding.forest import PILLS, anchor
from einstellung.diagnoses.confounding.order import describe_order
from einstellung.diagnoses.confounding.settings import ConfoundingSettings
from einstellung.diagnoses.confounding.splits import UNCONFOUNDED
from einstellung.diagnoses.confounding.verdict import (
    CONFOUNDED,
    INSIDIOUS,
    NOT_CONFOUNDED,
    NOT_LEARNED,
    SANITY_CHECK,
    UNDECIDED,
)
from einstellung.diagnoses.wording import percent, points
from einstellung.report.measured import describe_smoothing
from einstellung.report.notation import number, per_cent
from einstellung.report.pictures import PictureRow

MEANINGS = {
    INSIDIOUS: "Confounded although joint training on the same data is not, and cumulative training is conclusively below "
    "joint training by more than the margin, paired by seed: the cause is the order of the tasks.",
    CONFOUNDED: "Unconfounded accuracy stays below the ceiling by more than the margin, and the interval agrees.",
    NOT_CONFOUNDED: "The gap to the ceiling is smaller than the margin, and the interval agrees.",
    NOT_LEARNED: "At least one task is below the required accuracy right after learning, so nothing can be concluded.",
    UNDECIDED: "The interval of the gap contains the margin, or a required value was not measured.",
    SANITY_CHECK: "Trained on the unconfounded set itself: no verdict, but it gives the ceiling for this kind of model.",
}
#: Where the page's slider stops.
MARGINS = tuple(stop / 100 for stop in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 25, 30, 35, 40, 45))
GLOSSARY = [(name, PILLS.get(name, ""), words) for name, words in MEANINGS.items()]


def method_cards(card: ConfoundingCard) -> list[dict[str, Any]]:
    """A method's verdict with its main numbers, for the template."""
    shown = []
    for place, (method, record) in enumerate(card.methods.items()):
        end = record.matrix[card.last_task][UNCONFOUNDED]
        shown.append(
            {
                "method": method,
                "anchor": anchor(place),
                "is_baseline": method == card.baseline,
                "verdict": record.verdict.name,
                "pill": PILLS.get(record.verdict.name, ""),
                "sentence": record.verdict.sentence,
                "numbers": [
                    ("unconfounded, positives", per_cent(end.positive, spread=True)),
                    ("unconfounded, negatives", per_cent(end.negative, spread=True)),
                    ("own tasks, just learned", per_cent(record.own_tasks, spread=True)),
                    ("seeds", str(record.n_seeds)),
                ],
            }
        )
    return shown


def picture_rows(samples: Mapping[str, np.ndarray], card: ConfoundingCard) -> list[PictureRow]:
    """Test images of the first task as they are, and the same scenes without the confounder."""
    task = card.tasks[0]
    pair = [samples.get(f"{task}_positive_{kind}") for kind in ("paired", "twin")]
    return [
        PictureRow(words, images)
        for words, images in zip(("as they are", "without the confounder"), pair, strict=True)
        if images is not None and len(images)
    ]


def settings_of(card: ConfoundingCard) -> ConfoundingSettings:
    """The settings that give the card again from the same evidence."""
    return ConfoundingSettings(
        baseline=card.baseline if card.has_baseline else None,
        tau=card.tau,
        window=card.window,
        smoothing=card.smoothing,
        margin=card.margin,
        level=card.level,
    )


def conditions(card: ConfoundingCard) -> dict[str, str]:
    """What the numbers were measured under."""
    named = {
        "ground truth": card.ground_truth,
        "variant": card.variant,
        "model": card.model,
        "perception": describe_perception(card.perceived) if card.perceived else None,
    }
    if card.variant == UNCONFOUNDED and card.reported.ceiling is not None:
        named["the paper's sanity check"] = f"{per_cent(card.reported.ceiling, spread=True)} per cent (its section 4.1)"
    confounders = ", ".join(f"{task} '{words}'" for task, words in card.confounder_of.items())
    ceiling = card.ceiling
    return {
        **{name: value for name, value in named.items() if value},
        "confounders": confounders or "none, or not recorded",
        "seeds": describe_card_seeds(card),
        "accuracy": "of a task or of the unconfounded set: the mean of positives and negatives, so chance is "
        + percent(card.chance),
        "final values": "at the last epoch of every phase",
        "ceiling": f"{percent(ceiling.mean)}, {ceiling.source}" if ceiling else "none: own tasks instead",
        "margin of the verdict": f"{points(card.margin)} points",
        "order of the tasks": describe_order(card.order)
        if card.order
        else "not measured: no seed with cumulative and joint",
        "level of a learned task": percent(card.level),
        "baseline of the facets": card.baseline if card.has_baseline else "none",
        "threshold τ of AD": f"{number(card.tau, digits=2)}, curves {describe_smoothing(card.smoothing, card.window)}",
    }
