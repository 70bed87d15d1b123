"""The share of attention on the cue's box over phase 2: with the cue, never painted, with the cue covered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from einstellung.diagnoses.rigidity.attention import share
from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.figures.curves import epoch_axis
from einstellung.metrics.bands import Band, band
from einstellung.report.figures.canvas import draw_band, halo, label_line_ends, new_figure
from einstellung.report.figures.style import GREY, WIDTH, MethodStyle, styles_of
from einstellung.report.notation import number, short_names
from einstellung.results.attention_files import ROLLOUT, AttentionRuns
from einstellung.timeline import SC_CLEAN, SC_MASK, SC_PATCH

PANELS = {SC_PATCH: "with the cue", SC_CLEAN: "never painted", SC_MASK: "cue covered"}
_HEIGHT = 2.3


def shares_over_epochs(runs: AttentionRuns, method: str, split: str) -> pd.DataFrame:
    """AS by roll-out: rows are effective epochs of phase 2, columns are seeds. Epoch 0 is the end of phase 1."""
    table: dict[int, dict[float, float]] = {}
    for (name, seed), run in runs.items():
        if name != method:
            continue
        moments = {moment[1]: moment for moment in run.moments if moment[0] == "T2"}
        before = run.end("T1")
        if before is not None:
            moments[0.0] = before
        found = {epoch: share(run, moment, split, ROLLOUT)[0] for epoch, moment in moments.items()}
        table[seed] = {epoch: value for epoch, value in found.items() if value is not None}
    return pd.DataFrame(table, dtype=float).sort_index()


def box_area(runs: AttentionRuns) -> float | None:
    """The box's share of the image, over the stored examples: what attention spread evenly would put on it."""
    areas = [float(run.arrays["example_regions"].mean()) for run in runs.values() if "example_regions" in run.arrays]
    return float(np.mean(areas)) if areas else None


def draw_attention_epochs(runs: AttentionRuns, card: RigidityCard) -> Figure:
    """A panel per kind of image, a line per method."""
    styles, names = styles_of(card), short_names(list(card.methods))
    bands = {split: {method: band(shares_over_epochs(runs, method, split)) for method in styles} for split in PANELS}
    drawn = {split: found for split, found in bands.items() if any(summary is not None for summary in found.values())}
    last = max(float(summary.epochs[-1]) for found in drawn.values() for summary in found.values() if summary)
    figure = new_figure(WIDTH, _HEIGHT + 0.6)
    panels = figure.subplots(1, len(drawn), sharey=True, squeeze=False)[0]
    area = box_area(runs)
    for axes, (split, found) in zip(panels, drawn.items(), strict=True):
        for method, summary in found.items():
            if summary is not None:
                _draw(axes, summary, styles[method])
        axes.set_title(PANELS[split], fontsize=8)
        epoch_axis(axes, last, label=False)
        if area is not None:
            axes.axhline(area, color=GREY, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
    panels[0].set_ylabel("share of attention on the cue's box")
    panels[len(panels) // 2].set_xlabel("effective epoch of phase 2 (0: end of phase 1)")
    _limit(panels[0], area)
    if area is not None:
        words: dict[str, Any] = {"fontsize": 6.5, "color": GREY, "path_effects": halo(), "zorder": 7}
        place = panels[0].get_yaxis_transform()
        panels[0].text(0.98, area, f"even {number(area)}", transform=place, ha="right", va="bottom", **words)
    *_, found = drawn.values()
    ends = [(float(summary.mean[-1]), names[method], styles[method]) for method, summary in found.items() if summary]
    label_line_ends(panels[-1], ends, _HEIGHT, stretch=0.2 + 0.8 * len(panels))
    return figure


def _draw(axes: Axes, summary: Band, style: MethodStyle) -> None:
    """A line with its band; a single moment has no band to be seen, so it gets a bar."""
    draw_band(axes, summary, style)
    if len(summary.epochs) == 1 and summary.sd is not None:
        axes.errorbar(summary.epochs, summary.mean, summary.sd, color=style.colour, linewidth=1, capsize=2, zorder=2)


def _limit(axes: Axes, area: float | None) -> None:
    highest = max(float(axes.dataLim.y1), *(float(other.dataLim.y1) for other in axes.figure.axes), area or 0)
    axes.set_ylim(0, min(1.02, highest * 1.08))
