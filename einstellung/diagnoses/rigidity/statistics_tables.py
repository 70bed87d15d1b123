"""The statistics behind the verdicts as tables: tests, survival, continual metrics."""

from __future__ import annotations

from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.report.notation import DASH, FACETS, epochs, mean_sd, number
from einstellung.report.tables import Cell, Table

_CONTINUAL = {
    "average_accuracy": "average accuracy",
    "BWT": "BWT",
    "FWT": "FWT",
    "forgetting": "forgetting",
    "intransigence": "intransigence",
}


def statistics_tables(card: RigidityCard) -> list[Table]:
    """Those of the tables that the card has something for."""
    tables = [_tests(card), _survival(card), _continual(card)]
    return [table for table in tables if table.rows]


def p_value(p: float | None) -> str:
    """A p value; very small ones as a bound.

    >>> p_value(0.0123), p_value(0.0000004), p_value(None)
    ('0.012', '< 0.001', '–')
    """
    return "< 0.001" if p is not None and p < 0.001 else number(p)


def _tests(card: RigidityCard) -> Table:
    rows = []
    for method in card.compared:
        for facet, test in card.methods[method].tests.items():
            why = (test.note or f"n = {test.n}: no test") if test.p is None else None
            numbers = (number(test.statistic, digits=2, signed=True), p_value(test.p), p_value(test.p_holm))
            head = (Cell(method), Cell(FACETS[facet].head), Cell(test.test))
            effect = Cell(number(test.d_z, digits=2, signed=True))
            rows.append((*head, Cell(numbers[0]), Cell(numbers[1], why), Cell(numbers[2]), effect, Cell(str(test.n))))
    return Table(
        "Does the facet differ from 0?",
        "Tests paired by seed with the baseline. Holm: corrected over the methods. d_z: mean difference divided by the "
        "standard deviation of the differences.",
        ("method", "facet", "test", "statistic", "p", "p (Holm)", "d_z", "n"),
        tuple(rows),
        (),
    )


def _survival(card: RigidityCard) -> Table:
    rows = []
    for method, record in card.methods.items():
        summary = record.survival
        if summary is None:
            continue
        difference = summary.restricted_mean_difference
        bounds = difference.ci95
        text = f"[{epochs(bounds[0], signed=True)}, {epochs(bounds[1], signed=True)}]" if bounds else DASH
        why = "fewer than half of the seeds reach the threshold" if summary.median is None else None
        numbers = (epochs(summary.restricted_mean), epochs(difference.value, signed=True), text)
        reached = Cell(f"{summary.events} of {summary.n}")
        rows.append(
            (
                Cell(method),
                reached,
                Cell(epochs(summary.median), why),
                *map(Cell, numbers),
                Cell(epochs(summary.budget)),
            )
        )
    return Table(
        f"Time to τ = {number(card.tau, digits=2)}, censored seeds included",
        "Effective epochs, Kaplan-Meier. In the restricted mean, a seed that never crosses counts as the full budget. "
        "The difference is relative to the baseline; below 0 means earlier.",
        ("method", "reached", "median", "restricted mean", "difference", "95 % interval", "budget"),
        tuple(rows),
        (),
    )


def _continual(card: RigidityCard) -> Table:
    rows = []
    for method, record in card.methods.items():
        summaries = [record.continual.metric(key) for key in _CONTINUAL]
        if any(summary.mean is not None for summary in summaries):
            rows.append((Cell(method), *(Cell(mean_sd("SC_patch", summary)) for summary in summaries)))
    return Table(
        "Continual metrics from the same timeline",
        "Mean ± standard deviation over seeds. BWT: T1 after T2 minus T1 after T1. FWT: phase 2 accuracy before "
        "training on it, minus that of an untrained model. Forgetting: best earlier T1 accuracy minus the last. "
        "Intransigence: the baseline's phase 2 accuracy minus the continual model's. Dash: not measured, or undefined "
        "for a model without a phase 1.",
        ("method", *_CONTINUAL.values()),
        tuple(rows),
        (),
    )
