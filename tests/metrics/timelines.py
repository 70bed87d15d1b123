"""Small timelines for the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from einstellung.timeline import NSC, SC_MASK, SC_PATCH, Timeline

Rows = list[dict[str, Any]]


def rows(
    method: str, seed: int, phase: str, split: str, acc: Mapping[float, Any] | Sequence[Any], n: Any = 500
) -> Rows:
    """One curve; a sequence is measured after epochs 1, 2, ..."""
    points = acc if isinstance(acc, Mapping) else dict(enumerate(acc, start=1))
    base = {"method": method, "seed": seed, "phase": phase, "split": split, "loss": None, "n": n}
    return [{**base, "epoch": float(epoch), "acc": value} for epoch, value in points.items()]


def run(method: str, seed: int, patched: Any, masked: Any, nsc: Any = None, **other: Any) -> Rows:
    """A T2 run; further splits by name."""
    table = rows(method, seed, "T2", SC_PATCH, patched) + rows(method, seed, "T2", SC_MASK, masked)
    if nsc is not None:
        table += rows(method, seed, "T2", NSC, nsc)
    for split, acc in other.items():
        table += rows(method, seed, "T2", split, acc)
    return table


def timeline(*parts: Rows) -> Timeline:
    return Timeline(pd.DataFrame([row for part in parts for row in part]).astype({"acc": float}))
