"""All figures of a study of confounded tasks: drawn, saved in three formats, captioned; and why one is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from einstellung.diagnoses.confounding.figures.captions import confounding_captions
from einstellung.diagnoses.confounding.figures.learning import draw_learning
from einstellung.diagnoses.confounding.figures.matrix import draw_matrices
from einstellung.diagnoses.confounding.figures.samples import draw_sheet, sheet_tasks
from einstellung.diagnoses.confounding.figures.twins import draw_twins
from einstellung.diagnoses.confounding.figures.verdict import draw_unconfounded
from einstellung.report.figures.canvas import drawing, save
from einstellung.report.figures.plan import Drawn
from einstellung.report.figures.samples import read_samples
from einstellung.report.tables import Missing
from einstellung.timeline import Timeline

TITLES = {
    "unconfounded": "Unconfounded accuracy and the verdicts",
    "matrices": "What is known after every phase, positives and negatives apart",
    "learning": "Learning curves over all phases",
    "twins": "The same scenes with the confounder changed",
    "samples": "Test images and their twins",
}


@dataclass(frozen=True)
class _Plan:
    why: str | None
    draw: Callable[[], Figure]


def draw_confounding(
    folder: Path, timeline: Timeline, card: Mapping[str, Any], samples: Path | None
) -> tuple[dict[str, Drawn], list[Missing]]:
    """Write every figure that the data allow into ``folder``."""
    words = confounding_captions(timeline.frame, card)
    drawn, missing = {}, []
    with drawing():
        for name, plan in _plans(timeline, card, samples).items():
            if plan.why is None:
                drawn[name] = Drawn(name, TITLES[name], words[name], save(plan.draw(), folder, name)["svg"])
            else:
                missing.append(Missing(name, TITLES[name], plan.why))
    return drawn, missing


def _plans(timeline: Timeline, card: Mapping[str, Any], samples: Path | None) -> dict[str, _Plan]:
    images = read_samples(samples) if samples is not None else {}
    shown = sheet_tasks(images, card["tasks"])
    confounders = dict(zip(card["tasks"], card["confounders"], strict=False))
    measured = any(record["unconfounded"]["mean"] is not None for record in card["methods"].values())
    return {
        "unconfounded": _Plan(
            None if measured else "unconfounded accuracy was not measured at the end of any run",
            lambda: draw_unconfounded(card),
        ),
        "matrices": _Plan(None, lambda: draw_matrices(card)),
        "learning": _Plan(None, lambda: draw_learning(timeline, card)),
        "twins": _Plan(None if _has_twins(card) else "no twins were measured", lambda: draw_twins(card)),
        "samples": _Plan(
            None if shown else "no sample images were stored with these results",
            lambda: draw_sheet(images, shown, confounders),
        ),
    }


def _has_twins(card: Mapping[str, Any]) -> bool:
    return any(
        estimate["mean"] is not None
        for record in card["methods"].values()
        for twins in record["twins"].values()
        for kind, estimate in twins["learned"].items()
        if kind.endswith("_twin")
    )
