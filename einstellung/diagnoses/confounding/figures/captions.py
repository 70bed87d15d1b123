"""Captions of the figures of confounded tasks: what is shown and what it was measured on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from einstellung.diagnoses.confounding.splits import LABELS, UNCONFOUNDED
from einstellung.report.measured import images_of, seeds_in_words

_UNCONFOUNDED = """Filled: accuracy on the unconfounded test images at the end of training, mean of positives ({positives}) and
negatives ({negatives}); bars: {bars}; {seeds}. Open: mean over the method's own tasks, each right after it was learned.
{ceiling} Dotted: chance."""

_MATRICES = """Accuracy in per cent on the test images of every task and on the unconfounded set, at the end of every phase, mean
over seeds; {seeds}. Orange: wrong; white: chance; blue: right. A net that says 'positive' to everything is blue left and
orange right. A grey cell was not measured: joint training has one phase."""

_LEARNING = """Accuracy over all phases, each curve in its phase on the task of that phase: a fixed sample of its training images,
its validation and its test images; and the unconfounded test images. {spread}; {seeds}. Dots: what was measured more rarely than
the rest, when it was. Diamonds: mean accuracy on the test
images of all tasks met so far, at the end of a phase. Dotted: chance. A gap between training and test is a failure to
generalise within the task; a gap between test and unconfounded is what confounding costs."""

_TWINS = """The task's test images that have a twin, and the twins: the same scene, layout and lights, the truth unchanged,
with the confounder taken away from positives or put into negatives ({twins}). Right after the task was learned (joint: at the
end), mean over seeds; {seeds}. A line to the left: the answer hung on the confounder. Dotted: chance."""

_SAMPLES = """What the models are tested on. In each block the upper row shows test images, the lower row the same scenes with the
confounder of the task taken away (positives) or put in (negatives)."""


def confounding_captions(frame: pd.DataFrame, card: Mapping[str, Any]) -> dict[str, str]:
    """The caption of every figure by its file name."""
    single = all(record["n_seeds"] == 1 for record in card["methods"].values())
    ceiling = card["ceiling"]
    words = {
        "seeds": seeds_in_words(card),
        "positives": images_of(frame, "unconfounded_positive"),
        "negatives": images_of(frame, "unconfounded_negative"),
        "bars": "95 % Wilson interval over images of the single seed" if single else "95 % interval over seeds",
        "spread": "Lines: the single seed"
        if single
        else "Lines: mean over seeds; bands: one standard deviation (ddof 1)",
        "twins": _twins(card),
        "ceiling": (
            f"Line: the ceiling ({ceiling['source']}); grey: within the margin below it."
            if ceiling
            else "There is no verdict: it is a sanity check."
            if card["variant"] == UNCONFOUNDED
            else "No ceiling is known: the verdict compares with the open marks."
        ),
    }
    templates = {
        "unconfounded": _UNCONFOUNDED,
        "matrices": _MATRICES,
        "learning": _LEARNING,
        "twins": _TWINS,
        "samples": _SAMPLES,
    }
    return {name: " ".join(template.format(**words).split()) for name, template in templates.items()}


def _twins(card: Mapping[str, Any]) -> str:
    """How many twins there are in a panel; tasks and labels may differ."""
    counts = {
        record["twins"][task]["images"][label]
        for record in card["methods"].values()
        for task in card["tasks"]
        for label in LABELS
    }
    known = sorted(count for count in counts if count is not None)
    if not known:
        return "their number was not recorded"
    return f"{known[0]:,} images a panel" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,} images a panel"
