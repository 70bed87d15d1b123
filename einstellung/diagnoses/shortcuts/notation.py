"""How cues, gaps and their estimates are written: in points of a per cent, as the literature prints them."""

from __future__ import annotations

from collections.abc import Sequence

from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.estimates import GapEstimate
from einstellung.diagnoses.shortcuts.verdict import BETTER, WORSE
from einstellung.metrics.ratios import Ratio
from einstellung.metrics.statistics import Summary
from einstellung.prose import join
from einstellung.report.measured import describe_seeds
from einstellung.report.notation import DASH, number
from einstellung.report.tables import Cell

CUE_HEADS = {"background": "BG", "co-object": "CoObj", "watermark": "WTM"}
NOT_MEASURED = "not measured, or no training correlations for the weights"
NO_PREDICTIONS = "per-image predictions at that epoch are not available for all runs"
TONES = dict.fromkeys(WORSE, "worse") | dict.fromkeys(BETTER, "better")
UP, DOWN = "↑", "↓"
TIMES = "×"
_SHOWN_FROM = 1.005  # what is written as 1.00 is no factor above 1
_RULES = {"last": "the last epoch", "worst-group": "the epoch with the highest worst-group validation accuracy"}


def gap_head(gap: str) -> str:
    """The name of a gap in a table or a figure.

    >>> gap_head("background+co-object"), gap_head("cue 1")
    ('BG+CoObj gap', 'cue 1 gap')
    """
    return "+".join(CUE_HEADS.get(cue, cue) for cue in gap.split("+")) + " gap"


def pair_head(pair: str) -> str:
    """A pair of cues of which one shrinks and one grows.

    >>> pair_head("background -> co-object")
    'BG to CoObj'
    """
    return " to ".join(CUE_HEADS.get(cue, cue) for cue in pair.split(" -> "))


def describe_turned(card: ShortcutsCard, phase: str) -> str:
    """What common means in a phase in which a cue is reversed; empty where none is."""
    cues = card.turned_in(phase)
    if len(cues) > 1:
        return f"In {phase}, the common values of {join(cues)} disagree with the label, so uncommon means agreeing with it."
    if cues:
        return (
            f"In {phase}, the common value of {cues[0]} disagrees with the label, so uncommon means agreeing with it."
        )
    return ""


def loss_head(card: ShortcutsCard, cue: str) -> str:
    """The head of a column with the reliance on a cue: what it is measured by."""
    by = "twins" if card.basis[cue].by == "twins" else "main effect"
    return f"{CUE_HEADS.get(cue, cue)} by {by}"


def describe_intervals(card: ShortcutsCard) -> str:
    """What the intervals that decide a verdict allow for."""
    clusters = card.image_clusters
    if clusters is None:
        return "over seeds"
    if clusters.by == "image":
        return "over seeds and test images (resampled individually, because shared source objects were not recorded)"
    return f"over seeds and test images (in {clusters.clusters} clusters by source object)"


def describe_final(card: ShortcutsCard) -> str:
    """Which epoch of the last phase counts."""
    return _RULES[card.final]


def describe_finals(card: ShortcutsCard) -> str:
    """Which epoch counts, of every phase."""
    *earlier, last = card.final_by_phase
    if not earlier or card.final == "last":
        return f"{describe_final(card)}{' of every phase' if earlier else ''}"
    return f"{', '.join(earlier)}: the last epoch, from which the next phase starts; {last}: {describe_final(card)}"


def describe_card_seeds(card: ShortcutsCard) -> str:
    """How many seeds the methods have, and which."""
    return describe_seeds({method: record.per_seed for method, record in card.methods.items()})


def pts(value: float | None, *, signed: bool = True, digits: int = 1) -> str:
    """A difference of shares in points.

    >>> pts(-0.153), pts(None)
    ('−15.3', '–')
    """
    return number(None if value is None else 100 * value, digits=digits, signed=signed)


def spread_cell(estimate: Summary | None, why: str = NOT_MEASURED, *, signed: bool = True) -> Cell:
    """Mean ± standard deviation in points; a dash says why."""
    if estimate is None or estimate.mean is None:
        return Cell(DASH, why)
    mean = pts(estimate.mean, signed=signed)
    return Cell(mean if estimate.sd is None else f"{mean} ± {pts(estimate.sd, signed=False)}")


def bounds_cell(estimate: Summary | None, why: str = NOT_MEASURED) -> Cell:
    """The 95 % interval in points; with one seed there is none."""
    if estimate is None or estimate.mean is None:
        return Cell(DASH, why)
    return _interval(estimate.ci95, f"n = {estimate.n}: no interval")


def images_cell(estimate: GapEstimate | None, why: str) -> Cell:
    """The 95 % interval over images in points, where predictions of single images are known."""
    if estimate is None or estimate.mean is None:
        return Cell(DASH, why)
    return _interval(estimate.images95, NO_PREDICTIONS)


def both_cell(estimate: GapEstimate | None, why: str) -> Cell:
    """The 95 % interval that allows for seeds and images, by which verdicts go."""
    if estimate is None or estimate.mean is None:
        return Cell(DASH, why)
    return _interval(estimate.bounds, f"n = {estimate.n}: no interval")


def _interval(bounds: Sequence[float] | None, why: str) -> Cell:
    return Cell(DASH, why) if bounds is None else Cell(f"[{pts(bounds[0])}, {pts(bounds[1])}]")


def ratio_cell(ratio: Ratio, why: str, sign: str = TIMES) -> Cell:
    """A ratio of means with Fieller's interval where there is one.

    >>> ratio_cell(Ratio(2.94, 3, (2.1, 4.0), "Fieller"), "").text
    '×2.94 [2.10, 4.00]'
    """
    if ratio.value is None:
        return Cell(DASH, ratio.interval.removeprefix("none: ") if ":" in ratio.interval else why)
    value = f"{sign}{number(ratio.value, digits=2)}"
    if ratio.ci95 is None:
        return Cell(f"{value} [{DASH}]", ratio.interval.removeprefix("none: "))
    low, high = ratio.ci95
    return Cell(f"{value} [{number(low, digits=2)}, {number(high, digits=2)}]")


def gap_cell(mean: float | None, ratio: float | None, why: str = NOT_MEASURED) -> Cell:
    """A gap as the paper prints it: with the factor by which it exceeds the baseline's, where it does.

    >>> gap_cell(-0.45, 2.94).text, gap_cell(-0.158, 1.0).text
    ('−45.0 (×2.94)', '−15.8')
    """
    if mean is None:
        return Cell(DASH, why)
    exceeds = ratio is not None and ratio >= _SHOWN_FROM
    return Cell(f"{pts(mean)} ({TIMES}{number(ratio, digits=2)})" if exceeds else pts(mean))


def loss_cell(mean: float | None, verdict: str | None) -> Cell:
    """The reliance on a cue; an arrow says that it is certainly larger or smaller than the baseline's.

    >>> loss_cell(0.674, "amplified").text, loss_cell(0.011, "cured").text, loss_cell(0.092, "undecided").text
    ('67.4 ↑', '1.1 ↓', '9.2')
    """
    if mean is None:
        return Cell(DASH, NOT_MEASURED)
    arrow = f" {UP}" if verdict in WORSE else f" {DOWN}" if verdict in BETTER else ""
    return Cell(f"{pts(mean, signed=False)}{arrow}", tone=TONES.get(verdict or ""))


def p_cell(p: float | None, why: str) -> Cell:
    """A p value; a dash says why there is none."""
    if p is None:
        return Cell(DASH, why)
    return Cell(number(p, digits=3) if p >= 0.001 else "< 0.001")
