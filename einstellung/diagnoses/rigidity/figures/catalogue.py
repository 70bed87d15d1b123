"""All figures of a report: drawn, saved in three formats, captioned; and why one that is missing was not drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from einstellung.diagnoses.rigidity.captions import captions
from einstellung.diagnoses.rigidity.curves import PhaseTwoCurves
from einstellung.diagnoses.rigidity.figures.accuracy import draw_accuracy
from einstellung.diagnoses.rigidity.figures.attention_plans import ATTENTION, attention_plans
from einstellung.diagnoses.rigidity.figures.delays import draw_delay_grid
from einstellung.diagnoses.rigidity.figures.gaps import draw_deficit, draw_reliance
from einstellung.diagnoses.rigidity.figures.pictures import caption, draw_pictures
from einstellung.diagnoses.rigidity.figures.survival import draw_survival
from einstellung.diagnoses.rigidity.figures.verdict import draw_verdict
from einstellung.errors import InputError
from einstellung.metrics.curves import TOLERANCE
from einstellung.report.figures.canvas import drawing, save
from einstellung.report.figures.samples import draw_samples, in_grey, read_samples
from einstellung.report.notation import is_compared
from einstellung.report.tables import Missing
from einstellung.results.attention_files import AttentionRuns
from einstellung.results.run_files import RunPictures, read_pictures
from einstellung.timeline import SC_MASK, SC_PATCH

TITLES = {
    "verdict": "The facets with their intervals",
    "fig3_accuracy": "Accuracy with the cue, and the delay",
    "fig4_delay_grid": "The delay against the threshold",
    "fig5_deficit": "Performance deficit over time",
    "fig6_reliance": "Reliance on the cue over time",
    "survival": "Time to threshold, censored seeds included",
    "fig1_samples": "Original, patched, masked",
    "fig1_samples_grey": "Original, patched, masked, in grey",
    "fig2_augmentation": "Raw and augmented",
}
PICTURES = "pictures_"  # and the method's name


@dataclass(frozen=True)
class Drawn:
    """A figure that was written: its file name without ending, and what the page needs."""

    name: str
    title: str
    caption: str
    svg: bytes

    @property
    def is_sheet(self) -> bool:
        """Whether it shows images rather than numbers."""
        return self.name.startswith(("fig1_", "fig2_", PICTURES))

    @property
    def is_attention(self) -> bool:
        """Whether it belongs to the section on attention."""
        return self.name.startswith(ATTENTION)


def draw_figures(
    folder: Path,
    frame: pd.DataFrame,
    card: Mapping[str, Any],
    *,
    levels: Mapping[str, float],
    samples: Path | None,
    pictures: Sequence[RunPictures] = (),
    attention: AttentionRuns = MappingProxyType({}),
) -> tuple[list[Drawn], list[Missing]]:
    """Write every figure that the data allow into ``folder``, one at a time so that memory stays small."""
    words = captions(frame, card)
    drawn, missing = [], []
    with drawing():
        for name, (why, draw) in _plans(frame, card, levels, samples).items():
            if why is None:
                drawn.append(Drawn(name, TITLES[name], words[name], save(draw(), folder, name)["svg"]))
            else:
                missing.append(Missing(name, TITLES[name], why))
        for of_run in pictures:
            name, title = f"{PICTURES}{of_run.method}", f"Pictures by {of_run.method}"
            try:
                images = read_pictures(of_run.path)
            except InputError as error:
                missing.append(Missing(name, title, str(error)))
                continue
            drawn.append(
                Drawn(name, title, caption(of_run, images), save(draw_pictures(of_run, images), folder, name)["svg"])
            )
        for plan in attention_plans(attention, card):
            if plan.why is None:
                drawn.append(Drawn(plan.name, plan.title, plan.caption, save(plan.draw(), folder, plan.name)["svg"]))
            else:
                missing.append(Missing(plan.name, plan.title, plan.why))
    return drawn, missing


def _plans(
    frame: pd.DataFrame, card: Mapping[str, Any], levels: Mapping[str, float], samples: Path | None
) -> dict[str, tuple[str | None, Callable[[], Figure]]]:
    """For every figure: why it cannot be drawn (or None), and how it is drawn."""
    curves = PhaseTwoCurves(frame, card)
    images = read_samples(samples) if samples is not None else {}
    measured = set(frame.loc[(frame["phase"] == "T2") & (frame["epoch"] > TOLERANCE), "split"])
    no_cue = None if SC_PATCH in measured else f"{SC_PATCH} was not measured in phase T2 after epoch 0"
    no_mask = no_cue or (None if SC_MASK in measured else f"{SC_MASK} was not measured in phase T2 after epoch 0")
    alone = no_cue or (
        None if is_compared(card) else "nothing to compare: the baseline or every continual method is missing"
    )
    variants = ("original", "patched", "masked")
    shown = [name for name in variants if name in images]  # a cue that was in the pictures already has no original
    names = [str(caption) for caption in images.get("captions", np.array([]))]
    return {
        "verdict": (no_cue if is_compared(card) else no_mask, lambda: draw_verdict(card)),
        "fig3_accuracy": (no_cue, lambda: draw_accuracy(curves, card, levels)),
        "fig4_delay_grid": (alone, lambda: draw_delay_grid(card)),
        "fig5_deficit": (alone, lambda: draw_deficit(curves, card)),
        "fig6_reliance": (no_mask, lambda: draw_reliance(curves, card)),
        "survival": (no_cue, lambda: draw_survival(curves, card)),
        "fig1_samples": (_lacking(images, variants[1:]), lambda: draw_samples(images, shown, names)),
        "fig1_samples_grey": (_lacking(images, variants[1:]), lambda: draw_samples(in_grey(images), shown, names)),
        "fig2_augmentation": (
            _lacking(images, ("raw", "augmented")),
            lambda: draw_samples(images, ("raw", "augmented")),
        ),
    }


def _lacking(images: Mapping[str, np.ndarray], rows: tuple[str, ...]) -> str | None:
    if not images:
        return "no sample images were stored with these results"
    absent = [row for row in rows if row not in images or not len(images[row])]
    return f"the sample images hold no '{absent[0]}'" if absent else None
