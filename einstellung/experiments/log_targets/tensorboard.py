"""TensorBoard events in ``tensorboard/`` of the run's folder (extra ``tensorboard``)."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from typing import Any

from einstellung.errors import InputError
from einstellung.experiments.log_targets.contract import LogTarget, Row, moments, step_of
from einstellung.folders import make_folder


class TensorBoardLog(LogTarget):
    """A scalar per metric. TensorBoard stores single precision; the epoch is stored in double."""

    @classmethod
    def require(cls) -> None:
        _writer()

    def start(self) -> None:
        place = self.run.folder / "tensorboard"
        shutil.rmtree(place, ignore_errors=True)
        make_folder(place)
        self._board = _writer()(str(place))
        self._time = 0.0

    def add(self, rows: Sequence[Row], lr: float | None, seconds: float) -> None:
        for _, epoch, metrics in moments(rows, lr):
            # one time for a moment, another for the next: it tells moments apart that share a rounded step
            self._time = max(time.time(), self._time + 1e-3)
            for name, value in metrics.items():
                exact = {"new_style": True, "double_precision": True} if name.endswith("/epoch") else {}
                self._board.add_scalar(name, value, step_of(epoch), walltime=self._time, **exact)
        self._board.flush()

    def close(self) -> None:
        self._board.close()


def _writer() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError("logging: tensorboard is not installed; pip install 'einstellung[tensorboard]'") from None
    return SummaryWriter
