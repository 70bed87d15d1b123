"""How numbers and facets are written, the same in figures, tables, terminal and page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from einstellung.metrics.statistics import Summary

DASH = "–"
MINUS = "−"


@dataclass(frozen=True)
class Facet:
    """A measured quantity: its key in the scorecard, how it is headed and written, and what its sign means."""

    key: str
    head: str
    meaning: str
    below: str = ""
    above: str = ""
    signed: bool = True
    in_epochs: bool = False


FACETS = {
    facet.key: facet
    for facet in (
        Facet(
            "AD",
            "AD",
            "Adaptation Delay: effective epochs the continual model needs to reach τ on cue-bearing test images, "
            "minus those the baseline needs.",
            "earlier",
            "later",
            in_epochs=True,
        ),
        Facet(
            "PD",
            "PD",
            "Performance Deficit: the baseline's accuracy on cue-bearing test images minus the continual model's.",
            "continual better",
            "worse",
        ),
        Facet(
            "SFR_rel",
            "SFR_rel",
            "Relative Suboptimal Feature Reliance: Δ of the continual model minus Δ of the baseline.",
            "relies less",
            "more",
        ),
        Facet("CSR_rel", "CSR_rel", "Relative cue sensitivity: |Δ| of the continual model minus |Δ| of the baseline."),
        Facet(
            "delta",
            "Δ",
            "Absolute reliance: accuracy with the cue minus accuracy on the same images with the cue covered.",
            "cue hurts",
            "helps",
        ),
        Facet("delta_paired", "Δ paired", "Δ on the seeds used for SFR_rel."),
        Facet("delta_S", "Δ_S", "Δ of the baseline on the same seeds."),
        Facet("delta_S_paired", "Δ_S paired", "Δ of the baseline on the seeds used for SFR_rel."),
        Facet("delta_within", "Δ within", "Δ with predictions restricted to the shortcut classes."),
        Facet(
            "SFR_rel_within",
            "SFR_rel within",
            "SFR_rel with predictions restricted to the shortcut classes; still comparable at the floor.",
            "relies less",
            "more",
        ),
        Facet(
            "PD_NSC", "PD NSC", "The baseline's accuracy on the classes without the cue minus the continual model's."
        ),
        Facet(
            "PD_specific",
            "PD − PD NSC",
            "PD on the shortcut classes minus PD on the others: the part specific to the shortcut classes.",
            "cue's classes better",
            "worse",
        ),
        Facet(
            "share_lost",
            "share lost",
            "Share of the accuracy with the cue that is lost when it is covered: 1 − masked / patched.",
            signed=False,
        ),
        Facet(
            "SC_mask_S",
            "SC masked, baseline",
            "The baseline's accuracy on the shortcut classes, cue covered.",
            signed=False,
        ),
        Facet(
            "SC_patch_within",
            "SC patched within",
            "SC patched, with predictions restricted to the shortcut classes.",
            signed=False,
        ),
        Facet(
            "SC_mask_within",
            "SC masked within",
            "SC masked, with predictions restricted to the shortcut classes.",
            signed=False,
        ),
        Facet(
            "NSC_within", "NSC within", "NSC, with predictions restricted to the classes without the cue.", signed=False
        ),
        Facet("NSC_lowest", "NSC, lowest seed", "The lowest NSC accuracy over the seeds.", signed=False),
        Facet("SC_patch", "SC patched", "Accuracy on the shortcut classes with the cue.", signed=False),
        Facet("SC_mask", "SC masked", "Accuracy on the same images with the cue covered.", signed=False),
        Facet("SC_clean", "SC clean", "Accuracy on the same images without the cue.", signed=False),
        Facet(
            "SC_elsewhere",
            "SC elsewhere",
            "Accuracy on the same images with the cue at another position.",
            signed=False,
        ),
        Facet("NSC", "NSC", "Accuracy on the phase 2 classes that never have the cue.", signed=False),
        Facet("NSC_patched", "NSC patched", "The same with the cue added at test time.", signed=False),
        Facet("NSC_called_SC", "NSC called SC", "Share of NSC images assigned to a shortcut class.", signed=False),
        Facet("NSC_patched_called_SC", "with cue added", "The same with the cue added at test time.", signed=False),
        Facet(
            "pull", "pull", "Increase in the share of NSC images assigned to a shortcut class when the cue is added."
        ),
        Facet("T1", "T1 after T2", "Accuracy on phase 1 at the end of phase 2.", signed=False),
        Facet("T1_after_T1", "T1 after T1", "Accuracy on phase 1 at the end of phase 1.", signed=False),
        Facet("AS_cue", "AS cue", "Share of attention on the cue's box, with the cue in it.", signed=False),
        Facet("AS_clean", "AS clean", "The same on the same images, without the cue.", signed=False),
        Facet("AS_masked", "AS masked", "The same on the same images, cue covered.", signed=False),
        Facet("SAG", "SAG", "Relative increase of attention on the cue's box, compared with clean images."),
        Facet("CTAS", "CTAS", "Cosine of the mean maps of two phases, on the same images.", signed=False),
        Facet("CTAS_own", "CTAS own", "Cosine of the mean maps of two phases, each on its own images.", signed=False),
        Facet("ADI", "ADI", "How much attention maps differ between images.", signed=False),
    )
}


def number(value: float | None, *, digits: int = 3, signed: bool = False) -> str:
    """A number with a real minus sign; undefined is a dash, never 0.

    >>> number(-0.0315), number(0.5, signed=True), number(None)
    ('−0.032', '+0.500', '–')
    >>> number(-0.0001, signed=True)
    '0.000'
    """
    if value is None:
        return DASH
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("+-")
    return text.replace("-", MINUS)


def epochs(value: float | None, *, signed: bool = False) -> str:
    """Effective epochs: one decimal, or two where the second says something.

    >>> epochs(-34.0, signed=True), epochs(2.25), epochs(-5.3333, signed=True), epochs(None)
    ('−34.0', '2.25', '−5.33', '–')
    """
    if value is None:
        return DASH
    return number(value, digits=1 if abs(value * 10 - round(value * 10)) < 1e-6 else 2, signed=signed)


def write(key: str, value: float | None) -> str:
    """A value of the facet ``key``, in that facet's own way.

    >>> write("AD", -6.0), write("SC_patch", 0.81), write("PD", 0.0)
    ('−6.0', '0.810', '0.000')
    """
    facet = FACETS[key]
    return epochs(value, signed=facet.signed) if facet.in_epochs else number(value, signed=facet.signed)


class Spread(Protocol):
    """A mean over seeds with its standard deviation, measured or published."""

    @property
    def mean(self) -> float | None: ...

    @property
    def sd(self) -> float | None: ...


def per_cent(estimate: Spread | None, *, spread: bool) -> str:
    """Mean, and deviation where asked for, in per cent.

    >>> per_cent(Summary(0.7264, 0.0578, 3, None, "t"), spread=True)
    '72.6 ± 5.78'
    >>> per_cent(Summary(0.7264, None, 1, None, "none"), spread=True), per_cent(None, spread=False)
    ('72.6', '–')
    """
    if estimate is None or estimate.mean is None:
        return DASH
    mean = number(100 * estimate.mean, digits=1)
    return f"{mean} ± {number(100 * estimate.sd, digits=2)}" if spread and estimate.sd is not None else mean


def mean_sd(key: str, estimate: Spread) -> str:
    """``mean ± sd``; the mean alone where one seed has no spread; a dash where nothing is defined.

    >>> mean_sd("SC_patch", Summary(0.628, 0.007, 3, None, "t"))
    '0.628 ± 0.007'
    >>> mean_sd("PD", Summary(0.1, None, 1, None, "none")), mean_sd("PD", Summary(None, None, 0, None, "none"))
    ('+0.100', '–')
    """
    mean, sd = estimate.mean, estimate.sd
    if mean is None or sd is None:
        return write(key, mean)
    spread = epochs(sd) if FACETS[key].in_epochs else number(sd)
    return f"{write(key, mean)} ± {spread}"


def interval(key: str, estimate: Summary) -> str:
    """``[low, high]`` of the 95 % interval, or why there is none.

    >>> interval("PD", Summary(0.1, 0.02, 3, (0.05, 0.15), "t"))
    '[+0.050, +0.150]'
    >>> interval("PD", Summary(0.1, None, 1, None, "none")), interval("PD", Summary(None, None, 0, None, "none"))
    ('n = 1: no interval', '–')
    """
    if estimate.mean is None:
        return DASH
    if estimate.ci95 is None:
        return f"n = {estimate.n}: no interval"
    low, high = estimate.ci95
    return f"[{write(key, low)}, {write(key, high)}]"


def short_names(methods: Sequence[str], length: int = 20) -> dict[str, str]:
    """Labels that fit into a figure: both ends of a long name stay, and no two labels are equal.

    >>> short_names(["sgd", "experience_replay_with_buffer_5000"])
    {'sgd': 'sgd', 'experience_replay_with_buffer_5000': 'experience…uffer_5000'}
    """
    labels: dict[str, str] = {}
    for method in methods:
        half = length // 2
        label = method if len(method) <= length + 1 else f"{method[:half]}…{method[-half:]}"
        twins = sum(other == label or other.startswith(f"{label} (") for other in labels.values())
        labels[method] = f"{label} ({twins + 1})" if twins else label
    return labels
