"""All figures of a report: how each is drawn, what its caption says, and why one cannot be drawn.

A caption says what a figure shows and what it was measured on, so that it can stand in a paper by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.figures.accuracy import draw_accuracy
from einstellung.diagnoses.rigidity.figures.attention import attention_plans
from einstellung.diagnoses.rigidity.figures.curves import PhaseTwoCurves
from einstellung.diagnoses.rigidity.figures.delays import draw_delay_grid
from einstellung.diagnoses.rigidity.figures.gaps import draw_deficit, draw_reliance
from einstellung.diagnoses.rigidity.figures.pictures import caption, draw_pictures
from einstellung.diagnoses.rigidity.figures.probes import probe_plans
from einstellung.diagnoses.rigidity.figures.survival import draw_survival
from einstellung.diagnoses.rigidity.figures.verdict import draw_verdict
from einstellung.diagnoses.rigidity.wording import describe_card_seeds, describe_margins, describe_rule
from einstellung.errors import InputError
from einstellung.metrics.curves import TOLERANCE
from einstellung.report.figures.inputs import draw_inputs
from einstellung.report.figures.plan import Plan
from einstellung.report.figures.samples import draw_samples, in_grey
from einstellung.report.measured import describe_smoothing, images_of
from einstellung.report.notation import number
from einstellung.report.pictures import read_samples
from einstellung.results.attention_files import attention_of
from einstellung.results.run_files import RunFiles, RunPictures, read_pictures
from einstellung.timeline import SC_MASK, SC_PATCH

TITLES = {
    "verdict": "Facets with intervals",
    "fig3_accuracy": "Accuracy with the cue, and adaptation delay",
    "fig4_delay_grid": "Adaptation delay against the threshold",
    "fig5_deficit": "Performance deficit over time",
    "fig6_reliance": "Reliance on the cue over time",
    "survival": "Time to threshold, including censored seeds",
    "fig1_samples": "Original, patched, masked",
    "fig1_samples_grey": "Original, patched, masked, in greyscale",
    "fig2_augmentation": "Raw and augmented",
}
_OF_IMAGES = ("fig1_samples_grey", "fig2_augmentation")  # texts and series have no colours and are shown as they are
SAMPLES = "samples"  # the section of figures that show images rather than numbers
_SECTIONS = {"verdict": "verdict", "fig1_samples": SAMPLES, "fig1_samples_grey": SAMPLES, "fig2_augmentation": SAMPLES}
_CAPTIONS = {
    "fig1_samples": """Test inputs. Original: before the cue was added, if it was added. Patched: with the cue. Masked:
the same input with the cue's region covered. Pixels of images are drawn as squares.""",
    "fig1_texts": """Test texts. Original: before the cue was added, if it was added. Patched: with the cue, its tokens
on a coloured ground. Masked: the same text with the cue's tokens covered; what was taken out leaves no gap. Of long texts, the
part around the cue.""",
    "fig1_series": """Test series, the first channel of each. Original: before the cue was added, if it was added. Patched: with
the cue. Masked: the same series with the cue's region, in grey, covered.""",
    "fig1_samples_grey": """Luminance of the same images (ITU-R BT.601): how visible the cue remains without colour.""",
    "fig2_augmentation": """Raw training images, and the same images as the model sees them in training: augmented first, then,
for shortcut classes, with the cue painted on top, so that augmentation does not move the cue.""",
    "fig3_accuracy": """Accuracy with the cue present over phase 2, on {patched}; {smoothing}; {spread}; {seeds}. Markers
on the line {tau}: mean over seeds of the first epoch at or above it, open if some seed never reaches it;
they need not lie on the mean curve. {strip}Dotted lines, where drawn: chance, and accuracy from the cue alone.""",
    "fig4_delay_grid": """AD against the threshold, in effective epochs, on {patched}; {smoothing}; mean over the seeds
in which both {baseline} and the method cross; {seeds}. Blue: earlier than {baseline}; orange: later. Hatched:
no seed in which both cross. A small n: not all seeds are included. Framed: the threshold of the verdict,
{tau}.""",
    "fig5_deficit": """Performance deficit over phase 2: accuracy of {baseline} minus that of the continual model on
{patched}, paired by seed; {smoothing}; {spread}; {seeds}. Right: PD at {rule}, not smoothed; {intervals}. Grey:
within the margin ({margins}).""",
    "fig6_reliance": """Reliance on the cue over phase 2, on {both}; {smoothing}; {spread}; {seeds}. {panels} Right: the
values at {rule}, not smoothed; {intervals}. Grey, where drawn: within the margin ({margins}).""",
    "verdict": """The facets of every continual method: mean and 95 % interval over seeds, paired with {baseline} by
seed; AD at {tau}, the others at {rule}; {seeds}. Grey: within the margin ({margins}). Open stars: Δ of
{baseline} on the same seeds.""",
    "survival": """Time to threshold, including seeds that never cross (Kaplan-Meier), on {patched}; {smoothing};
{seeds}. {against}Plus: seeds that end below the threshold.""",
}
_ALONE = """Δ of every method (no comparison possible): mean and 95 % interval over seeds, at {rule}; {seeds}."""
_STRIP = """Below: AD, from the epoch at which {baseline} reaches τ (star) to the epoch at which the method does, over the
seeds in which both do; ticks are individual seeds. """
_RELATIVE = (
    """Above: SFR_rel, Δ of the continual model minus Δ of {baseline}, paired by seed. Below: Δ of every model."""
)
_AGAINST = """Black: {baseline}. The shaded area is the difference of restricted means up to the budget, in
effective epochs; below 0 the method crosses earlier. """


def figure_plans(frame: pd.DataFrame, card: RigidityCard, files: RunFiles) -> Iterator[Plan]:
    """Every figure of a card, from the curves in ``frame`` and what the runs left beside them."""
    words = captions(frame, card)
    samples = read_samples(files.samples) if files.samples is not None else {}
    if (kind := kind_of(samples)) is not None:
        words["fig1_samples"] = words[kind]
    for name, (why, draw) in _drawings(frame, card, samples).items():
        if kind is not None and name in _OF_IMAGES:
            continue
        section = _SECTIONS.get(name, "figures")
        yield Plan(name, TITLES[name], words[name], draw, why, section, pictures=section == SAMPLES)
    yield from map(_pictures, files.pictures())
    yield from attention_plans(attention_of(files)[0], card)
    yield from probe_plans(card, files)


def captions(frame: pd.DataFrame, card: RigidityCard) -> dict[str, str]:
    """The caption of every figure by its file name."""
    baseline = card.baseline
    single = all(record.n_seeds == 1 for record in card.methods.values())
    deviation = "lines: mean over seeds; bands: one standard deviation (ddof 1)"
    words = {
        "baseline": baseline,
        "patched": f"{SC_PATCH} ({images_of(frame, SC_PATCH)})",
        "both": f"{SC_PATCH} and {SC_MASK} ({images_of(frame, SC_MASK)}, the same ones)",
        "seeds": describe_card_seeds(card),
        "smoothing": describe_smoothing(card.smoothing, card.window),
        "rule": describe_rule(card),
        "tau": f"τ = {number(card.tau, digits=2)}",
        "margins": describe_margins(card.margins),
        "spread": "lines: the single seed, no band" if single else deviation,
        "intervals": "one seed has no interval" if single else "bars: 95 % interval over seeds",
        "strip": _STRIP.format(baseline=baseline) if card.is_compared else "",
        "panels": _RELATIVE.format(baseline=baseline) if card.is_compared else "Δ of every model.",
        "against": _AGAINST.format(baseline=baseline) if card.is_compared else "",
    }
    templates = _CAPTIONS if card.is_compared else {**_CAPTIONS, "verdict": _ALONE}
    return {name: " ".join(template.format(**words).split()) for name, template in templates.items()}


def _drawings(
    frame: pd.DataFrame, card: RigidityCard, images: Mapping[str, np.ndarray]
) -> dict[str, tuple[str | None, Callable[[], Figure]]]:
    """For every figure: why it cannot be drawn (or None), and how it is drawn."""
    curves = PhaseTwoCurves(frame, card)
    measured = set(frame.loc[(frame["phase"] == "T2") & (frame["epoch"] > TOLERANCE), "split"])
    no_cue = None if SC_PATCH in measured else f"{SC_PATCH} was not measured in phase T2 after epoch 0"
    no_mask = no_cue or (None if SC_MASK in measured else f"{SC_MASK} was not measured in phase T2 after epoch 0")
    alone = no_cue or (
        None if card.is_compared else "nothing to compare: the baseline or all continual methods are missing"
    )
    variants = ("original", "patched", "masked")
    shown = [name for name in variants if name in images]  # a cue that was in the pictures already has no original
    names = [str(caption) for caption in images.get("captions", np.array([]))]
    return {
        "verdict": (no_cue if card.is_compared else no_mask, lambda: draw_verdict(card)),
        "fig3_accuracy": (no_cue, lambda: draw_accuracy(curves, card, _levels(card))),
        "fig4_delay_grid": (alone, lambda: draw_delay_grid(card)),
        "fig5_deficit": (alone, lambda: draw_deficit(curves, card)),
        "fig6_reliance": (no_mask, lambda: draw_reliance(curves, card)),
        "survival": (no_cue, lambda: draw_survival(curves, card)),
        "fig1_samples": (_lacking(images, variants[1:]), lambda: draw_inputs(images, shown, names)),
        "fig1_samples_grey": (
            _lacking(in_grey(images), variants[1:]),
            lambda: draw_samples(in_grey(images), shown, names),
        ),
        "fig2_augmentation": (
            _lacking(images, ("raw", "augmented")),
            lambda: draw_samples(images, ("raw", "augmented")),
        ),
    }


def _levels(card: RigidityCard) -> dict[str, float]:
    """Accuracies worth a thin line: chance, and what the cue alone can give."""
    facts = card.stream_facts
    levels = {"chance": facts.chance, "cue alone": facts.cue_alone} if facts is not None else {}
    return {words: level for words, level in levels.items() if level is not None}


def kind_of(samples: Mapping[str, np.ndarray]) -> str | None:
    """The caption for samples that are not images, by what they hold.

    >>> kind_of({"patched": np.array([["word"]])}), kind_of({"patched": np.zeros((1, 1, 1, 3), dtype=np.uint8)})
    ('fig1_texts', None)
    """
    shown = samples.get("patched")
    return None if shown is None else {"U": "fig1_texts", "f": "fig1_series"}.get(shown.dtype.kind)


def _lacking(images: Mapping[str, np.ndarray], rows: Sequence[str]) -> str | None:
    if not images:
        return "these results have no stored sample images"
    absent = [row for row in rows if row not in images or not len(images[row])]
    return f"the sample images include no '{absent[0]}'" if absent else None


def _pictures(of_run: RunPictures) -> Plan:
    name, title = f"pictures_{of_run.method}", f"Images from {of_run.method}"
    try:
        images = read_pictures(of_run.path)
    except InputError as error:
        return Plan(name, title, "", Figure, str(error), SAMPLES)
    return Plan(
        name, title, caption(of_run, images), partial(draw_pictures, of_run, images), section=SAMPLES, pictures=True
    )
