"""``log.csv`` in the run's folder: the timeline so far, with the learning rate and the time."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from einstellung.experiments.log_targets.contract import LogTarget, Row
from einstellung.files import write_text


class CsvLog(LogTarget):
    """Rewritten after every measurement, so that it is always whole."""

    def start(self) -> None:
        self._rows: list[Row] = []

    def add(self, rows: Sequence[Row], lr: float | None, seconds: float) -> None:
        self._rows += [{**row, "lr": lr, "seconds": seconds} for row in rows]
        write_text(self.run.folder / "log.csv", pd.DataFrame(self._rows).to_csv(index=False, lineterminator="\n"))

    def close(self) -> None:
        return
