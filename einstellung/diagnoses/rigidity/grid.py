"""A sweep of two settings: how the index depends on both, as heat maps on one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from einstellung.diagnoses.contract import Members
from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.family import (
    Point,
    SweptStudies,
    certain_verdicts,
    sweep_record,
    sweep_table,
    value_label,
)
from einstellung.diagnoses.rigidity.wording import describe_card_seeds
from einstellung.metrics.statistics import Summary
from einstellung.prose import join
from einstellung.report.family import SWEEP, FamilyPage
from einstellung.report.notation import write

FACETS_SHOWN = ("SFR_rel", "PD", "AD")


@dataclass(frozen=True)
class SweptGrid:
    """The studies of two swept settings: the values of each, and the card of every pair that is finished."""

    keys: tuple[str, str]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cards: dict[tuple[str, str], RigidityCard]
    studies: SweptStudies

    @property
    def methods(self) -> list[str]:
        """Every method that is compared with the baseline."""
        return [method for method in self.studies.methods if method != self.studies.baseline]

    def facet(self, method: str, row: str, column: str, key: str) -> Summary | None:
        """A facet of a method at a pair of values; None where there is no such study or method."""
        card = self.cards.get((row, column))
        record = None if card is None else card.methods.get(method)
        return None if record is None else record.deciding(key)


def swept_grid(members: Members[RigidityCard]) -> SweptGrid:
    """The grid of the studies that are finished."""
    first, second = members.keys
    shown = {name: card.baseline_first() for name, card in members.cards.items()}
    pairs = {name: members.values[name] for name in shown}
    labels = {name: (value_label(one), value_label(other)) for name, (one, other) in pairs.items()}
    points = tuple(Point(pairs[name], ", ".join(labels[name]), card, name) for name, card in shown.items())
    return SweptGrid(
        keys=(first, second),
        rows=_ordered([pair[0] for pair in pairs.values()]),
        columns=_ordered([pair[1] for pair in pairs.values()]),
        cards={labels[name]: card for name, card in shown.items()},
        studies=SweptStudies(f"{first}, {second}", points),
    )


def _ordered(values: Sequence[Any]) -> tuple[str, ...]:
    """The values as they are written, once each: numbers by size, anything else as it was given.

    >>> _ordered([4, 10, 4]), _ordered(["top-left", "centre"])
    (('4', '10'), ('top-left', 'centre'))
    """
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return tuple(dict.fromkeys(map(value_label, sorted(values) if numeric else values)))


def grid_page(members: Members[RigidityCard]) -> FamilyPage:
    """The page of a two-way sweep: heat maps, one table, a link to the report of every pair."""
    from einstellung.diagnoses.rigidity.figures.grid import draw_grid  # matplotlib takes most of a second to import
    from einstellung.report.figures.plan import Plan

    grid = swept_grid(members)
    against = " and ".join(grid.keys)
    return FamilyPage(
        name=SWEEP,
        title=f"The index against {against}",
        kicker="Einstellung Rigidity Index, two-way sweep",
        answer=[grid_answer(grid)],
        data={**sweep_record(grid.studies), "keys": list(grid.keys)},
        tables={"sweep": sweep_table(grid.studies)},
        printed="sweep",
        figures=[
            Plan(
                "sweep",
                f"The facets against {against}",
                _caption(grid),
                lambda: draw_grid(grid),
                None if grid.methods else "no method to compare with the baseline",
            )
        ],
        warnings=[f"{name} has no finished run yet" for name in members.waiting],
    )


def grid_answer(grid: SweptGrid) -> str:
    """Where each method relies on the cue most and least, relative to the baseline, and which verdicts are conclusive."""
    first, second = grid.keys
    parts = []
    for method in grid.methods:
        means = {
            (row, column): found.mean
            for row in grid.rows
            for column in grid.columns
            if (found := grid.facet(method, row, column, "SFR_rel")) is not None and found.mean is not None
        }
        if len(means) > 1:
            low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
            parts.append(
                f"{method}: SFR_rel is highest at {first} = {high[0]}, {second} = {high[1]} ({write('SFR_rel', means[high])}), "
                f"lowest at {low[0]}, {low[1]} ({write('SFR_rel', means[low])})."
            )
    count = f"{join(grid.studies.methods)} at {len(grid.cards)} pairs of {first} and {second}"
    return " ".join([f"{count}, each with its own baseline.", *parts, certain_verdicts(grid.studies)])


def _caption(grid: SweptGrid) -> str:
    return (
        f"SFR_rel, PD and AD of every method at every pair of {grid.keys[0]} (rows) and {grid.keys[1]} (columns), "
        f"relative to {grid.studies.baseline} trained with the same values; mean over seeds; "
        f"{describe_card_seeds(grid.studies.points[0].card)}. Each facet uses one scale for all methods. Bold: the 95 % "
        "interval over seeds excludes 0. Hatched: undefined or not run."
    )
