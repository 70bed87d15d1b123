"""A caption says what a figure shows and what it was measured on, so that it can stand in a paper by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from einstellung.report.measured import images_of, margins_in_words, rule_in_words, seeds_in_words, smoothing_in_words
from einstellung.report.notation import is_compared, number
from einstellung.timeline import SC_MASK, SC_PATCH

_SAMPLES = """What the models are tested on. Original: the image as it was, where the cue was planted. Patched: with the
cue. Masked: the same image with the cue's region covered. Pixels are drawn as squares."""

_GREY = """The same images by their luminance alone (ITU-R BT.601): how much of the cue is left without its colour."""

_AUGMENTATION = """Raw training images, and the same as a model is trained on them: augmented first, then, where the
class bears it, with the cue painted on top, so that augmentation does not move the cue."""

_ACCURACY = """Accuracy with the cue present over phase 2, on {patched}; {smoothing}; {spread}; {seeds}. Marks
on the line {tau}: mean over seeds of the first epoch at or above it, open where some seed never gets there;
they need not lie on the mean curve. {strip}Dotted lines, where drawn, are chance and what the cue alone gives."""

_STRIP = """Below: AD, from where {baseline} reaches τ (star) to where the method does, over the seeds in which
both do; ticks are single seeds. """

_DELAY_GRID = """AD against the threshold, in effective epochs, on {patched}; {smoothing}; mean over the seeds
in which both {baseline} and the method cross; {seeds}. Blue: earlier than {baseline}; orange: later. Hatched:
no seed in which both cross. A small n says that only some seeds count. Framed: the threshold of the verdict,
{tau}."""

_DEFICIT = """Performance deficit over phase 2: accuracy of {baseline} minus that of the continual model on
{patched}, paired by seed; {smoothing}; {spread}; {seeds}. Right: PD at {rule}, not smoothed; {intervals}. Grey:
within the margin ({margins})."""

_RELIANCE = """Reliance on the cue over phase 2, on {both}; {smoothing}; {spread}; {seeds}. {panels} Right: the
values at {rule}, not smoothed; {intervals}. Grey, where drawn: within the margin ({margins})."""

_VERDICT = """The facets of every continual method: mean and 95 % interval over seeds, paired with {baseline} by
seed; AD at {tau}, the others at {rule}; {seeds}. Grey: within the margin ({margins}). Open stars: Δ of
{baseline} on the same seeds. An arrow: the interval goes on beyond the frame."""

_ALONE = (
    """Δ of every method, with nothing to compare it with: mean and 95 % interval over seeds, at {rule}; {seeds}."""
)

_SURVIVAL = """Time to threshold with seeds that never cross kept in (Kaplan-Meier), on {patched}; {smoothing};
{seeds}. {against}A plus: seeds that end below the threshold."""

_AGAINST = """Black: {baseline}. The shaded area is the difference of restricted means up to the budget, in
effective epochs; below 0 the method crosses earlier. """


def captions(frame: pd.DataFrame, card: Mapping[str, Any]) -> dict[str, str]:
    """The caption of every figure by its file name."""
    baseline = card["baseline"]
    compared = is_compared(card)
    single = all(record["n_seeds"] == 1 for record in card["methods"].values())
    deviation = "lines: mean over seeds; bands: one standard deviation (ddof 1)"
    relative = (
        f"Above: SFR_rel, Δ of the continual model minus Δ of {baseline}, paired by seed. Below: Δ of every model."
    )
    words = {
        "baseline": baseline,
        "patched": f"{SC_PATCH} ({images_of(frame, SC_PATCH)})",
        "both": f"{SC_PATCH} and {SC_MASK} ({images_of(frame, SC_MASK)}, the same ones)",
        "seeds": seeds_in_words(card),
        "smoothing": smoothing_in_words(card),
        "rule": rule_in_words(card),
        "tau": f"τ = {number(card['tau'], digits=2)}",
        "margins": margins_in_words(card),
        "spread": "lines: the single seed, no band" if single else deviation,
        "intervals": "one seed has no interval" if single else "bars: 95 % interval over seeds",
        "strip": _STRIP.format(baseline=baseline) if compared else "",
        "panels": relative if compared else "Δ of every model.",
        "against": _AGAINST.format(baseline=baseline) if compared else "",
    }
    templates = {
        "fig1_samples": _SAMPLES,
        "fig1_samples_grey": _GREY,
        "fig2_augmentation": _AUGMENTATION,
        "fig3_accuracy": _ACCURACY,
        "fig4_delay_grid": _DELAY_GRID,
        "fig5_deficit": _DEFICIT,
        "fig6_reliance": _RELIANCE,
        "verdict": _VERDICT if compared else _ALONE,
        "survival": _SURVIVAL,
    }
    return {name: " ".join(template.format(**words).split()) for name, template in templates.items()}
