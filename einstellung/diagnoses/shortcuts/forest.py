"""The first screen of several shortcuts: the reliance on every cue beside the baseline's."""

from __future__ import annotations

from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.estimates import GapEstimate
from einstellung.diagnoses.shortcuts.notation import CUE_HEADS, NOT_MEASURED, describe_intervals, pts
from einstellung.diagnoses.shortcuts.verdict import (
    AMPLIFIES,
    BASELINE,
    CURES_ALL,
    FRESH,
    NOT_LEARNED,
    REDUCES_ALL,
    REDUCES_SOME,
    UNDECIDED,
    WHAC_A_MOLE,
    describe_basis,
)
from einstellung.metrics.statistics import Summary
from einstellung.report.figures.style import styles_of
from einstellung.report.forest import Forest, ForestColumn, ForestRow, ForestValue
from einstellung.report.notation import DASH, number, per_cent

#: The class of a verdict's pill; it is a word in any case.
PILLS = {
    WHAC_A_MOLE: "red-flag",
    AMPLIFIES: "shared-shortcut",
    CURES_ALL: "benign-transfer",
    REDUCES_ALL: "benign-transfer",
    REDUCES_SOME: "benign-avoidance",
}
_CERTAINTIES = {UNDECIDED: "open", NOT_LEARNED: "not judged", BASELINE: "", FRESH: ""}


def make_forest(card: ShortcutsCard) -> Forest:
    """Every method: what it relies on each cue more than the baseline does, and its accuracy as in training."""
    return Forest(
        columns=[*_columns(card), *_losses(card), _id()],
        rows=[_row(card, method) for method in card.methods],
        caption=(
            f"Reliance on a cue minus that of {card.baseline}, in points, by {describe_basis(card.basis)}: mean and 95 % "
            f"interval {describe_intervals(card)}. Grey: within the margin."
        ),
        styles=styles_of(card),
    )


def _head(cue: str) -> str:
    return CUE_HEADS.get(cue, cue)


def _columns(card: ShortcutsCard) -> list[ForestColumn]:
    return [
        ForestColumn(
            f"difference {cue}",
            f"{_head(cue)}, against {card.baseline}",
            f"Reliance on {cue} minus that of {card.baseline}: accuracy lost where the cue is uncommon, in points.",
            "relies less",
            "more",
            margin=100 * card.margin,
            digits=0,
        )
        for cue in card.cues
    ]


def _losses(card: ShortcutsCard) -> list[ForestColumn]:
    return [
        ForestColumn(
            f"loss {cue}",
            f"{_head(cue)}, points lost",
            f"Reliance on {cue}: accuracy lost where the cue is uncommon, in points.",
            digits=0,
            plotted=not card.has_baseline,
        )
        for cue in card.cues
    ]


def _id() -> ForestColumn:
    return ForestColumn(
        "ID", "ID, %", "Accuracy on test images weighted like the training images.", centre=None, plotted=False
    )


def _row(card: ShortcutsCard, method: str) -> ForestRow:
    record, end = card.methods[method], card.end(method)
    values = {f"loss {cue}": _points(end.judged[cue].loss, signed=False) for cue in card.cues}
    if method != card.baseline:
        values |= {f"difference {cue}": _points(end.judged[cue].difference, signed=True) for cue in card.cues}
    return ForestRow(
        method=method,
        verdict=record.verdict.name,
        tone=PILLS.get(record.verdict.name, ""),
        certainty=_CERTAINTIES.get(record.verdict.name, "holds"),
        values={**values, "ID": _accuracy(end.own.ID)},
        seeds=record.n_seeds,
        is_baseline=method == card.baseline,
    )


def _points(estimate: GapEstimate, *, signed: bool) -> ForestValue:
    """In points, with the interval that a verdict goes by."""
    if estimate.mean is None:
        return ForestValue(None, text=DASH, why=NOT_MEASURED)
    bounds = estimate.bounds
    low, high = (100 * bound for bound in bounds) if bounds else (None, None)
    text = pts(estimate.mean, signed=signed)
    if estimate.sd is not None:
        text += f" ± {pts(estimate.sd, signed=False)}"
    interval = f"[{', '.join(pts(bound, signed=signed) for bound in bounds)}]" if bounds else "no interval"
    return ForestValue(100 * estimate.mean, low, high, text, interval)


def _accuracy(estimate: Summary) -> ForestValue:
    if estimate.mean is None:
        return ForestValue(None, text=DASH, why=NOT_MEASURED)
    low, high = (100 * bound for bound in estimate.ci95) if estimate.ci95 else (None, None)
    interval = f"[{number(low, digits=1)}, {number(high, digits=1)}]" if estimate.ci95 else "no interval"
    return ForestValue(100 * estimate.mean, low, high, per_cent(estimate, spread=True), interval)
