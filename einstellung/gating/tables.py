"""The gate's tables: the comparison of both models, groups and classes, seeds."""

from __future__ import annotations

from typing import Any

from einstellung.gating.result import GateResult, Interval, Slices, Verdict
from einstellung.gating.verdict import DEPLOYED, FLIPS, RELIANCE, bracket
from einstellung.report.notation import DASH, number
from einstellung.report.tables import Cell, Table

TONES: dict[Verdict, str] = {"pass": "good", "fail": "bad", "inconclusive": "warning"}
WORST_SHOWN = 10
KINDS = {"group": "group", "label": "class"}
HEAD = ("quantity", "before", "after", "change", "95 % interval", "p", "n", "limit", "verdict")


def comparison(result: GateResult) -> Table:
    """Reliance, flips, accuracy, worst group and class, calibration."""
    rows = [
        _row(
            "reliance Δ",
            (result.delta_before, result.delta_after),
            result.rise,
            result.ci95,
            result.n,
            p=result.p,
            limit=result.limits.max_delta,
            verdict=result.checks[RELIANCE],
            signed=True,
        )
    ]
    if (relative := result.baseline) is not None:
        for name, value, ci95 in (
            ("SFR_rel before", relative.sfr_rel_before, relative.sfr_rel_before_ci95),
            ("SFR_rel after", relative.sfr_rel_after, relative.sfr_rel_after_ci95),
        ):
            levels = (value, None) if name.endswith("before") else (None, value)
            rows.append(_row(name, levels, None, ci95, result.n, signed=True))
    rows += [
        _row(f"accuracy, {name}", (accuracy.before, accuracy.after), accuracy.change, accuracy.ci95, accuracy.n)
        for name, accuracy in result.accuracy.items()
    ]
    for name, share in result.flips.items():
        limited = name == DEPLOYED
        rows.append(
            _row(
                f"flips, {name}",
                (None, None),
                share.negative,
                share.ci95,
                share.n,
                limit=result.limits.max_flips if limited else None,
                verdict=result.checks.get(FLIPS) if limited else None,
                signed_change=False,
            )
        )
    for kind, slices in result.groups.items():
        if slices.rows and len(slices.rows) > 1:
            worst = slices.rows[0]
            rows.append(
                _row(
                    f"worst {KINDS[kind]}: {worst.name}",
                    (worst.delta_before, worst.delta_after),
                    worst.rise,
                    worst.ci95,
                    worst.n,
                    p=worst.p_holm,
                    signed=True,
                )
            )
    for name, calibration in result.calibration.items():
        ece = (calibration.ece_before, calibration.ece_after)
        brier = (calibration.brier_before, calibration.brier_after)
        rows.append(_row(f"ECE, {name}", ece, ece[1] - ece[0], None, calibration.n))
        rows.append(_row(f"Brier, {name}", brier, brier[1] - brier[0], calibration.brier_ci95, calibration.n))
    note = (
        "Δ: accuracy with the cue minus accuracy on the same examples with the cue covered. Intervals are paired by example. "
        "Flips: share that was right before and is wrong after; deployed: every example once, with its cue if it has one, "
        "otherwise clean."
    )
    if any(len(slices.rows) > 1 for slices in result.groups.values()):
        note += " Worst group and class: reliance Δ with a simultaneous interval and Holm-adjusted p."
    return Table(
        "Before and after the update", note, HEAD, tuple(row[0] for row in rows), tuple(row[1] for row in rows)
    )


def _row(
    name: str,
    levels: tuple[float | None, float | None],
    change: float | None,
    ci95: Interval | None,
    n: int,
    *,
    p: float | None = None,
    limit: float | None = None,
    verdict: Verdict | None = None,
    signed: bool = False,
    signed_change: bool = True,
) -> tuple[tuple[Cell, ...], dict[str, Any]]:
    before, after = levels
    if ci95 is None:
        interval = DASH
    elif signed_change:
        interval = bracket(ci95)
    else:
        interval = f"[{number(ci95[0])}, {number(ci95[1])}]"
    cells = (
        Cell(name),
        Cell(number(before, signed=signed)),
        Cell(number(after, signed=signed)),
        Cell(number(change, signed=signed_change)),
        Cell(interval),
        Cell(p_text(p)),
        Cell(f"{n:,}"),
        Cell(DASH if limit is None else f"{limit:g}"),
        Cell(verdict or "", tone=TONES[verdict] if verdict else None),
    )
    low, high = ci95 if ci95 is not None else (None, None)
    values = {
        "quantity": name,
        "before": before,
        "after": after,
        "change": change,
        "low": low,
        "high": high,
        "p": p,
        "n": n,
        "limit": limit,
        "verdict": verdict,
    }
    return cells, values


def p_text(p: float | None) -> str:
    """A p value as people write it.

    >>> p_text(0.0349), p_text(1e-9), p_text(None)
    ('0.035', '<0.001', '–')
    """
    if p is None:
        return DASH
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def slice_table(kind: str, slices: Slices, shown: int | None = None) -> Table:
    """Groups or classes, highest rise first; the first ``shown`` of them."""
    kept = slices.rows[:shown]
    rows = tuple(
        (
            Cell(one.name),
            Cell(f"{one.n:,}"),
            Cell(number(one.accuracy_before)),
            Cell(number(one.accuracy_after)),
            Cell(number(one.negative_flips)),
            Cell(number(one.delta_before, signed=True)),
            Cell(number(one.delta_after, signed=True)),
            Cell(number(one.rise, signed=True)),
            Cell(bracket(one.ci95)),
            Cell(p_text(one.p_holm)),
        )
        for one in kept
    )
    note = (
        f"Accuracy and flips with the cue. Intervals hold for all {len(slices.rows)} rows together with 95 % (Bonferroni); "
        "p values are Holm-adjusted."
    )
    if len(kept) < len(slices.rows):
        note += f" The {len(kept)} with the highest rise of {len(slices.rows)}."
    if slices.left_out:
        note += f" {slices.left_out} with fewer than {slices.fewest} examples left out."
    head = (KINDS[kind], "n", "acc. before", "acc. after", "neg. flips", "Δ before", "Δ after", "rise", "interval", "p")
    return Table(f"Reliance by {KINDS[kind]}", note, head, rows, tuple(one.model_dump() for one in kept))


def seed_table(result: GateResult) -> Table:
    """One row a pair of models."""
    rows = tuple(
        (
            Cell(one.seed),
            Cell(number(one.delta_before, signed=True)),
            Cell(number(one.delta_after, signed=True)),
            Cell(number(one.rise, signed=True)),
        )
        for one in result.seeds
    )
    note = "Models of the same seed are paired; the gate judges their mean."
    values = tuple(one.model_dump() for one in result.seeds)
    return Table("Reliance by seed", note, ("seed", "Δ before", "Δ after", "rise"), rows, values)


def detail_tables(result: GateResult, shown: int | None = None) -> dict[str, Table]:
    """Everything besides the comparison, by name."""
    found = {kind: slice_table(kind, slices, shown) for kind, slices in result.groups.items() if len(slices.rows) > 1}
    return found | ({"seeds": seed_table(result)} if result.seeds else {})
