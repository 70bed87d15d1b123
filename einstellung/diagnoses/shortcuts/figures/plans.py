"""All figures of a study of several shortcuts: their titles and captions, how they are drawn, or why they cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.estimates import Weighting
from einstellung.diagnoses.shortcuts.figures.phases import draw_phases
from einstellung.diagnoses.shortcuts.figures.plane import draw_plane, plane_pairs
from einstellung.diagnoses.shortcuts.figures.rows import draw_gap_rows
from einstellung.diagnoses.shortcuts.notation import describe_card_seeds, describe_final, describe_turned
from einstellung.diagnoses.shortcuts.splits import TWINS, group_split
from einstellung.diagnoses.shortcuts.verdict import describe_basis
from einstellung.report.figures.plan import Plan
from einstellung.report.figures.samples import draw_samples
from einstellung.report.pictures import read_samples

_PLANE = """Two gaps of every method against each other at the end of {last} ({final}); {seeds}; {images}. Right and up is
good: no gap. {turned} Dashed: the gaps of {baseline}. In the tinted corners one gap is smaller than that of {baseline} and the
other larger: a Whac-A-Mole only if reliance confirms it, since the ceiling bounds gaps. {bars} Markers and colours show the
verdicts, by {basis}."""

_GAPS = """Every gap of every method at the end of {last} ({final}), in points; {seeds}; {images}. {bars} Dashed: the gap of
{baseline}; grey: within the margin of it. Left of the dashed line: larger than that of {baseline}. Filled: the verdict on the
reliance on this cue, by {basis}, is conclusive (left triangle: amplified; right triangle: reduced or cured; square: unchanged);
open: undecided, or several cues at once. Gaps do not enter the verdict, because the ceiling bounds them."""

_PHASES = """Accuracy where only this cue is uncommon minus accuracy where all are common, at the end of every phase, in points;
mean over seeds, {spread}; {seeds}; {images}. Below each phase: the share of its training images in which the cue agrees with
the label. At one half, the cue is uninformative, so any gap remains from earlier phases. {above}"""

_SAMPLES = """Test images, one row per group. The digits of a pattern stand for {cues}, in this order:
1 if the cue agrees with the label, 0 if not."""

_TWINS = (
    """Test images with a common cue, and the same images with only this cue swapped to its other value or covered."""
)

_NO_SAMPLES = "these results have no stored sample images"


def plan_figures(card: ShortcutsCard, samples: Path | None) -> list[Plan]:
    """Every figure; ``samples``: the file of sample images, where there is one."""
    images = read_samples(samples) if samples is not None else {}
    groups, twins = group_rows(images, card), twin_rows(images, card)
    words = _words(card)

    def caption(template: str) -> str:
        return " ".join(template.format(**words).split())

    return [
        Plan("plane", "One gap against the other", caption(_PLANE), lambda: draw_plane(card), _why_no_plane(card)),
        Plan(
            "gaps",
            "Every gap with its interval",
            caption(_GAPS),
            lambda: draw_gap_rows(card),
            None if _has_gaps(card, "own") else "no gap is known",
        ),
        Plan("phases", "Gaps from phase to phase", caption(_PHASES), lambda: draw_phases(card), _why_no_phases(card)),
        Plan(
            "samples",
            "Test images of every group",
            caption(_SAMPLES),
            lambda: draw_samples(groups, list(groups)),
            None if groups else _NO_SAMPLES,
            pictures=True,
        ),
        Plan(
            "twins",
            "The same images with one cue changed",
            caption(_TWINS),
            lambda: draw_samples(twins, list(twins)),
            None if twins else _NO_SAMPLES,
            pictures=True,
        ),
    ]


def _words(card: ShortcutsCard) -> dict[str, str]:
    """What the captions say of this study."""
    single = all(record.n_seeds == 1 for record in card.methods.values())
    images = card.images.pattern
    return {
        "last": card.last,
        "final": describe_final(card),
        "seeds": describe_card_seeds(card),
        "baseline": card.baseline,
        "basis": describe_basis(card.basis),
        "images": f"{images:,} test images a pattern" if images else "sizes not recorded",
        "bars": "A single seed has no interval."
        if single
        else "Bars: 95 % intervals over seeds; some may leave the picture.",
        "spread": "a single one" if single else "bars: 95 % intervals",
        "cues": ", ".join(card.cues),
        "turned": describe_turned(card, card.last),
        "above": "Common means here, in every phase: with the label. Above 0, the model expects the cue to go against it."
        if card.has_turned_cues
        else "",
    }


def _has_gaps(card: ShortcutsCard, weighting: Weighting) -> bool:
    return any(
        gap.mean is not None
        for record in card.methods.values()
        for end in record.phases.values()
        for gap in end.measured_from(weighting).gaps.values()
    )


def _why_no_plane(card: ShortcutsCard) -> str | None:
    if len(card.cues) < 2:
        return "there is one cue only"
    return None if plane_pairs(card) else "no gap is known at the end of the last phase"


def _why_no_phases(card: ShortcutsCard) -> str | None:
    if len(card.phases) < 2:
        return "there is only one phase"
    return None if _has_gaps(card, "common") else "no group was measured"


def group_rows(images: Mapping[str, np.ndarray], card: ShortcutsCard) -> dict[str, np.ndarray]:
    """The sample images of every group, by class and pattern, under the words that stand beside the row."""
    names = {
        group_split(label, pattern): f"class {label}, {pattern}" for label in card.labels for pattern in card.patterns
    }
    return _same_number({words: images[name] for name, words in names.items() if name in images and len(images[name])})


def twin_rows(images: Mapping[str, np.ndarray], card: ShortcutsCard) -> dict[str, np.ndarray]:
    """The sample images of every cue's twins."""
    names = {f"{cue}_{kind}": f"{cue}, {kind}" for cue in card.cues for kind in TWINS}
    return _same_number({words: images[name] for name, words in names.items() if name in images and len(images[name])})


def _same_number(rows: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """As many images in every row as the shortest has: the rows of a sheet stand below each other."""
    fewest = min((len(found) for found in rows.values()), default=0)
    return {name: found[:fewest] for name, found in rows.items()}
