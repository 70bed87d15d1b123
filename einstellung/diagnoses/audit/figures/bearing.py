"""Where a class is sensitive, and the images that bear a cue, most bearing first, with the box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from einstellung.diagnoses.audit.card import AuditCard
from einstellung.report.figures.canvas import DIVERGING, new_figure
from einstellung.report.figures.samples import enlarged
from einstellung.report.figures.style import WIDTH
from einstellung.results.audit_files import Box, Finding

MOST = 10  # findings that are drawn
_ACROSS = 8  # the map, then images
_BOX = "#D55E00"

Shown = tuple[str, int, bool, Finding, Mapping[str, np.ndarray]]


def shown_findings(card: AuditCard, pictures: Mapping[str, np.ndarray]) -> list[Shown]:
    """Findings with stored pictures: model, number, whether it beats all controls, the finding, its arrays."""
    found: list[Shown] = []
    for name, record in card.methods.items():
        for number, certain, finding in record.numbered:
            start = f"{record.place}_{number - 1}_"
            images, lost = pictures.get(f"{start}images"), pictures.get(f"{record.place}_map_{finding.label}")
            if images is not None and lost is not None:
                found.append((name, number, certain, finding, {"images": images, "map": lost}))
    return sorted(found, key=lambda one: (not one[2], -one[3].strength))[:MOST]


def draw_bearing(shown: Sequence[Shown], size: tuple[int, int], several: bool) -> Figure:
    """A row per finding: the overlay of its class's map on its strongest image, then the images without it."""
    side = (WIDTH - 0.1) / _ACROSS
    figure = new_figure(WIDTH, (side * size[0] / size[1] + 0.26) * len(shown), padding=0.02)
    panels = figure.subplots(len(shown), _ACROSS, squeeze=False)
    for axes in panels.flat:
        axes.set_axis_off()
    for row, (name, number, certain, finding, own) in zip(panels, shown, strict=True):
        images = own["images"]
        _overlay(row[0], images[0], own["map"])
        _mark(row[0], finding.input_box or finding.images[0].input_box, images.shape[1:3], size)
        for axes, image, bearing in zip(row[1:], images, finding.images, strict=False):
            axes.imshow(enlarged(image), interpolation="none", extent=(0, image.shape[1], image.shape[0], 0))
            _mark(axes, bearing.input_box or finding.input_box, image.shape[:2], size)
        model = f"{name}, " if several else ""
        title = f"{model}{number}{'' if certain else '?'}: {finding.name}"
        row[0].set_title(title, loc="left", fontsize=7, pad=2, parse_math=False)
    return figure


def _overlay(axes: Axes, image: np.ndarray, lost: np.ndarray) -> None:
    """The map over the image in grey: orange where the class loses, blue where it gains."""
    extent: Any = (0, image.shape[1], image.shape[0], 0)
    grey = np.repeat(image.mean(axis=2, keepdims=True), 3, axis=2).astype(np.uint8)
    largest = max(float(np.abs(lost).max()), 1e-6)
    axes.imshow(enlarged(grey), interpolation="none", extent=extent)
    axes.imshow(
        enlarged(lost), cmap=DIVERGING, vmin=-largest, vmax=largest, alpha=0.6, interpolation="none", extent=extent
    )


def _mark(axes: Axes, box: Box | None, shape: Sequence[int], size: tuple[int, int]) -> None:
    """The box, in pixels of images of ``size``, on a picture of ``shape``."""
    if box is None:
        return
    down, across = shape[0] / size[0], shape[1] / size[1]
    top, left, height, width = box
    place = (left * across, top * down)
    for colour, line in (("white", 2.4), (_BOX, 1.2)):
        axes.add_patch(Rectangle(place, width * across, height * down, fill=False, edgecolor=colour, linewidth=line))
