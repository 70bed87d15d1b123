"""All figures of a study of several shortcuts: drawn, saved in three formats, captioned; and why one is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from einstellung.diagnoses.shortcuts.figures.captions import shortcut_captions
from einstellung.diagnoses.shortcuts.figures.phases import draw_phases
from einstellung.diagnoses.shortcuts.figures.plane import draw_plane, plane_pairs
from einstellung.diagnoses.shortcuts.figures.rows import draw_gap_rows
from einstellung.diagnoses.shortcuts.splits import TWINS, group_split
from einstellung.report.figures.canvas import drawing, save
from einstellung.report.figures.plan import Drawn
from einstellung.report.figures.samples import draw_samples, read_samples
from einstellung.report.tables import Missing

TITLES = {
    "plane": "One gap against the other",
    "gaps": "Every gap with its interval",
    "phases": "Gaps from phase to phase",
    "samples": "Test images of every group",
    "twins": "The same images with one cue changed",
}
_NO_SAMPLES = "no sample images were stored with these results"


@dataclass(frozen=True)
class _Plan:
    why: str | None
    draw: Callable[[], Figure]


def draw_shortcuts(
    folder: Path, card: Mapping[str, Any], samples: Path | None
) -> tuple[dict[str, Drawn], list[Missing]]:
    """Write every figure that the data allow into ``folder``."""
    words = shortcut_captions(card)
    drawn, missing = {}, []
    with drawing():
        for name, plan in _plans(card, samples).items():
            if plan.why is None:
                drawn[name] = Drawn(name, TITLES[name], words[name], save(plan.draw(), folder, name)["svg"])
            else:
                missing.append(Missing(name, TITLES[name], plan.why))
    return drawn, missing


def _plans(card: Mapping[str, Any], samples: Path | None) -> dict[str, _Plan]:
    images = read_samples(samples) if samples is not None else {}
    groups, twins = group_rows(images, card), twin_rows(images, card)
    return {
        "plane": _Plan(_why_no_plane(card), lambda: draw_plane(card)),
        "gaps": _Plan(None if _has_gaps(card, "own") else "no gap is known", lambda: draw_gap_rows(card)),
        "phases": _Plan(_why_no_phases(card), lambda: draw_phases(card)),
        "samples": _Plan(None if groups else _NO_SAMPLES, lambda: draw_samples(groups, list(groups))),
        "twins": _Plan(None if twins else _NO_SAMPLES, lambda: draw_samples(twins, list(twins))),
    }


def _has_gaps(card: Mapping[str, Any], weighting: str) -> bool:
    return any(
        estimate["mean"] is not None
        for record in card["methods"].values()
        for phase in record["phases"].values()
        for estimate in phase[weighting]["gaps"].values()
    )


def _why_no_plane(card: Mapping[str, Any]) -> str | None:
    if len(card["cues"]) < 2:
        return "there is one cue only"
    return None if plane_pairs(card) else "no gap is known at the end of the last phase"


def _why_no_phases(card: Mapping[str, Any]) -> str | None:
    if len(card["phases"]) < 2:
        return "there is one phase only"
    return None if _has_gaps(card, "common") else "no group was measured"


def group_rows(images: Mapping[str, np.ndarray], card: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The sample images of every group, by class and pattern, under the words that stand beside the row."""
    names = {
        group_split(label, pattern): f"class {label}, {pattern}"
        for label in card["labels"]
        for pattern in card["patterns"]
    }
    return _same_number({words: images[name] for name, words in names.items() if name in images and len(images[name])})


def twin_rows(images: Mapping[str, np.ndarray], card: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The sample images of every cue's twins."""
    names = {f"{cue}_{kind}": f"{cue}, {kind}" for cue in card["cues"] for kind in TWINS}
    return _same_number({words: images[name] for name, words in names.items() if name in images and len(images[name])})


def _same_number(rows: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """As many images in every row as the shortest has: the rows of a sheet stand below each other."""
    fewest = min((len(found) for found in rows.values()), default=0)
    return {name: found[:fewest] for name, found in rows.items()}
