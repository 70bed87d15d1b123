"""A heat map for every class: where covering a window costs the class probability."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from einstellung.diagnoses.audit.card import AuditCard, AuditedRecord
from einstellung.report.figures.canvas import DIVERGING, new_figure
from einstellung.report.figures.samples import enlarged
from einstellung.report.figures.style import FAINT, INK, WIDTH
from einstellung.report.notation import short_names

MOST_MODELS = 3  # that are drawn, those with the most findings first
_ACROSS = 8
_TITLE, _LINE = 0.2, 0.13  # inches

ClassMaps = Mapping[str, Mapping[int, np.ndarray]]


def class_maps(card: AuditCard, pictures: Mapping[str, np.ndarray]) -> ClassMaps:
    """The stored maps of a few models, by class number."""
    found: dict[str, dict[int, np.ndarray]] = {}
    models = sorted(card.methods.items(), key=lambda one: -len(one[1].findings))
    for name, record in models[:MOST_MODELS]:
        start = f"{record.place}_map_"
        own = {int(key.removeprefix(start)): value for key, value in pictures.items() if key.startswith(start)}
        if own:
            found[name] = dict(sorted(own.items()))
    return found


def draw_maps(card: AuditCard, maps: ClassMaps) -> Figure:
    """A row of panels per model, or several where it has many classes."""
    names = short_names(list(card.methods))
    rows = [
        (name, labels[start : start + _ACROSS])
        for name, own in maps.items()
        for labels in [list(own)]
        for start in range(0, len(labels), _ACROSS)
    ]
    across = min(_ACROSS, max(len(labels) for _, labels in rows))
    side = min(WIDTH / across, 1.2)
    tall = side * card.image_size[0] / card.image_size[1]
    several = len(card.methods) > 1
    figure = new_figure(WIDTH, (tall + _TITLE + several * _LINE) * len(rows), padding=0.02)
    panels = figure.subplots(len(rows), max(across, ceil(WIDTH / side)), squeeze=False)
    for axes in panels.flat:
        axes.set_axis_off()
    for row, (name, labels) in zip(panels, rows, strict=True):
        largest = max(max(float(np.abs(one).max()) for one in maps[name].values()), 1e-6)
        for place, (axes, label) in enumerate(zip(row, labels, strict=False)):
            _draw(axes, card, card.methods[name], label, maps[name][label], largest)
            title = f"{card.class_name(label)} {float(maps[name][label].max()):+.2f}".replace("-", "−")
            lead = (names[name] if place == 0 else "") + "\n" if several else ""
            axes.set_title(lead + title, loc="left", fontsize=6.5, pad=2, parse_math=False)
    return figure


def _draw(axes: Axes, card: AuditCard, record: AuditedRecord, label: int, lost: np.ndarray, largest: float) -> None:
    height, width = card.image_size
    axes.imshow(
        enlarged(lost),
        cmap=DIVERGING,
        vmin=-largest,
        vmax=largest,
        interpolation="none",
        extent=(0, width, height, 0),
    )
    for _, certain, found in record.numbered:
        if found.label == label and found.input_box is not None:
            top, left, tall, wide = found.input_box
            style = "solid" if certain else (0, (2, 2))
            axes.add_patch(
                Rectangle((left, top), wide, tall, fill=False, edgecolor=INK, linewidth=1.0, linestyle=style)
            )
    axes.add_patch(Rectangle((0, 0), width, height, fill=False, edgecolor=FAINT, linewidth=1.0))
