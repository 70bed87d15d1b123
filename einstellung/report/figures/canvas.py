"""Making a figure without global state, and saving it in three formats with the same bytes every time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from einstellung.files import write_bytes
from einstellung.metrics.bands import Band
from einstellung.report.figures.style import GREY, INK, SETTINGS, MethodStyle

FORMATS = ("svg", "png", "pdf")
PNG_DPI = 200

# Blue (below) to vermilion (above) through white at 0: Okabe and Ito's pair, told apart by every kind of sight.
DIVERGING = LinearSegmentedColormap.from_list("around zero", ["#00507f", "#5fa8d3", "#ffffff", "#eb9a5b", "#a34700"])

# Whatever holds a date or the name of a machine is left out, so that equal input gives equal bytes.
_METADATA = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


@contextmanager
def drawing() -> Iterator[None]:
    """Our settings for the duration of drawing and saving, whatever the caller's matplotlib is set to."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def new_figure(width: float, height: float, *, padding: float = 0.04) -> Figure:
    """An empty figure without global state; ``padding`` in inches around every axes."""
    layout = ConstrainedLayoutEngine(w_pad=padding, h_pad=padding, wspace=padding / 2, hspace=padding / 2)
    # Text is measured at the resolution it is drawn at: hinting makes letters wider at another one.
    figure = Figure(figsize=(width, height), dpi=PNG_DPI, layout=layout, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def render(figure: Figure, kind: str) -> bytes:
    """The figure's bytes in one of :data:`FORMATS`."""
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, dpi=PNG_DPI, metadata=_METADATA[kind])
    return stream.getvalue()


def settle(figure: Figure) -> None:
    """Work out the layout and keep it, so that all formats share one."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def save(figure: Figure, folder: Path, name: str) -> dict[str, bytes]:
    """Write ``name.svg``, ``.png`` and ``.pdf`` into ``folder``; the layout is worked out once for all of them."""
    settle(figure)
    files = {kind: render(figure, kind) for kind in FORMATS}
    for kind, content in files.items():
        write_bytes(folder / f"{name}.{kind}", content)
    return files


def draw_band(axes: Axes, summary: Band, style: MethodStyle) -> None:
    """The mean over seeds as a line with about ten markers, and one standard deviation either side of it."""
    axes.plot(summary.epochs, summary.mean, markevery=max(1, len(summary.epochs) // 10), zorder=3, **style.line)
    if summary.sd is not None:
        low, high = summary.mean - summary.sd, summary.mean + summary.sd
        axes.fill_between(summary.epochs, low, high, color=style.colour, alpha=0.14, linewidth=0)


def halo() -> list[withStroke]:
    """A white rim that keeps text readable where lines pass behind it."""
    return [withStroke(linewidth=2.2, foreground="white")]


def label_line_ends(
    axes: Axes, ends: list[tuple[float, str, MethodStyle]], height: float, *, stretch: float = 1.0
) -> None:
    """A legend that stands where the curves end: a piece of each line with its name, pushed apart if need be.

    ``ends`` holds (y, name, style); ``height`` is the height of the axes in inches; ``stretch`` how many times narrower
    than a full panel the axes are.
    """
    bottom, top = axes.get_ylim()
    wanted = sorted(
        (((y - bottom) / (top - bottom), y, name, style) for y, name, style in ends), key=lambda end: end[0]
    )
    gap = min(10.5 / (height * 72), 1 / max(len(wanted), 1))
    places = spread([min(max(at, 0.0), 1.0) for at, *_ in wanted], gap)
    for (at, _, name, style), place in zip(wanted, places, strict=True):
        if abs(at - place) > 0.01:
            axes.add_line(
                _outside(axes, [1.0, 1 + 0.022 * stretch], [min(max(at, 0), 1), place], color=GREY, linewidth=0.5)
            )
        axes.add_line(
            _outside(
                axes,
                [1 + x * stretch for x in (0.025, 0.05, 0.075)],
                [place] * 3,
                linewidth=1.4,
                markevery=[1],
                **style.line,
            ),
        )
        axes.text(
            1 + 0.085 * stretch,
            place,
            name,
            transform=axes.transAxes,
            va="center",
            ha="left",
            color=INK,
            fontsize=7.5,
            parse_math=False,
        )


def _outside(axes: Axes, x: list[float], y: list[float], **style: object) -> Line2D:
    return Line2D(x, y, transform=axes.transAxes, clip_on=False, **style)  # type: ignore[arg-type]


def spread(places: list[float], gap: float) -> list[float]:
    """Move sorted places in 0..1 as little as needed so that neighbours are at least ``gap`` apart.

    Neighbours that touch form a block that sits around its own middle.

    >>> [round(place, 2) for place in spread([0.5, 0.5, 0.9], 0.1)]
    [0.45, 0.55, 0.9]
    """
    blocks = [[place, 1.0] for place in places]  # middle, number of members
    index = 0
    while index < len(blocks) - 1:
        (middle, size), (next_middle, next_size) = blocks[index], blocks[index + 1]
        if next_middle - middle < gap * (size + next_size) / 2 - 1e-12:
            joined = size + next_size
            half = gap * (joined - 1) / 2
            new_middle = (middle * size + next_middle * next_size) / joined
            blocks[index : index + 2] = [[min(max(new_middle, half), 1 - half), joined]]
            index = max(index - 1, 0)
        else:
            index += 1
    return [middle + gap * (member - (size - 1) / 2) for middle, size in blocks for member in range(int(size))]
