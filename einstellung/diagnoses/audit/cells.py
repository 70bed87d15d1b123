"""Cells and plain values that the tables of an audit share."""

from __future__ import annotations

from typing import Any

from einstellung.report.notation import DASH, number
from einstellung.report.tables import Cell
from einstellung.results.audit_files import Box, Interval

PROXY_NOTE = (
    "Every Δ is a proxy: accuracy on images of the class minus accuracy with the named mask, at the stated area."
)


def control_cell(value: float | None, beaten: bool) -> Cell:
    """The delta of a control, marked where the effect does not beat it."""
    if value is None:
        return Cell(DASH, "not measured")
    return Cell(number(value, signed=True), tone=None if beaten else "warning")


def plain_box(box: Box | None) -> str:
    return DASH if box is None else ", ".join(map(str, box))


def interval(bounds: Interval) -> str:
    return DASH if bounds is None else f"[{number(bounds[0], signed=True)}, {number(bounds[1], signed=True)}]"


def flat(row: Any) -> dict[str, Any]:
    """A record as plain columns."""
    values = split_interval(row.model_dump(mode="json", by_alias=True))
    return values | ({"box": plain_box(row.box) if row.box else None} if "box" in values else {})


def split_interval(values: dict[str, Any]) -> dict[str, Any]:
    """Intervals as two columns each."""
    for name in [key for key in values if key.endswith("ci95")]:
        values[f"{name}_low"], values[f"{name}_high"] = values.pop(name) or (None, None)
    return values
