"""Live logs of a run: a table of its measurements, and TensorBoard events."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from einstellung.errors import InputError
from einstellung.files import write_text


class RunLog:
    """Writes every measurement. A resumed run rewrites the log from the rows in its checkpoint."""

    def __init__(self, folder: Path, kinds: Sequence[str]) -> None:
        self.folder = folder
        self.kinds = kinds
        self._started = time.monotonic()
        self._rows: list[dict[str, Any]] = []
        self._board: Any = None

    def start(self, past: Iterable[dict[str, Any]] = ()) -> None:
        """Begin with the rows of a resumed run."""
        if "tensorboard" in self.kinds:
            place = self.folder / "tensorboard"
            shutil.rmtree(place, ignore_errors=True)
            self._board = require_tensorboard()(str(place))
        self.add([*past], None)

    def add(self, rows: Sequence[dict[str, Any]], lr: float | None) -> None:
        """New measurements, and the learning rate they were made at."""
        if not self.kinds or not rows:
            return
        seconds = round(time.monotonic() - self._started, 1)
        self._rows += [{**row, "lr": lr, "seconds": seconds} for row in rows]
        if "csv" in self.kinds:
            write_text(self.folder / "log.csv", pd.DataFrame(self._rows).to_csv(index=False, lineterminator="\n"))
        if self._board is not None:
            for row in rows:
                self._write_events(row, lr)
            self._board.flush()

    def close(self) -> None:
        if self._board is not None:
            self._board.close()

    def _write_events(self, row: dict[str, Any], lr: float | None) -> None:
        # TensorBoard's steps are integers: thousandths of an effective epoch.
        step = round(1000 * row["epoch"])
        for measure in ("acc", "loss"):
            self._board.add_scalar(f"{row['phase']}/{measure}/{row['split']}", row[measure], step)
        if lr is not None:
            self._board.add_scalar(f"{row['phase']}/lr", lr, step)


def require_tensorboard() -> Any:
    """TensorBoard's writer, or one line on how to get it."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError("logging: tensorboard is not installed; pip install 'einstellung[tensorboard]'") from None
    return SummaryWriter
