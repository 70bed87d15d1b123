"""Draw the figures of the documentation from the demo's results: ``python docs/tools/figures.py results/demo``.

Every figure exists twice, for light and for dark pages. Numbers in the figures are those of the run's own ``score.json``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from einstellung.files import write_bytes
from einstellung.metrics.curves import smooth
from einstellung.report.figures.canvas import drawing, new_figure, render, settle

IMAGES = Path(__file__).parents[1] / "images"
SEED = 42  # of the curves: near the means over seeds, and both models are scored at the last epoch
RING = 0  # which stored test image shows the cue
PIXELS = 12  # screen pixels per image pixel: viewers smooth small images
NAMES = {"scratch_t2": "from scratch", "gpm": "gpm, after the habit"}


@dataclass(frozen=True)
class Theme:
    """Colours on one background: Okabe and Ito's blue and vermilion, lighter on dark."""

    name: str
    background: str
    ink: str
    muted: str
    scratch: str
    learner: str

    def colour(self, method: str) -> str:
        return self.scratch if method == "scratch_t2" else self.learner


THEMES = (
    Theme("light", "#ffffff", "#1a1a1a", "#6b6b6b", "#0072b2", "#c94f00"),
    Theme("dark", "#1e2129", "#e8e8ea", "#a0a3ab", "#56b4e9", "#f28e4c"),
)


def main(folder: Path) -> None:
    study = folder / "cue.habit=same"
    card = json.loads((study / "score.json").read_text(encoding="utf-8"))
    timeline = pd.read_csv(study / "timeline.csv")
    with np.load(study / "samples.npz", allow_pickle=False) as stored:
        samples = {name: stored[name][RING] for name in ("original", "patched", "masked")}
    with drawing():
        for theme in THEMES:
            _save(draw_cue(samples, card, theme), f"cue-{theme.name}")
            _save(draw_curves(timeline, card, theme), f"facets-{theme.name}")


def draw_cue(samples: dict[str, np.ndarray], card: dict[str, Any], theme: Theme) -> Figure:
    """One test image without the cue, with it and with it covered, and how often each model is right on such images."""
    columns = (
        ("original", "SC_clean", "without the cue"),
        ("patched", "SC_patch", "with the cue"),
        ("masked", "SC_mask", "cue covered"),
    )
    figure = _figure(8.2, 3.5, theme)
    grid = figure.add_gridspec(2, 3, height_ratios=(2.5, 1))
    for place, (image, facet, title) in enumerate(columns):
        axes = figure.add_subplot(grid[0, place])
        axes.imshow(samples[image].repeat(PIXELS, axis=0).repeat(PIXELS, axis=1))
        axes.set_title(title, color=theme.ink, fontsize=12, pad=7)
        axes.set_axis_off()
        _bars(figure.add_subplot(grid[1, place]), card, facet, theme, label=place == 0)
    return figure


def _bars(axes: Axes, card: dict[str, Any], facet: str, theme: Theme, *, label: bool) -> None:
    for row, method in enumerate(NAMES):
        accuracy = card["methods"][method][facet]["mean"]
        axes.barh(row, accuracy, height=0.62, color=theme.colour(method))
        axes.text(accuracy + 0.03, row, f"{100 * accuracy:.0f} %", va="center", color=theme.ink, fontsize=11)
    axes.set(xlim=(0, 1.2), ylim=(1.6, -0.6), xticks=[], yticks=range(len(NAMES)))
    axes.set_yticklabels([*NAMES.values()] if label else [""] * len(NAMES), fontsize=10.5)
    axes.tick_params(length=0, colors=theme.ink)
    axes.set_facecolor(theme.background)
    for side in axes.spines.values():
        side.set_visible(False)


def draw_curves(timeline: pd.DataFrame, card: dict[str, Any], theme: Theme) -> Figure:
    """AD and PD between the curves with the cue; Delta between a model's curves with the cue and with it covered."""
    figure = _figure(9.4, 4.0, theme)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.15, 1))
    runs = {method: card["methods"][method]["per_seed"][str(SEED)] for method in NAMES}
    last = timeline.query("phase == 'T2'").epoch.max()
    for method in NAMES:
        style = {"color": theme.colour(method), "linewidth": 2.2}
        epochs, with_cue = _curve(timeline, method, "T2_shortcut_normal")
        left.plot(epochs[1:], smooth(epochs, with_cue, card["window"])[1:], **style)
        left.plot(epochs, with_cue, color=theme.colour(method), linewidth=1, alpha=0.45)
        right.plot(epochs, with_cue, **style)
        right.plot(*_curve(timeline, method, "T2_shortcut_masked"), linestyle=(0, (3, 2)), **style)
    _delay(left, runs, card["tau"], theme)
    deficit = f"PD\n{_signed(runs['gpm']['PD'])}"
    _vertical(left, last + 0.5, runs["scratch_t2"]["SC_patch"], runs["gpm"]["SC_patch"], deficit, theme.ink)
    for method, place in (("gpm", last + 0.5), ("scratch_t2", last + 5.6)):
        run = runs[method]
        words = f"Δ\n{_signed(run['delta'])}"
        _vertical(right, place, run["SC_mask"], run["SC_patch"], words, theme.colour(method))
    left.set_title("AD and PD: accuracy with the cue", color=theme.ink, fontsize=12, loc="left")
    right.set_title("Δ: with the cue (solid), covered (dashed)", color=theme.ink, fontsize=12, loc="left")
    left.set(xlim=(0, last + 4.5), ylim=(-0.03, 1.06), ylabel="accuracy on the cue's classes")
    right.set(xlim=(0, last + 9.6))
    left.text(6.6, 0.93, NAMES["gpm"], color=theme.learner, fontsize=11)
    left.text(12.6, 0.36, NAMES["scratch_t2"], color=theme.scratch, fontsize=11)
    for axes in (left, right):
        axes.set(xlabel="epochs of T2", xticks=range(0, int(last) + 1, 5))
        _plain(axes, theme)
    return figure


def _curve(timeline: pd.DataFrame, method: str, split: str) -> tuple[np.ndarray, np.ndarray]:
    chosen = timeline.query("method == @method and seed == @SEED and phase == 'T2' and split == @split")
    chosen = chosen.sort_values("epoch")
    return chosen.epoch.to_numpy(), chosen.acc.to_numpy()


def _delay(axes: Axes, runs: dict[str, dict[str, Any]], tau: float, theme: Theme) -> None:
    """The threshold, when each model reaches it, and the time between."""
    axes.axhline(tau, color=theme.muted, linewidth=1, linestyle=":")
    axes.text(20.2, tau - 0.05, f"threshold {tau:g}", color=theme.muted, fontsize=9.5)
    ends = [runs[method]["E"] for method in NAMES]
    for method, end in zip(NAMES, ends, strict=True):
        axes.plot([end, end], [0.1, tau], color=theme.colour(method), linewidth=1, linestyle=":")
    arrow = {"arrowstyle": "->", "color": theme.ink, "shrinkA": 0, "shrinkB": 0, "linewidth": 1.4}
    axes.annotate("", xy=(ends[1], 0.12), xytext=(ends[0], 0.12), arrowprops=arrow)
    words = f"AD {_signed(runs['gpm']['AD'], '.0f')} epochs"
    axes.text(sum(ends) / 2, 0.045, words, color=theme.ink, ha="center", fontsize=11, fontweight="bold")


def _vertical(axes: Axes, place: float, low: float, high: float, words: str, colour: str) -> None:
    arrow = {"arrowstyle": "<->", "color": colour, "shrinkA": 0, "shrinkB": 0, "linewidth": 1.4}
    axes.annotate("", xy=(place, high), xytext=(place, low), arrowprops=arrow)
    axes.text(place + 0.4, (low + high) / 2, words, color=colour, va="center", fontsize=11, fontweight="bold")


def _signed(value: float, form: str = ".2f") -> str:
    return f"{value:+{form}}".replace("-", "−")


def _plain(axes: Axes, theme: Theme) -> None:
    axes.set_facecolor(theme.background)
    axes.tick_params(colors=theme.muted)
    axes.xaxis.label.set_color(theme.ink)
    axes.yaxis.label.set_color(theme.ink)
    axes.grid(visible=False)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(theme.muted)


def _figure(width: float, height: float, theme: Theme) -> Figure:
    figure = new_figure(width, height, padding=0.06)
    figure.set_facecolor(theme.background)
    return figure


def _save(figure: Figure, name: str) -> None:
    settle(figure)
    write_bytes(IMAGES / f"{name}.svg", render(figure, "svg"))


if __name__ == "__main__":
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "cue.habit=same" / "score.json").is_file():
        sys.exit("usage: python docs/tools/figures.py FOLDER, the results of 'einstellung demo'")
    main(Path(sys.argv[1]))
