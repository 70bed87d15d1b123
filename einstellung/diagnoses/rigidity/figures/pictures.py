"""Pictures that a learner made or kept, such as the images of a generator: one sheet per named set."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from einstellung.prose import join
from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.samples import enlarged
from einstellung.report.figures.style import WIDTH
from einstellung.results.run_files import RunPictures

COLUMNS, ROWS = 8, 4
_GAP = 0.03  # of an image's side
_TITLE = 0.25  # inches


def draw_pictures(of_run: RunPictures, pictures: Mapping[str, np.ndarray]) -> Figure:
    """Up to four rows of eight images of every set, the sets below each other."""
    sheets = {name: sheet(images) for name, images in pictures.items()}
    heights = [WIDTH * image.shape[0] / image.shape[1] + _TITLE for image in sheets.values()]
    figure = new_figure(WIDTH, sum(heights), padding=0.03)
    panels = figure.subplots(len(sheets), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (name, image) in zip(panels, sheets.items(), strict=True):
        axes.imshow(image, interpolation="none")
        axes.set_xticks([])
        axes.set_yticks([])
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_title(f"{of_run.method}, seed {of_run.seed}: {name}", loc="left", fontsize=8, pad=3, parse_math=False)
    return figure


def caption(of_run: RunPictures, pictures: Mapping[str, np.ndarray]) -> str:
    """Whose pictures these are, and how many of how many.

    >>> from pathlib import Path
    >>> caption(RunPictures("dgr", 42, Path("pictures.npz")), {"generated": np.zeros((64, 8, 8, 3), dtype=np.uint8)})
    'Images generated or stored by dgr, seed 42: generated (32 of 64). Pixels are drawn as squares.'
    """
    parts = [f"{name} ({min(len(images), COLUMNS * ROWS)} of {len(images)})" for name, images in pictures.items()]
    return f"Images generated or stored by {of_run.method}, seed {of_run.seed}: {join(parts)}. Pixels are drawn as squares."


def sheet(images: np.ndarray) -> np.ndarray:
    """The first 32 images as one, eight in a row, with white gaps; a last row that is not full ends in white.

    >>> sheet(np.zeros((9, 64, 64, 3), dtype=np.uint8)).shape
    (260, 1052, 3)
    """
    shown = np.stack([enlarged(image) for image in images[: COLUMNS * ROWS]])
    count, height, width, _ = shown.shape
    gap = max(1, round(_GAP * width))
    rows = -(-count // COLUMNS)
    page = np.full((rows * (height + gap) - gap, COLUMNS * (width + gap) - gap, 3), 255, dtype=np.uint8)
    for place, image in enumerate(shown):
        top, left = (place // COLUMNS) * (height + gap), (place % COLUMNS) * (width + gap)
        page[top : top + height, left : left + width] = image
    return page
