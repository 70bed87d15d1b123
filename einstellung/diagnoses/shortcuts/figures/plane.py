"""The gap plot: one cue's gap against another's; where one is smaller and the other larger is a corner of the picture."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from einstellung.diagnoses.shortcuts.card import MeasuredGaps, ShortcutsCard
from einstellung.diagnoses.shortcuts.figures.marks import METHOD_MARKS, legend_of
from einstellung.diagnoses.shortcuts.notation import CUE_HEADS, gap_head
from einstellung.report.figures.canvas import halo, new_figure
from einstellung.report.figures.placing import Box, place_labels
from einstellung.report.figures.style import GREY, INK, WIDTH
from einstellung.report.notation import short_names

_FONT = 7.0
_WIDE, _HIGH = 0.6 * _FONT, 1.25 * _FONT  # of a letter, in points of type
_TINT = "#D55E00"
_MOST_ACROSS = 7  # verdicts in one row of the legend
_ROOM = 0.09  # of the range, around all means
_LEAST_ROOM = 1.0  # points: differences far below one are not blown up


def plane_pairs(card: ShortcutsCard) -> list[tuple[str, str]]:
    """The pairs of cues of which a method has both gaps at the end."""
    return [pair for pair in combinations(card.cues, 2) if _points(card, pair)]


def draw_plane(card: ShortcutsCard) -> Figure:
    """A panel for every pair of cues: a point per method with its intervals, the baseline's gaps as cross-lines."""
    pairs = plane_pairs(card)
    figure = new_figure(WIDTH, 4.9 * len(pairs) + 0.4)
    panels = figure.subplots(len(pairs), 1, squeeze=False)[:, 0]
    for axes, pair in zip(panels, pairs, strict=True):
        _draw_panel(axes, card, pair)
    verdicts = [record.verdict.name for record in card.methods.values()]
    handles = legend_of(verdicts)
    across = len(handles) if len(handles) <= _MOST_ACROSS else (len(handles) + 1) // 2
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=across,
        frameon=False,
        fontsize=7.5,
        handletextpad=0.2,
        columnspacing=1.2,
    )
    figure.draw_without_rendering()  # where points lie is known once the layout is
    for axes, pair in zip(panels, pairs, strict=True):
        _name_points(axes, card, pair)
    return figure


def _point(own: MeasuredGaps, pair: tuple[str, str]) -> tuple[float, float] | None:
    x, y = (own.gaps[cue].mean for cue in pair)
    return None if x is None or y is None else (100 * x, 100 * y)


def _points(card: ShortcutsCard, pair: tuple[str, str]) -> dict[str, tuple[float, float]]:
    found = {method: _point(card.end(method).own, pair) for method in card.methods}
    return {method: point for method, point in found.items() if point is not None}


def _draw_panel(axes: Axes, card: ShortcutsCard, pair: tuple[str, str]) -> None:
    points = _points(card, pair)
    for method, (x, y) in points.items():
        mark = METHOD_MARKS[card.methods[method].verdict.name]
        gaps = card.end(method).own.gaps
        for place, cue in enumerate(pair):
            if (bounds := gaps[cue].ci95) is not None:
                ends = [100 * bound for bound in bounds]
                line = (ends, [y, y]) if place == 0 else ([x, x], ends)
                axes.plot(*line, color=mark.colour, linewidth=0.7, alpha=0.4, zorder=2)
        axes.plot(x, y, zorder=4, **mark.style)
    axes.set_xlim(_limits([x for x, _ in points.values()]))
    axes.set_ylim(_limits([y for _, y in points.values()]))
    for zero in (axes.axhline, axes.axvline):
        zero(0, color=GREY, linewidth=0.6, zorder=1)
    if card.baseline in points:
        _draw_corners(axes, card.baseline, points[card.baseline], pair)
    axes.set_xlabel(f"{gap_head(pair[0])}, points   (right: relies less on the {pair[0]})", parse_math=False)
    axes.set_ylabel(f"{gap_head(pair[1])}, points   (up: relies less on the {pair[1]})", parse_math=False)


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """From the lowest to the highest mean, 0 among them, with room around; intervals may leave the picture."""
    low, high = min(*values, 0.0), max(*values, 0.0)
    room = max(_ROOM * (high - low), _LEAST_ROOM)
    return low - room, high + room


def _draw_corners(axes: Axes, baseline: str, at: tuple[float, float], pair: tuple[str, str]) -> None:
    """Cross-lines at the baseline's gaps; the two corners in which one gap is smaller and the other larger are tinted."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    x, y = at
    axes.axvline(x, color=INK, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    axes.axhline(y, color=INK, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    for corner, width, height in (((x, bottom), right - x, y - bottom), ((left, y), x - left, top - y)):
        axes.add_patch(Rectangle(corner, width, height, facecolor=_TINT, alpha=0.07, linewidth=0, zorder=0))
    one, other = (CUE_HEADS.get(cue, cue) for cue in pair)
    words = {
        (0.99, 0.012, "right", "bottom"): f"{one} gap smaller, {other} gap larger",
        (0.01, 0.988, "left", "top"): f"{other} gap smaller, {one} gap larger",
        (0.99, 0.988, "right", "top"): f"both smaller than {baseline}'s",
        (0.01, 0.012, "left", "bottom"): f"both larger than {baseline}'s",
    }
    for (across, up, ha, va), text in words.items():
        axes.text(
            across,
            up,
            text,
            transform=axes.transAxes,
            ha=ha,
            va=va,
            fontsize=6.5,
            color=GREY,
            style="italic",
            parse_math=False,
            path_effects=halo(),
            zorder=3,
        )


def _name_points(axes: Axes, card: ShortcutsCard, pair: tuple[str, str]) -> None:
    """The name of every method beside its point."""
    figure = axes.figure
    scale = 72 / figure.dpi  # from pixels to points of type
    points = _points(card, pair)
    names = short_names(list(points))
    places = [tuple(scale * part for part in axes.transData.transform(point)) for point in points.values()]
    sizes = [(_WIDE * len(names[method]) + 2, _HIGH) for method in points]
    extent = axes.get_window_extent()
    frame = Box(*(scale * part for part in (extent.x0, extent.y0, extent.x1, extent.y1)))
    corners = [Box(*(scale * part for part in text.get_window_extent().extents)) for text in axes.texts]
    boxes = place_labels([(x, y) for x, y in places], sizes, frame, corners)
    for (method, point), (x, y), box in zip(points.items(), places, boxes, strict=True):
        near = (min(max(x, box.left), box.right), min(max(y, box.bottom), box.top))
        far = abs(near[0] - x) + abs(near[1] - y) > 8
        label = axes.annotate(
            names[method],
            xy=point,
            xytext=((box.left + box.right) / 2 - x, (box.bottom + box.top) / 2 - y),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=_FONT,
            fontweight="bold" if method == card.baseline else "normal",
            parse_math=False,
            path_effects=halo(),
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.5, "shrinkA": 1, "shrinkB": 3}
            if far
            else None,
            zorder=5,
            annotation_clip=False,
        )
        label.set_in_layout(False)
