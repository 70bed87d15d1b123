"""Single logged values as a wide table: a row per run and step, a column per metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from einstellung.errors import InputError
from einstellung.timeline.importing.content import require_few_columns

EVENT = ("run", "metric", "step", "time", "value")


def wide_table(events: Sequence[tuple[str, str, int, float, Any]], name: str) -> pd.DataFrame:
    """Events (run, metric, step, time, value) as a wide table, in the order of the runs.

    Where a metric has two values at one step, as after rounding, the time tells the rows apart.

    >>> found = wide_table([("a", "acc", 1, 0.1, 0.5), ("a", "loss", 1, 0.2, 2.0), ("a", "acc", 2, 0.3, 0.7)], "log")
    >>> found.columns.tolist(), found[["step", "acc"]].values.tolist()
    (['run', 'step', 'acc', 'loss'], [[1.0, 0.5], [2.0, 0.7]])
    """
    frame = pd.DataFrame(list(events), columns=list(EVENT)).drop_duplicates()
    metrics = list(dict.fromkeys(frame["metric"]))
    require_few_columns(name, len(metrics))
    twice = frame.duplicated(["run", "metric", "step"], keep=False)
    crowded = pd.MultiIndex.from_frame(frame[["run", "step"]]).isin(
        pd.MultiIndex.from_frame(frame.loc[twice, ["run", "step"]])
    )
    frame["time"] = frame["time"].where(crowded, 0.0)
    again = frame.duplicated(["run", "metric", "step", "time"])
    if again.any():
        first = frame[again].iloc[0]
        raise InputError(f"{name}: run '{first['run']}' has two values of '{first['metric']}' at step {first['step']}")
    frame["order"] = pd.factorize(frame["run"])[0]
    keys = ["order", "run", "step", "time"]
    table = frame.set_index([*keys, "metric"])["value"].unstack("metric").sort_index().reset_index()
    reserved = {"run", "step"} & set(metrics)
    if reserved:
        raise InputError(f"{name}: a metric is named '{reserved.pop()}'; rename it")
    return table.drop(columns=["order", "time"])[["run", "step", *metrics]].rename_axis(columns=None)
