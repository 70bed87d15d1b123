"""Image, attention and overlay side by side, for normal, shortcut and masked images."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from einstellung.errors import InputError
from einstellung.files import write_bytes
from einstellung.metrics.attention import FloatArray
from einstellung.report.figures.canvas import FORMATS, drawing, new_figure, render, settle
from einstellung.report.figures.style import GREY, WIDTH

KINDS = ("normal", "shortcut", "masked")
_COLUMNS = ("image", "attention", "overlay")
_COLOURS = "viridis"
_GAP = 0.12  # between the kinds of image, in widths of a panel


def suffix_of(path: Path | str) -> str:
    """The format given by a path's suffix.

    >>> suffix_of("a/b.PNG")
    'png'
    """
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise InputError(f"{path}: unknown figure format; give a path that ends in {', '.join(FORMATS)}")
    return suffix


def draw_comparison(pictures: Mapping[str, FloatArray], maps: Mapping[str, FloatArray], path: Path | str) -> Path:
    """A row per image: ``pictures`` [N, H, W, 3] from 0 to 1 and ``maps`` [N, rows, columns] under the names of KINDS."""
    with drawing():
        figure = _figure(pictures, maps)
        settle(figure)
        content = render(figure, suffix_of(path))
    return write_bytes(path, content)


def _figure(pictures: Mapping[str, FloatArray], maps: Mapping[str, FloatArray]) -> Figure:
    rows = len(next(iter(pictures.values())))
    side = WIDTH / (len(KINDS) * len(_COLUMNS) + 2 * _GAP)
    figure = new_figure(WIDTH, rows * side + 0.5, padding=0.02)
    widths = [*[1] * 3, _GAP, *[1] * 3, _GAP, *[1] * 3]
    grid = figure.add_gridspec(rows, len(widths), width_ratios=widths)
    for row in range(rows):
        # The same colour is the same attention in a row, so that the three kinds of image can be compared.
        brightest = max(float(maps[kind][row].max()) for kind in KINDS)
        for place, kind in enumerate(KINDS):
            panels = [figure.add_subplot(grid[row, 4 * place + column]) for column in range(len(_COLUMNS))]
            _draw(panels, pictures[kind][row], maps[kind][row] / brightest)
            if row == 0:
                _head(panels, kind)
    return figure


def _draw(panels: list[Axes], picture: FloatArray, brightness: FloatArray) -> None:
    height, width = picture.shape[:2]
    rows = (np.arange(height) * brightness.shape[0]) // height
    columns = (np.arange(width) * brightness.shape[1]) // width
    # The square root keeps weak attention visible next to a token that draws most of it.
    strength = np.sqrt(brightness[np.ix_(rows, columns)])
    coloured = matplotlib.colormaps[_COLOURS](strength)[..., :3]
    grey = (picture @ np.array([0.299, 0.587, 0.114]))[..., None]
    cover = 0.25 + 0.5 * strength[..., None]
    shown: tuple[Any, ...] = (picture, coloured, cover * coloured + (1 - cover) * grey)
    for axes, image in zip(panels, shown, strict=True):
        axes.imshow(image, interpolation="nearest")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(False)


def _head(panels: list[Axes], kind: str) -> None:
    for axes, words in zip(panels, _COLUMNS, strict=True):
        axes.set_title(words, fontsize=6.5, color=GREY, pad=2)
    panels[1].annotate(kind, (0.5, 1), (0, 12), "axes fraction", "offset points", ha="center", va="bottom", fontsize=8)
