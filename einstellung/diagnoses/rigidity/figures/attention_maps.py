"""Image, map and overlay: where a model looks on the same images never painted, with the cue, and with it covered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from einstellung.metrics.attention import attention_share, token_shares
from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.samples import enlarged
from einstellung.report.figures.style import GREY, WIDTH
from einstellung.report.notation import number
from einstellung.results.attention_files import AttentionRun, Moment
from einstellung.timeline import SC_CLEAN, SC_MASK, SC_PATCH

VARIANTS = {SC_CLEAN: "never painted", SC_PATCH: "with the cue", SC_MASK: "cue covered"}
MOST_EXAMPLES = 3
_KINDS = ("image", "map", "overlay")
_COLOURS = "viridis"  # told apart by every kind of sight, and in print without colour
# In inches: the column of the moments' names, the space between groups and between pictures, the heads above all rows,
# the room for the share below every row, and a picture's side.
_LABEL, _GAP, _RIM, _ABOVE, _BELOW = 0.22, 0.12, 0.03, 0.42, 0.17
_SIDE = (WIDTH - _LABEL - 3 * _GAP) / (len(VARIANTS) * len(_KINDS)) - _RIM

Array = npt.NDArray[Any]


def moments_shown(run: AttentionRun) -> list[Moment]:
    """The ends of both phases, as far as all that is drawn was stored for them; the earlier first."""
    ends = (run.end("T1"), run.end("T2"))
    if not all(f"example_images/{split}" in run.arrays for split in VARIANTS) or "example_regions" not in run.arrays:
        return []
    return [
        end
        for end in ends
        if end is not None and all(run.array("example_rollout", end, split) is not None for split in VARIANTS)
    ]


def draw_attention_maps(run: AttentionRun, moments: Sequence[Moment]) -> Figure:
    """A block of rows per moment, a row per example, three groups of three columns."""
    regions = run.arrays["example_regions"][:MOST_EXAMPLES]
    block = len(regions) * (_SIDE + _BELOW)
    height = _ABOVE + len(moments) * (block + _GAP) - _GAP
    figure = new_figure(WIDTH, height)
    figure.set_layout_engine("none")  # places are given in inches, so that all pictures are of one size
    for number_of_block, moment in enumerate(moments):
        top = height - _ABOVE - number_of_block * (block + _GAP)
        words = f"end of phase {moment[0].removeprefix('T')}"
        middle = (top - (block - _BELOW) / 2) / height
        figure.text(_LABEL / 2 / WIDTH, middle, words, rotation=90, ha="center", va="center", fontsize=7.5)
        for example, region in enumerate(regions):
            bottom = top - example * (_SIDE + _BELOW) - _SIDE
            shown = {split: _example(run, moment, split, example) for split in VARIANTS}
            brightest = max(float(attention.max()) for _, attention in shown.values())
            for group, (split, (image, attention)) in enumerate(shown.items()):
                left = _LABEL + group * (3 * (_SIDE + _RIM) + _GAP)
                panels = [_place(figure, left + kind * (_SIDE + _RIM), bottom, height) for kind in range(len(_KINDS))]
                _draw_triple(panels, image, attention / brightest, region)
                panels[1].set_xlabel(f"AS {number(share_in(region, attention))}", fontsize=6, labelpad=2)
                if number_of_block == example == 0:
                    _head(panels, VARIANTS[split])
    return figure


def _place(figure: Figure, left: float, bottom: float, height: float) -> Axes:
    """A square panel at a place in inches."""
    return figure.add_axes((left / WIDTH, bottom / height, _SIDE / WIDTH, _SIDE / height))


def share_in(region: Array, attention: Array) -> float:
    """AS of one map: its share inside a region of pixels; a token that lies partly inside counts in part.

    >>> region = np.zeros((8, 8), dtype=bool)
    >>> region[:2, :4] = True
    >>> share_in(region, np.array([[0.7, 0.1], [0.1, 0.1]]))
    0.35
    """
    rows, columns = attention.shape
    return float(attention_share(attention, token_shares(region, (rows, columns))))


def _example(run: AttentionRun, moment: Moment, split: str, example: int) -> tuple[Array, Array]:
    maps = run.array("example_rollout", moment, split)
    assert maps is not None  # moments_shown lets no other moment through
    return run.arrays[f"example_images/{split}"][example], maps[example].astype(np.float64)


def _draw_triple(panels: Sequence[Axes], image: Array, brightness: Array, region: Array) -> None:
    large = enlarged(image)
    # The root lets weak attention be seen beside one token that draws most of it.
    strength = np.sqrt(_stretched(brightness, large.shape[:2]))[..., None]
    coloured = matplotlib.colormaps[_COLOURS](strength[..., 0])[..., :3]
    grey = large @ np.array([0.299, 0.587, 0.114])[:, None] / 255
    cover = 0.25 + 0.5 * strength
    blended = cover * coloured + (1 - cover) * grey
    height, width = image.shape[:2]
    for axes, picture in zip(panels, (large, coloured, blended), strict=True):
        axes.imshow(picture, interpolation="none", extent=(0, width, height, 0))
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
        _draw_box(axes, region)


def _stretched(tokens: Array, shape: tuple[int, int]) -> Array:
    """Every token as a square of pixels."""
    rows, columns = (
        (np.arange(pixels) + 0.5) * count // pixels for pixels, count in zip(shape, tokens.shape, strict=True)
    )
    stretched: Array = tokens[np.ix_(rows.astype(int), columns.astype(int))]
    return stretched


def _draw_box(axes: Axes, region: Array) -> None:
    """A white frame with a dark rim around the region: seen on every picture."""
    rows, columns = np.flatnonzero(region.any(axis=1)), np.flatnonzero(region.any(axis=0))
    if not len(rows):
        return
    corner, width, height = (columns[0], rows[0]), columns[-1] + 1 - columns[0], rows[-1] + 1 - rows[0]
    frame = Rectangle(corner, width, height, fill=False, edgecolor="white", linewidth=0.7, clip_on=False, zorder=5)
    frame.set_path_effects([withStroke(linewidth=1.8, foreground="black")])
    axes.add_patch(frame)


def _head(panels: Sequence[Axes], words: str) -> None:
    for axes, kind in zip(panels, _KINDS, strict=True):
        axes.set_title(kind, fontsize=6.5, color=GREY, pad=2)
    panels[1].annotate(words, (0.5, 1), (0, 11), "axes fraction", "offset points", ha="center", va="bottom", fontsize=8)
