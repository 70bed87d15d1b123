"""The first screen of a study of confounded tasks: how far unconfounded accuracy stays below what it is judged against."""

from __future__ import annotations

from einstellung.diagnoses.confounding.card import ConfoundingCard, ConfoundingMethod
from einstellung.diagnoses.confounding.verdict import CONFOUNDED, INSIDIOUS, NOT_CONFOUNDED, SANITY_CHECK
from einstellung.metrics.statistics import Summary
from einstellung.report.figures.style import styles_of
from einstellung.report.forest import Forest, ForestColumn, ForestRow, ForestValue
from einstellung.report.notation import DASH, number, per_cent

#: The class of a verdict's pill; it is a word in any case.
PILLS = {INSIDIOUS: "red-flag", CONFOUNDED: "shared-shortcut", NOT_CONFOUNDED: "benign-transfer"}
_FEWEST_SEEDS = 3
_NO_GAP = "not judged"


def make_forest(card: ConfoundingCard) -> Forest:
    """Every method: the gap that the verdict rests on, and the two accuracies behind it, in per cent."""
    return Forest(
        columns=_columns(card),
        rows=[_row(card, method, place) for place, method in enumerate(card.methods)],
        caption=(
            "Mean and 95 % interval. Grey: within the margin. Accuracy is the mean of positives and negatives; "
            f"the line is chance, {100 * card.chance:.0f} %."
        ),
        styles=styles_of(card),
    )


def anchor(place: int) -> str:
    """The id of a method's card."""
    return f"method-{place}"


def _columns(card: ConfoundingCard) -> list[ForestColumn]:
    against = "the ceiling" if card.ceiling is not None else "own tasks"
    gap = ForestColumn(
        "gap",
        f"below {against}, points",
        f"Accuracy of {against} minus accuracy on unconfounded images; above the margin, the method is confounded.",
        "no gap",
        "confounded",
        margin=100 * card.margin,
        digits=0,
    )
    accuracies = [
        ForestColumn(
            "unconfounded",
            "unconfounded, %",
            "Accuracy on the unconfounded test images at the end of training.",
            centre=100 * card.chance,
            digits=0,
        ),
        ForestColumn(
            "own_tasks",
            "own tasks, %",
            "Mean accuracy over the method's own tasks, each right after it was learned.",
            centre=100 * card.chance,
            digits=0,
        ),
    ]
    judged = any(record.verdict.gap is not None for record in card.methods.values())
    return [gap, *accuracies] if judged else accuracies


def _row(card: ConfoundingCard, method: str, place: int) -> ForestRow:
    record = card.methods[method]
    verdict = record.verdict
    decided = verdict.name in PILLS
    return ForestRow(
        method=method,
        verdict=verdict.name,
        tone=PILLS.get(verdict.name, ""),
        certainty=_certainty(record) if decided else "" if verdict.name == SANITY_CHECK else "open",
        values={
            "gap": _gap(record),
            "unconfounded": _accuracy(record.unconfounded),
            "own_tasks": _accuracy(record.own_tasks),
        },
        seeds=record.n_seeds,
        is_baseline=method == card.baseline,
        anchor=anchor(place),
    )


def _certainty(record: ConfoundingMethod) -> str:
    """The interval agrees with every verdict that is given; of few seeds it is over images."""
    return "holds" if record.n_seeds >= _FEWEST_SEEDS else f"{record.n_seeds} seed{'s' if record.n_seeds > 1 else ''}"


def _gap(record: ConfoundingMethod) -> ForestValue:
    gap, bounds = record.verdict.gap, record.verdict.gap_ci95
    if gap is None:
        return ForestValue(None, text=DASH, why=_NO_GAP)
    low, high = (100 * bound for bound in bounds) if bounds else (None, None)
    interval = f"[{number(low, digits=1, signed=True)}, {number(high, digits=1, signed=True)}]" if bounds else ""
    return ForestValue(100 * gap, low, high, number(100 * gap, digits=1, signed=True), interval or "no interval")


def _accuracy(estimate: Summary) -> ForestValue:
    if estimate.mean is None:
        return ForestValue(None, text=DASH, why="not measured")
    low, high = (100 * bound for bound in estimate.ci95) if estimate.ci95 else (None, None)
    interval = f"[{number(low, digits=1)}, {number(high, digits=1)}]" if estimate.ci95 else "no interval"
    return ForestValue(100 * estimate.mean, low, high, per_cent(estimate, spread=True), interval)
