"""Texts and series as the models saw them: without the cue, with it, and with it covered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.samples import draw_samples
from einstellung.report.figures.style import GREY, INK, PALETTE, WIDTH

_TEXTS, _SERIES = 4, 8
_SIZE = 6.2  # points
_COLUMNS = int(WIDTH * 72 / (0.602 * _SIZE)) - 1  # characters of a line of text, in a font of equal widths
_LINE = 0.125  # inches
_CONTEXT = 30  # tokens of a long text that are shown, around the cue
_LOOK = {"original": (GREY, "-", 1.0), "patched": (PALETTE[1], "-", 1.1), "masked": (PALETTE[0], (0, (3, 1.5)), 1.1)}


def draw_inputs(samples: Mapping[str, np.ndarray], rows: Sequence[str], captions: Sequence[str] = ()) -> Figure:
    """The named arrays side by side, as their kind of inputs is drawn."""
    some = samples[rows[0]]
    if some.dtype.kind == "U":
        return draw_texts(samples, rows, captions)
    if some.dtype.kind == "f":
        return draw_series(samples, rows, captions)
    return draw_samples(dict(samples), rows, captions)


def draw_series(samples: Mapping[str, np.ndarray], rows: Sequence[str], captions: Sequence[str] = ()) -> Figure:
    """Up to eight series [N, C, L], the first channel of each, with the cue's place shaded."""
    count = min(_SERIES, len(samples[rows[0]]))
    columns = min(4, count)
    lines = -(-count // columns)
    figure = new_figure(WIDTH, 1.15 * lines + 0.3)
    panels = figure.subplots(lines, columns, squeeze=False, sharey=True).flatten()
    for number, axes in enumerate(panels):
        if number >= count:
            axes.set_visible(False)
            continue
        _shade(axes, samples["region"][number])
        for name in rows:
            colour, dash, width = _LOOK[name]
            values = samples[name][number, 0]
            axes.plot(np.arange(len(values)), values, color=colour, linestyle=dash, linewidth=width, label=name)
        axes.tick_params(labelsize=6)
        if number < len(captions):
            axes.set_title(str(captions[number]), fontsize=7, pad=2, parse_math=False)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=len(rows), fontsize=7, frameon=False)
    return figure


def _shade(axes: Axes, region: np.ndarray) -> None:
    """Grey behind the places of the cue."""
    edges = np.flatnonzero(np.diff(np.pad(region.astype(np.int8), 1)))
    for start, end in edges.reshape(-1, 2):
        axes.axvspan(start - 0.5, end - 0.5, color="#efefef", zorder=0)


def draw_texts(samples: Mapping[str, np.ndarray], rows: Sequence[str], captions: Sequence[str] = ()) -> Figure:
    """Up to four texts [N, T] of words, the cue's tokens on a coloured ground; long texts around the cue only."""
    total = len(samples[rows[0]])
    blocks = []
    for number in np.unique(np.linspace(0, total - 1, min(_TEXTS, total)).astype(int)).tolist():
        shown = excerpt(samples["region"][number], _CONTEXT)
        for name in rows:
            title = f"{captions[number]}: {name}" if number < len(captions) else name
            blocks.append((title, wrapped(samples[name][number][shown], samples["region"][number][shown], _COLUMNS)))
    height = _LINE * sum(1.6 + max(1, len(lines)) for _, lines in blocks) + 0.1
    figure = new_figure(WIDTH, height)
    axes = figure.subplots()
    axes.set_xlim(0, _COLUMNS + 1)
    axes.set_ylim(height / _LINE, 0)
    axes.set_axis_off()
    place = 0.9
    for title, lines in blocks:
        axes.text(0.5, place, title, fontsize=_SIZE, color=GREY, va="center", parse_math=False)
        for line in lines or [[]]:
            place += 1
            for column, word, is_cue in line:
                ground = {"facecolor": "#f6c9a8", "edgecolor": "none", "pad": 0.8} if is_cue else None
                axes.text(
                    0.5 + column,
                    place,
                    word,
                    fontsize=_SIZE,
                    family="DejaVu Sans Mono",
                    color=INK,
                    va="center",
                    parse_math=False,
                    bbox=ground,
                )
        place += 1.6
    return figure


def excerpt(region: np.ndarray, count: int) -> slice:
    """The tokens to show of a text: ``count`` of them, from shortly before the first of the cue's on.

    >>> excerpt(np.array([False] * 50 + [True] * 2 + [False] * 50), 10)
    slice(47, 57, None)
    """
    if len(region) <= count:
        return slice(0, len(region))
    first = int(region.argmax()) if region.any() else 0
    start = min(max(0, first - 3), len(region) - count)
    return slice(start, start + count)


def wrapped(words: np.ndarray, region: np.ndarray, width: int) -> list[list[tuple[int, str, bool]]]:
    """Words in lines, each with its column and whether it is the cue's; free places ('') are left out.

    >>> wrapped(np.array(["a", "", "bcd", "e"]), np.array([True, False, False, False]), 5)
    [[(0, 'a', True), (2, 'bcd', False)], [(0, 'e', False)]]
    """
    lines: list[list[tuple[int, str, bool]]] = []
    column = width
    for word, is_cue in zip(words.tolist(), region.tolist(), strict=True):
        if not word:
            continue
        word = word if len(word) <= width else f"{word[: width - 1]}…"
        if column + len(word) > width:
            lines.append([])
            column = 0
        lines[-1].append((column, word, is_cue))
        column += len(word) + 1
    return lines
