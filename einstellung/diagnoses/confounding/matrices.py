"""The inter-task matrices as the page shows them: a cell for every phase and test set, with what lies behind it."""

from __future__ import annotations

from dataclasses import dataclass

from einstellung.diagnoses.confounding.card import ConfoundingCard
from einstellung.diagnoses.confounding.splits import LABELS, UNCONFOUNDED
from einstellung.metrics.statistics import Summary
from einstellung.report.notation import DASH, number, per_cent


@dataclass(frozen=True)
class MatrixCell:
    """An accuracy in per cent, how far it is from chance (-1 to 1), and the words for hover."""

    text: str
    lean: float | None
    tip: str


@dataclass(frozen=True)
class Matrix:
    """One method on the images of one label: a row for every phase, a column for every test set."""

    method: str
    label: str
    columns: list[str]
    rows: list[tuple[str, list[MatrixCell]]]


def make_matrices(card: ConfoundingCard) -> list[Matrix]:
    """Positives and negatives of every method, in the card's order."""
    columns = [*card.tasks, UNCONFOUNDED]
    found = []
    for method, record in card.methods.items():
        for label in LABELS:
            rows = []
            for phase in card.tasks:
                row = record.matrix.get(phase)
                cells = [
                    _cell(
                        getattr(row[what], label) if row is not None else None, f"{method} after {phase}", what, label
                    )
                    for what in columns
                ]
                rows.append((phase, cells))
            found.append(Matrix(method, label, columns, rows))
    return found


def _cell(estimate: Summary | None, when: str, what: str, label: str) -> MatrixCell:
    where = f"{when}, {label}s of {what}" if what != UNCONFOUNDED else f"{when}, {what} {label}s"
    if estimate is None or estimate.mean is None:
        return MatrixCell(DASH, None, f"{where}: not measured")
    bounds = estimate.ci95
    interval = f", 95 % [{number(100 * bounds[0], digits=1)}, {number(100 * bounds[1], digits=1)}]" if bounds else ""
    tip = f"{where}: {per_cent(estimate, spread=True)} %{interval}, n = {estimate.n}"
    return MatrixCell(number(100 * estimate.mean, digits=1), 2 * estimate.mean - 1, tip)
