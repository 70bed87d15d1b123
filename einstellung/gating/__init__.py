"""The gate for model updates: did reliance on a cue rise, did right answers turn wrong? Reads predictions, knows no torch."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Union

from einstellung.gating.result import GateResult

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["GateResult", "gate"]

Source = Union[str, "PathLike[str]", "pd.DataFrame"]


def gate(
    before: Source,
    after: Source,
    baseline: Source | None = None,
    max_delta: float = 0.02,
    max_flips: float | None = None,
    *,
    method: str | Sequence[str] | None = None,
    seeds: Sequence[int] = (),
) -> GateResult:
    """Compare the predictions of a model before and after an update, example by example.

    ``before``, ``after`` and ``baseline`` (a model trained from scratch): DataFrames, CSV or Parquet files with the columns
    ``id, label, prediction, condition`` (``cue``, ``covered`` or ``clean``) and optionally ``group``, ``probability`` or one
    column a class; or results folders of studies. ``max_delta`` limits the rise of reliance, ``max_flips`` the share of negative
    flips. For results folders: ``method``, one name or (before, after), and ``seeds``.
    """
    from einstellung.gating.score import checked_limits, score
    from einstellung.gating.sources import read_source

    limits = checked_limits(max_delta, max_flips)
    first, second = (method, method) if method is None or isinstance(method, str) else _two(method)
    models = {
        "before": read_source(before, "before", first, seeds),
        "after": read_source(after, "after", second, seeds),
    }
    if baseline is not None:
        models["baseline"] = read_source(baseline, "baseline", None, seeds)
    return score(models, limits)


def _two(method: Sequence[str]) -> tuple[str, str]:
    from einstellung.errors import InputError

    if len(method) not in (1, 2):
        raise InputError(f"--method names {len(method)} methods: give one, or two (before, after)")
    return method[0], method[-1]
