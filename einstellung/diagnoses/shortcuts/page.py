"""What the page of several shortcuts shows besides tables and figures: conditions, verdicts, glossary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from einstellung.diagnoses.shortcuts.card import AGAINST_LABEL, ShortcutsCard
from einstellung.diagnoses.shortcuts.forest import PILLS
from einstellung.diagnoses.shortcuts.notation import describe_card_seeds, describe_finals, describe_intervals
from einstellung.diagnoses.shortcuts.phase_tables import describe_weights
from einstellung.diagnoses.shortcuts.plane import plane_data
from einstellung.diagnoses.shortcuts.settings import ShortcutsSettings
from einstellung.diagnoses.shortcuts.splits import TWINS, describe_pattern
from einstellung.diagnoses.shortcuts.verdict import (
    AMPLIFIES,
    CURES_ALL,
    FRESH,
    NOT_LEARNED,
    REDUCES_ALL,
    REDUCES_SOME,
    UNCHANGED,
    UNDECIDED,
    WHAC_A_MOLE,
    describe_basis,
)
from einstellung.diagnoses.wording import percent, points
from einstellung.prose import join
from einstellung.report.measured import describe_smoothing
from einstellung.report.pictures import PictureRow

#: Where the page's slider stops.
MARGINS = (0.0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2)
GLOSSARY = {
    WHAC_A_MOLE: "Reduces or cures the reliance on one cue and amplifies that on another, both beyond the margin; intervals "
    "and corrected tests agree.",
    AMPLIFIES: "Amplifies the reliance on at least one cue and reduces it on none, as far as results are conclusive.",
    CURES_ALL: "The reliance on every cue is smaller than the baseline's, and its interval stays within the margin of 0.",
    REDUCES_ALL: "The reliance on every cue is smaller than the baseline's beyond the margin; intervals and corrected tests "
    "agree.",
    REDUCES_SOME: "The reliance on a cue is reduced and on none amplified; on another, it is unchanged or not conclusive.",
    UNCHANGED: "The reliance on no cue differs from the baseline's by more than the margin; intervals and tests agree.",
    UNDECIDED: "Intervals or corrected tests are not conclusive, or a required value was not measured; always the case with "
    "fewer than three seeds.",
    NOT_LEARNED: "ID accuracy is below the required level, so reliance cannot be assessed.",
    FRESH: "Retrained from scratch in every phase: the reference for reliance and delay. It mitigates nothing and gets no "
    "verdict.",
}


def page_words(card: ShortcutsCard) -> Mapping[str, Any]:
    """What the template needs besides what every page has."""
    verdicts = {method: record.verdict for method, record in card.methods.items()}
    return {
        "verdicts": [(method, verdict, PILLS.get(verdict.name, "")) for method, verdict in verdicts.items()],
        "glossary": [(name, PILLS.get(name, ""), words) for name, words in GLOSSARY.items()],
        "terms": _terms(card),
        "plane": bool(plane_data(card)),
        "baseline": card.baseline,
    }


def picture_rows(samples: Mapping[str, np.ndarray], card: ShortcutsCard) -> list[PictureRow]:
    """The first cue's twins: the same images with it common, swapped and covered."""
    rows = [(kind, samples.get(f"{card.cues[0]}_{kind}")) for kind in TWINS]
    return [PictureRow(f"{card.cues[0]} {kind}", images) for kind, images in rows if images is not None and len(images)]


def settings_of(card: ShortcutsCard) -> ShortcutsSettings:
    """The settings that give the card again from the same evidence."""
    return ShortcutsSettings(
        baseline=card.baseline if card.has_baseline else None,
        final=card.final,
        margin=card.margin,
        level=card.level,
        tau=card.tau,
        window=card.window,
        smoothing=card.smoothing,
        cues=card.cues,
        correlations=card.correlations or None,
    )


def _terms(card: ShortcutsCard) -> dict[str, str]:
    """The glossary of the tables, with this study's cues."""
    cues = card.cues
    example = card.patterns[1] if len(cues) > 1 else card.patterns[-1]
    return {
        "cue": f"something in the image that agrees with the label in most training images but does not define it; here: "
        f"{join(cues)}. Each of its values belongs to one class",
        "turned": "a correlation below .5: the cue disagrees with the label in most training images of the phase. The "
        "phase's own gaps define common by its training images, so a gap is the accuracy lost where the cue "
        "contradicts them",
        "pattern": f"a digit for every cue in the order {', '.join(cues)}: 1 if its value agrees with the label, 0 if not; "
        f"{example}: {describe_pattern(example, cues, 'with the label', 'against it')}",
        "group": f"the test images of one class and one pattern; group_{card.labels[0]}_{example} is one",
        "twin": "a test image with one cue swapped to its other value, or covered, and everything else unchanged",
        "effective epoch": "progress within a phase: images of the phase seen so far, divided by the size of its training "
        "set; replayed images do not count",
    }


def describe_conditions(card: ShortcutsCard) -> dict[str, str]:
    correlations = [
        f"{phase}: {', '.join(_correlation(card, phase, cue, rho) for cue, rho in zip(card.cues, found, strict=True))}"
        for phase, found in card.correlations.items()
    ]
    images = card.images
    return {
        "cues": ", ".join(card.cues),
        "correlations in training": "; ".join(correlations) or "not known",
        "weights": describe_weights(card),
        "seeds": describe_card_seeds(card),
        "test images": f"{images.group:,} per group, {images.test:,} in total"
        if images.group
        else "not recorded, or unequal",
        "final values": describe_finals(card),
        "baseline": card.baseline if card.has_baseline else f"none ('{card.baseline}' was not run)",
        "retrained in every phase": card.scratch or "no such method",
        "margin of the verdict": f"{points(card.margin)} points",
        "verdicts rest on": describe_basis(card.basis),
        "intervals of the verdict": f"95 %, {describe_intervals(card)}",
        "level of a learned task": f"ID accuracy of {percent(card.level)}",
        "threshold τ of AD": f"{card.tau:.2f}, curves {describe_smoothing(card.smoothing, card.window)}",
    }


def _correlation(card: ShortcutsCard, phase: str, cue: str, rho: float) -> str:
    value = card.common_values[phase][cue]
    return f"{cue} {rho:g}{f' (common value: {value})' if value == AGAINST_LABEL else ''}"
