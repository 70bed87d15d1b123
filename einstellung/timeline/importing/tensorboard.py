"""TensorBoard event files (extra ``tensorboard``)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from einstellung.errors import InputError
from einstellung.timeline.importing.content import require_regular_file
from einstellung.timeline.importing.events import wide_table
from einstellung.timeline.importing.runs import names_above
from einstellung.timeline.importing.table import RawTable
from einstellung.timeline.schema import Origin


def read_tensorboard(files: Sequence[Path]) -> RawTable:
    """The scalars of event files; the files of one folder are one run, and the tag is the metric."""
    folders = list(dict.fromkeys(file.parent for file in files))
    events, rows = [], 0
    for file in files:
        found = list(_scalars(file))
        rows += len(found)
        events += [(str(file.parent), tag, step, time, value) for tag, step, time, value in found]
    where = files[0].parent if len(folders) == 1 else f"{files[0].parent} and {len(folders) - 1} more"
    if not events:
        raise InputError(f"{where}: the event files hold no scalars")
    frame = wide_table(events, str(where))
    of_row = np.array([[str(folder) for folder in folders].index(run) for run in frame["run"]])
    origin = Origin(tuple(map(str, folders)), of_row, frame["step"].to_numpy(dtype=np.int64), ("step",) * len(folders))
    names = tuple(names_above(folder / "events") for folder in folders)
    return RawTable(frame.drop(columns="run"), origin, "TensorBoard", True, names)


def _scalars(file: Path) -> Iterator[tuple[str, int, float, float]]:
    try:
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
        from tensorboard.util import tensor_util
    except ImportError:
        raise InputError(
            f"{file}: reading event files needs tensorboard; pip install 'einstellung[tensorboard]'"
        ) from None
    from google.protobuf.message import DecodeError

    require_regular_file(file)
    logging.getLogger("tensorboard").setLevel(logging.ERROR)  # a truncated last record is usual in a live run
    try:
        for event in EventFileLoader(str(file)).Load():
            for value in event.summary.value:
                if value.metadata.plugin_data.plugin_name == "scalars" and value.HasField("tensor"):
                    number = tensor_util.make_ndarray(value.tensor)
                    if number.size == 1:
                        yield value.tag, int(event.step), float(event.wall_time), _shortest(number.reshape(())[()])
    except InputError:
        raise
    except (OSError, ValueError, TypeError, MemoryError, DecodeError) as error:
        raise InputError(f"{file} is not a TensorBoard event file: {error}") from None


def _shortest(value: np.generic) -> float:
    """The shortest decimal that the stored number is nearest to: 0.1 as a single is 0.1, not 0.10000000149.

    >>> _shortest(np.float32(0.1)), _shortest(np.float64(1 / 3)) == 1 / 3
    (0.1, True)
    """
    return float(str(value))
