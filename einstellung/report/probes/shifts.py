"""The table of gaps on variants of ImageNet: a row per model and data set, and the mean over models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from einstellung.report.notation import number
from einstellung.report.tables import Cell, Table

_FACTS = ("classes", "acc", "n", "left_out", "reference_acc", "reference_n", "reference_left_out", "gap")
HEADS = {"in9": "IN-9 Gap", "stylized": "SIN Gap", "imagenet_r": "IN-R Gap"}


def shift_table(records: Sequence[Mapping[str, Any]], mean: Mapping[str, Any] | None) -> Table:
    """Per cent, with the accuracies behind every gap."""
    rows, values = [], []
    for record in records:
        for name, own in record["gaps"].items():
            bounds = "" if own["interval"] is None else " [{}, {}]".format(*map(_points, own["interval"]))
            accuracies = (
                _share(own["acc"], own["n"], own["left_out"]),
                _share(own["reference_acc"], own["reference_n"], own["reference_left_out"]),
            )
            words = (record["model"], HEADS[name], str(own["classes"]), *accuracies)
            rows.append((*map(Cell, words), Cell(f"{_points(own['gap'])}{bounds}")))
            low, high = own["interval"] or (None, None)
            facts = {key: own[key] for key in _FACTS}
            values.append({"model": record["model"], "shift": name, **facts, "low95": low, "high95": high})
    for name, gap in ({} if mean is None else mean["gaps"]).items():
        rows.append(tuple(map(Cell, ("average", HEADS[name], "", "", "", _points(gap)))))
        values.append(dict.fromkeys(values[0]) | {"model": "average", "shift": name, "gap": gap})
    return Table(
        "Other shifts of ImageNet",
        "Per cent, 95 % bootstrap interval over images; gap: shifted − reference (Mixed-Rand − Mixed-Same, Stylized − "
        "plain, ImageNet-R − plain pictures of its classes). Only classes present on both sides are included; images "
        "of other classes are left out.",
        ("model", "gap of", "classes", "shifted", "reference", "gap"),
        tuple(rows),
        tuple(values),
        words=2,
    )


def _points(value: float) -> str:
    return number(100 * value, digits=1, signed=True)


def _share(value: float, n: int, left_out: int) -> str:
    others = f"; {left_out:,} left out" if left_out else ""
    return f"{number(100 * value, digits=1)} (n = {n:,}{others})"
