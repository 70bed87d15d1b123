"""A sweep: the same study at several values of one setting, and a page that shows how the index depends on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from einstellung.diagnoses.contract import Members
from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.wording import describe_card_seeds, why_undefined
from einstellung.errors import InputError
from einstellung.prose import join
from einstellung.report.family import SWEEP, FamilyPage
from einstellung.report.notation import DASH, FACETS, mean_sd, write
from einstellung.report.tables import Cell, Table
from einstellung.results.sweep import folder_name

SWEPT = ("AD", "PD", "SFR_rel", "delta")
_KEPT = {"n_seeds", *SWEPT, "delta_S", "pattern", "certainty", "high_rigidity"}


@dataclass(frozen=True)
class Point:
    """One value of the setting, how it is written, the card of its study, and the folder of that."""

    value: Any
    label: str
    card: RigidityCard
    folder: str


@dataclass(frozen=True)
class SweptStudies:
    """The points of a sweep, by rising value where the values are numbers, else in the order in which they were given."""

    key: str
    points: tuple[Point, ...]

    @classmethod
    def of(cls, key: str, points: Sequence[tuple[Any, RigidityCard]]) -> SweptStudies:
        if not points:
            raise InputError(f"a sweep over {key} needs at least one value")
        made = [
            Point(value, value_label(value), card.baseline_first(), folder_name(key, value)) for value, card in points
        ]
        labels = [point.label for point in made]
        if twice := [label for label in labels if labels.count(label) > 1]:
            raise InputError(f"the sweep over {key} lists {twice[0]} twice; list every value once")
        sweep = cls(key, tuple(made))
        return cls(key, tuple(sorted(made, key=lambda point: point.value))) if sweep.is_numeric else sweep

    @property
    def is_numeric(self) -> bool:
        return all(isinstance(point.value, (int, float)) and not isinstance(point.value, bool) for point in self.points)

    @property
    def baseline(self) -> str:
        return self.points[0].card.baseline

    @property
    def methods(self) -> list[str]:
        """Every method of any point, the baseline first."""
        return list(dict.fromkeys(method for point in self.points for method in point.card.methods))


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


def sweep_page(members: Members[RigidityCard]) -> FamilyPage:
    """The page of a sweep: one figure, one table, a link to the report of every value."""
    from einstellung.diagnoses.rigidity.figures.sweep import draw_sweep  # matplotlib takes most of a second to import
    from einstellung.report.figures.plan import Plan

    (key,) = members.keys
    sweep = SweptStudies.of(key, [(members.values[name][0], card) for name, card in members.cards.items()])
    return FamilyPage(
        name=SWEEP,
        title=f"The index against {key}",
        kicker="Einstellung Rigidity Index, sweep",
        answer=[sweep_answer(sweep)],
        data=sweep_record(sweep),
        tables={"sweep": sweep_table(sweep)},
        printed="sweep",
        figures=[Plan("sweep", f"The facets against {key}", _caption(sweep), lambda: draw_sweep(sweep))],
        warnings=[f"{name} has no finished run yet" for name in members.waiting],
    )


def sweep_answer(sweep: SweptStudies) -> str:
    """Δ at the first and the last value, for every method that has both."""
    first, last = sweep.points[0], sweep.points[-1]
    parts = []
    for method in sweep.methods:
        means = [_delta(point, method) for point in (first, last)]
        if len(sweep.points) > 1 and None not in means:
            parts.append(f"{_change(*means)} for {method}")
    values = f"{len(sweep.points)} value{'s' if len(sweep.points) > 1 else ''} of {sweep.key}"
    moved = f" From {first.label} to {last.label}, reliance on the cue (Δ) {join(parts)}." if parts else ""
    own = ", each value with its own baseline" if sweep.baseline in sweep.methods else ""
    return f"{join(sweep.methods)} at {values}{own}.{moved} {certain_verdicts(sweep)}"


def _change(before: float | None, after: float | None) -> str:
    """As written: a change that the digits do not show is none.

    >>> _change(0.4401, 0.4399), _change(-0.004, 0.856)
    ('stays at +0.440', 'rises from −0.004 to +0.856')
    """
    first, last = write("delta", before), write("delta", after)
    if first == last or before is None or after is None:
        return f"stays at {last}"
    return f"{'rises' if after > before else 'falls'} from {first} to {last}"


def certain_verdicts(sweep: SweptStudies) -> str:
    """Which verdicts are conclusive, and at which values."""
    found: dict[str, list[str]] = {}
    for point in sweep.points:
        for method in point.card.compared:
            record = point.card.methods[method]
            if record.certainty == "holds":
                found.setdefault(f"{method} {record.pattern}", []).append(point.label)
    if not found:
        return "No verdict is conclusive."
    return "Conclusive verdicts: " + "; ".join(f"{what} at {join(labels)}" for what, labels in found.items()) + "."


def _delta(point: Point, method: str) -> float | None:
    record = point.card.methods.get(method)
    return None if record is None else record.delta.mean


def _caption(sweep: SweptStudies) -> str:
    words = [
        f"Mean and 95 % interval over seeds at every value of {sweep.key}; {describe_card_seeds(sweep.points[0].card)}.",
        f"AD, PD and SFR_rel are relative to {sweep.baseline} trained with the same value; Δ is absolute.",
        "Open marker: not all seeds are included. Cross below a panel: the facet is undefined, because the threshold "
        "was not reached or for the reason in the table. Arrow: the interval extends beyond the frame.",
        "Grey: within the margin. Methods are offset horizontally to avoid overlap.",
    ]
    return " ".join(words)


def sweep_record(sweep: SweptStudies) -> dict[str, Any]:
    """The facets of every method at every value, as plain values for JSON."""
    return {
        "key": sweep.key,
        "points": [
            {
                "value": list(point.value) if isinstance(point.value, tuple) else point.value,
                "report": f"{point.folder}/report.html",
                "baseline": point.card.baseline,
                "tau": point.card.tau,
                "final": point.card.final,
                "methods": {
                    method: record.model_dump(mode="json", include=_KEPT)
                    for method, record in point.card.methods.items()
                },
                "failed_checks": [check.to_dict() for check in point.card.checks if check.passed is False],
                "warnings": list(point.card.warnings),
            }
            for point in sweep.points
        ],
    }


def sweep_table(sweep: SweptStudies) -> Table:
    """One row per value and method: the facets, the pattern and how sure it is."""
    rows, values = [], []
    for point in sweep.points:
        for method, record in point.card.methods.items():
            estimates = {key: record.deciding(key) for key in SWEPT}
            cells = [
                Cell(mean_sd(key, estimate), why_undefined(point.card, method, key) if estimate.mean is None else None)
                for key, estimate in estimates.items()
            ]
            pattern = record.pattern or ("baseline" if method == point.card.baseline else DASH)
            rows.append((Cell(point.label), Cell(method), *cells, Cell(pattern), Cell(record.shown_certainty or "")))
            numbers: dict[str, Any] = {"value": point.label, "method": method, "n_seeds": record.n_seeds}
            for key, estimate in estimates.items():
                low, high = estimate.ci95 or (None, None)
                parts = {"mean": estimate.mean, "sd": estimate.sd, "low95": low, "high95": high, "n": estimate.n}
                numbers |= {f"{key}_{part}": value for part, value in parts.items()}
            values.append({**numbers, "pattern": record.pattern, "certainty": record.certainty})
    return Table(
        f"The index against {sweep.key}",
        "Mean ± standard deviation over seeds; AD, PD and SFR_rel relative to the baseline trained with the same value.",
        (sweep.key, "method", *(FACETS[key].head for key in SWEPT), "pattern", "certainty"),
        tuple(rows),
        tuple(values),
    )
