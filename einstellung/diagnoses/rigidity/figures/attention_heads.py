"""Heads by layers: which of them look at the cue's box, and which do so because the cue is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from einstellung.diagnoses.rigidity.card import AttentionOfMethod, AttentionRecord, RigidityCard
from einstellung.report.figures.canvas import DIVERGING, new_figure
from einstellung.report.figures.style import INK, WIDTH
from einstellung.report.notation import number, short_names

# White to Okabe and Ito's blue and on: light means little in print too.
_RISING = LinearSegmentedColormap.from_list("share", ["#ffffff", "#9cc9e4", "#0072b2", "#00304d"])
_ROW = 0.24  # inches a layer
_MOST_WITH_TEXT = 16  # heads; with more, cells are too narrow for a number


@dataclass(frozen=True)
class _Scale:
    key: str
    title: str
    colours: Colormap
    norm: Normalize
    signed: bool
    digits: int


def has_heads(attention: AttentionRecord) -> bool:
    """Whether the share of any head is known."""
    return any(_cells(record, "AS_cue") for record in attention.methods.values())


def draw_attention_heads(card: RigidityCard, attention: AttentionRecord) -> Figure:
    """A row of panels per method: AS with the cue, and where it is known SAG beside it."""
    records = {
        method: attention.methods[method]
        for method in card.methods
        if method in attention.methods and _cells(attention.methods[method], "AS_cue")
    }
    scales = _scales(list(records.values()))
    layers = {method: 1 + max(place[0] for place in _cells(record, "AS_cue")) for method, record in records.items()}
    heights = [_ROW * count + 0.34 for count in layers.values()]
    figure = new_figure(WIDTH, sum(heights) + 0.75)
    rows = figure.subplots(len(records), len(scales), squeeze=False, height_ratios=heights)
    names = short_names(list(card.methods))
    for row, (panels, (method, record)) in enumerate(zip(rows, records.items(), strict=True), start=1):
        for axes, scale in zip(panels, scales, strict=True):
            _draw_grid(axes, _cells(record, scale.key), scale, lowest=row == len(records))
        panels[0].set_title(names[method], loc="left", fontsize=8, pad=3, parse_math=False)
        panels[0].set_ylabel("layer")
    for column, scale in enumerate(scales):
        mapped = ScalarMappable(scale.norm, scale.colours)
        bar = figure.colorbar(mapped, ax=list(rows[:, column]), location="top", fraction=0.06, aspect=40, pad=0.02)
        bar.set_label(scale.title, fontsize=7.5)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=6.5)
    return figure


def _scales(records: Sequence[AttentionOfMethod]) -> list[_Scale]:
    """One scale for all methods, so that their panels can be compared."""
    shares, gains = (
        [value for record in records for value in _cells(record, key).values()] for key in ("AS_cue", "SAG")
    )
    scales = [_Scale("AS_cue", "AS: share on the box, with the cue", _RISING, Normalize(0, max(shares) or 1), False, 3)]
    if gains:
        reach = max(abs(value) for value in gains) or 1.0
        words = "SAG: relative gain with the cue"
        scales.append(_Scale("SAG", words, DIVERGING, Normalize(-reach, reach), True, 2))
    return scales


def _cells(record: AttentionOfMethod, key: str) -> dict[tuple[int, int], float]:
    """Layer and head, counted from 0, to the mean over seeds."""
    return {
        (int(place.layer) - 1, int(place.head) - 1): mean
        for place in record.heads
        if place.head != "mean" and (mean := place.measure(key).mean) is not None
    }


def _draw_grid(axes: Axes, cells: Mapping[tuple[int, int], float], scale: _Scale, *, lowest: bool) -> None:
    layers, heads = (1 + max((place[side] for place in cells), default=0) for side in (0, 1))
    for (layer, head), value in cells.items():
        colour = scale.colours(scale.norm(value))
        axes.add_patch(Rectangle((head - 0.5, layer - 0.5), 1, 1, facecolor=colour, linewidth=0))
        if heads <= _MOST_WITH_TEXT:
            light = np.dot(colour[:3], (0.299, 0.587, 0.114)) > 0.55
            wide = heads <= 8
            digits = 0 if abs(value) >= 10 else scale.digits - (0 if wide else 1)
            text, size = number(value, digits=digits, signed=scale.signed), 6.5 if wide else 5.5
            axes.text(head, layer, text, ha="center", va="center", fontsize=size, color=INK if light else "white")
    axes.set_xlim(-0.5, heads - 0.5)
    axes.set_ylim(layers - 0.5, -0.5)
    axes.set_xticks(range(heads), [str(head + 1) if lowest else "" for head in range(heads)])
    axes.set_yticks(range(layers), [str(layer + 1) for layer in range(layers)])
    axes.set_xticks(np.arange(heads + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(layers + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="both", length=0, labelsize=6.5)
    axes.spines[:].set_visible(False)
    if lowest:
        axes.set_xlabel("head")
