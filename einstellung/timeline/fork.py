"""Import the public fork's ``timeline_*.csv``: method, seed, epoch_eff, split, acc and, in newer files, top5 and loss.

Three things differ from our layout. ``epoch_eff`` is 0 *after* the first epoch, so 1 is added. The case of method names
varies, so they are lower-cased. The phase is missing: a continual method has two rows per split and epoch, phase 1 then phase 2
in file order; a model trained on phase 2 alone has one. A file whose rows leave the phase ambiguous is refused.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from einstellung.errors import InputError
from einstellung.timeline.schema import (
    IntArray,
    Origin,
    number_column,
    require_columns,
    text_column,
    whole_numbers,
)

FORK_COLUMNS = ("method", "seed", "epoch_eff", "split", "acc")


def is_fork_layout(columns: list[str]) -> bool:
    """Whether the columns, in any case, are the fork's: ``epoch_eff`` instead of ``epoch`` and ``phase``.

    >>> is_fork_layout(["method", "seed", "epoch_eff", "split", "acc"])
    True
    """
    names = {column.lower() for column in columns}
    return "epoch_eff" in names and "epoch" not in names and "phase" not in names


def from_fork(frame: pd.DataFrame, origin: Origin) -> pd.DataFrame:
    """The same rows in our layout, with the phase inferred.

    >>> rows = pd.DataFrame({"method": "SGD", "seed": 1, "epoch_eff": [0, 1, 0, 1], "split": "T1_all", "acc": 0.5})
    >>> from_fork(rows, Origin.unknown(4))[["method", "phase", "epoch"]].values.tolist()
    [['sgd', 'T1', 1], ['sgd', 'T1', 2], ['sgd', 'T2', 1], ['sgd', 'T2', 2]]
    """
    require_columns(frame, FORK_COLUMNS, origin.files[0] or origin.name)
    method = np.array([name.lower() for name in text_column(frame, "method", origin)], dtype=object)
    epoch = whole_numbers(number_column(frame, "epoch_eff", origin), "epoch_eff", origin)
    if (epoch < 0).any():
        row = int(np.argmax(epoch < 0))
        raise InputError(f"{origin.at(row)}, column 'epoch_eff': {epoch[row]} is below 0")
    # grouped by file: the same run in two files is not two phases of one log
    group = origin.file_of_row
    for values in (method, frame["seed"], text_column(frame, "split", origin)):
        codes, found = pd.factorize(values)
        group = group * (len(found) + 1) + codes + 1  # an empty cell has the code -1; the schema refuses it later
    ours = frame.drop(columns="epoch_eff")
    ours["method"] = method
    ours["phase"] = np.where(_second_phase(group, epoch, origin), "T2", "T1")
    ours["epoch"] = epoch + 1
    return ours


def _second_phase(group: IntArray, epoch: IntArray, origin: Origin) -> npt.NDArray[np.bool_]:
    """True where a row belongs to phase 2, per curve (one method, seed and split) in file order.

    A curve with every epoch once is phase 2 alone, in any order. A curve with every epoch twice is both phases, the first row
    of each pair being phase 1. Phases of unequal length are separated only if the file shows two passes, each rising from the
    curve's lowest epoch.
    """
    order = np.argsort(group, kind="stable")
    sorted_group, sorted_epoch = group[order], epoch[order]
    starts = np.r_[True, sorted_group[1:] != sorted_group[:-1]]
    curve = np.cumsum(starts) - 1

    moments = pd.DataFrame({"curve": curve, "epoch": sorted_epoch}).groupby(["curve", "epoch"], sort=False)
    occurrence = moments.cumcount().to_numpy()
    copies = moments["epoch"].transform("size").to_numpy()
    if (copies > 2).any():
        third = int(np.argmax(occurrence == 2))
        same = (curve == curve[third]) & (sorted_epoch == sorted_epoch[third])
        first, *others = (int(row) for row in order[same])
        rows = "; ".join([origin.at(first), *(origin.and_at(row, first) for row in others)])
        raise InputError(f"more than two rows for one split and epoch_eff {sorted_epoch[third]}: {rows}")

    once = _none_of(copies == 2, curve)
    always_twice = _none_of(copies == 1, curve)
    lowest = np.minimum.reduceat(sorted_epoch, np.flatnonzero(starts))[curve]
    restarts = ~starts & np.r_[False, sorted_epoch[1:] <= sorted_epoch[:-1]]
    elsewhere = (starts | restarts) & (sorted_epoch != lowest)
    two_passes = (np.bincount(curve, weights=restarts)[curve] == 1) & _none_of(elsewhere, curve)

    unclear = ~once & ~always_twice & ~two_passes
    if unclear.any():
        raise InputError(_describe_ambiguity(order, curve, sorted_epoch, copies, int(np.argmax(unclear)), origin))
    restarted = np.cumsum(restarts) - np.cumsum(restarts)[starts][curve] > 0
    result = np.empty(len(group), dtype=bool)
    result[order] = once | np.where(always_twice, occurrence == 1, restarted)
    return result


def _none_of(rows: npt.NDArray[np.bool_], curve: IntArray) -> npt.NDArray[np.bool_]:
    """Per row: whether no row of its curve is marked."""
    none: npt.NDArray[np.bool_] = np.bincount(curve, weights=rows)[curve] == 0
    return none


def _describe_ambiguity(
    order: IntArray, curve: IntArray, epoch: IntArray, copies: IntArray, unclear: int, origin: Origin
) -> str:
    own = curve == curve[unclear]
    single = int(np.argmax(own & (copies == 1)))
    first = int(np.argmax(own & (copies == 2)))
    second = int(np.flatnonzero(own & (epoch == epoch[first]))[1])
    return (
        f"{origin.at(int(order[second]))}: epoch_eff {epoch[first]} appears again (first: "
        f"{origin.and_at(int(order[first]), int(order[second]))}) while epoch_eff {epoch[single]} of the same curve "
        f"appears once ({origin.and_at(int(order[single]), int(order[second]))}), so the phases are ambiguous; sort the "
        "rows by phase, or add the columns phase and epoch"
    )
