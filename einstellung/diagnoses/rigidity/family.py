"""A sweep: the same study at several values of one setting, as plain numbers and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from einstellung.errors import InputError
from einstellung.report.notation import FACETS, baseline_first, certainty_beside, deciding, mean_sd
from einstellung.report.tables import Cell, Table
from einstellung.report.undefined import why_undefined
from einstellung.results.sweep import folder_name

SWEPT = ("AD", "PD", "SFR_rel", "delta")
_KEPT = ("n_seeds", *SWEPT, "delta_S", "pattern", "certainty", "high_rigidity")


@dataclass(frozen=True)
class Point:
    """One value of the setting, how it is written, and the scorecard of its study."""

    value: Any
    label: str
    card: Mapping[str, Any]


@dataclass(frozen=True)
class Sweep:
    """The points of a sweep, by rising value where the values are numbers, else in the order in which they were given."""

    key: str
    points: tuple[Point, ...]

    @classmethod
    def of(cls, key: str, points: Sequence[tuple[Any, Mapping[str, Any]]]) -> Sweep:
        if not points:
            raise InputError(f"a sweep over {key} needs at least one value")
        made = [Point(value, value_label(value), baseline_first(card)) for value, card in points]
        labels = [point.label for point in made]
        if twice := [label for label in labels if labels.count(label) > 1]:
            raise InputError(f"the sweep over {key} holds the value {twice[0]} twice; name every value once")
        sweep = cls(key, tuple(made))
        return cls(key, tuple(sorted(made, key=lambda point: point.value))) if sweep.is_numeric else sweep

    @property
    def is_numeric(self) -> bool:
        return all(isinstance(point.value, (int, float)) and not isinstance(point.value, bool) for point in self.points)

    @property
    def baseline(self) -> str:
        baseline: str = self.points[0].card["baseline"]
        return baseline

    @property
    def methods(self) -> list[str]:
        """Every method of any point, the baseline first."""
        return list(dict.fromkeys(method for point in self.points for method in point.card["methods"]))

    def folder_of(self, point: Point) -> str:
        return folder_name(self.key, point.value)


def value_label(value: Any) -> str:
    """A swept value as it is written on an axis and in a table.

    >>> value_label(4), value_label(0.5), value_label("top-left"), value_label([255, 0, 255]), value_label(None)
    ('4', '0.5', 'top-left', '255,0,255', 'null')
    """
    if isinstance(value, (list, tuple)):
        return ",".join(value_label(part) for part in value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def sweep_record(sweep: Sweep) -> dict[str, Any]:
    """The facets of every method at every value, as plain values for JSON."""
    return {
        "key": sweep.key,
        "points": [
            {
                "value": list(point.value) if isinstance(point.value, tuple) else point.value,
                "report": f"{sweep.folder_of(point)}/report.html",
                "baseline": point.card["baseline"],
                "tau": point.card["tau"],
                "final": point.card["final"],
                "methods": {
                    method: {key: record[key] for key in _KEPT} for method, record in point.card["methods"].items()
                },
                "failed_checks": [check for check in point.card["checks"] if check["passed"] is False],
                "warnings": list(point.card["warnings"]),
            }
            for point in sweep.points
        ],
    }


def sweep_table(sweep: Sweep) -> Table:
    """One row per value and method: the facets, the pattern and how sure it is."""
    rows, values = [], []
    for point in sweep.points:
        for method, record in point.card["methods"].items():
            estimates = {key: deciding(record, key) for key in SWEPT}
            cells = [
                Cell(
                    mean_sd(key, estimate),
                    why_undefined(point.card, method, key) if estimate["mean"] is None else None,
                )
                for key, estimate in estimates.items()
            ]
            pattern = record["pattern"] or ("baseline" if method == point.card["baseline"] else "–")
            certainty = certainty_beside(record) or ""
            rows.append((Cell(point.label), Cell(method), *cells, Cell(pattern), Cell(certainty)))
            numbers: dict[str, Any] = {"value": point.label, "method": method, "n_seeds": record["n_seeds"]}
            for key, estimate in estimates.items():
                low, high = estimate.get("ci95") or (None, None)
                parts = {"mean": estimate["mean"], "sd": estimate["sd"], "low95": low, "high95": high}
                numbers |= {f"{key}_{part}": value for part, value in {**parts, "n": estimate["n"]}.items()}
            values.append({**numbers, "pattern": record["pattern"], "certainty": record["certainty"]})
    return Table(
        f"The index against {sweep.key}",
        "Mean ± standard deviation over seeds; AD, PD and SFR_rel against the baseline trained with the same value.",
        (sweep.key, "method", *(FACETS[key].head for key in SWEPT), "pattern", "certainty"),
        tuple(rows),
        tuple(values),
    )
