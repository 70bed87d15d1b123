"""A contact sheet of what the models are tested on: every image above its twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from einstellung.diagnoses.confounding.splits import UNCONFOUNDED
from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.samples import enlarged
from einstellung.report.figures.style import WIDTH

ACROSS = 4  # images in a row
_TITLE = 0.24
_GAP = 6  # pixels
_CHANGE = {"positive": "taken away", "negative": "put in"}


def sheet_tasks(images: Mapping[str, np.ndarray], tasks: Sequence[str]) -> list[str]:
    """The tasks that there are test images of, and ``unconfounded`` where there are."""
    return [what for what in (*tasks, UNCONFOUNDED) if all(f"{what}_{label}" in images for label in _CHANGE)]


def draw_sheet(images: Mapping[str, np.ndarray], shown: Sequence[str], confounders: Mapping[str, str]) -> Figure:
    """Positives left, negatives right, a row per task; where there are twins, each stands below its original."""
    height = (WIDTH - 0.2) / 2 / ACROSS * 2 + _TITLE
    figure = new_figure(WIDTH, height * len(shown), padding=0.03)
    panels = figure.subplots(len(shown), 2, squeeze=False)
    for row, what in zip(panels, shown, strict=True):
        for axes, (label, change) in zip(row, _CHANGE.items(), strict=True):
            original, twin = images.get(f"{what}_{label}_paired"), images.get(f"{what}_{label}_twin")
            title = f"{what} {label}s" if what != UNCONFOUNDED else f"{UNCONFOUNDED}, {label}s"
            if original is not None and twin is not None and len(original) and len(twin):
                named = f"'{confounders[what]}'" if what in confounders else "confounder"
                _show(axes, pairs_sheet(original, twin), f"{title}; below: {named} {change}")
            else:
                _show(axes, _two_rows(images[f"{what}_{label}"]), title)
    return figure


def pairs_sheet(originals: np.ndarray, twins: np.ndarray) -> np.ndarray:
    """Originals above, their twins below, as one image.

    >>> pairs_sheet(*(np.zeros((4, 64, 64, 3), dtype=np.uint8),) * 2).shape
    (262, 530, 3)
    """
    return _rows([originals[:ACROSS], twins[:ACROSS]])


def _two_rows(images: np.ndarray) -> np.ndarray:
    return _rows([images[:ACROSS], images[ACROSS : 2 * ACROSS]])


def _rows(rows: Sequence[np.ndarray]) -> np.ndarray:
    shown = [[enlarged(image) for image in row] for row in rows if len(row)]
    height, width, _ = shown[0][0].shape
    page = np.full((2 * height + _GAP, ACROSS * (width + _GAP) - _GAP, 3), 255, dtype=np.uint8)
    for top, row in enumerate(shown):
        for left, image in enumerate(row):
            y, x = top * (height + _GAP), left * (width + _GAP)
            page[y : y + height, x : x + width] = image
    return page


def _show(axes: Axes, image: np.ndarray, title: str) -> None:
    axes.imshow(image, interpolation="none")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(title, loc="left", fontsize=7.5, pad=3, parse_math=False)
