"""Print every measurement as a line during training, read from the table that each run keeps (``logging: [csv]``)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from einstellung.experiments.plan import Job
from einstellung.experiments.progress import PlainLines


class MeasurementLines(PlainLines):
    """The plain progress lines of a study, interleaved with new measurements."""

    def __init__(self, folder: Path, jobs: Sequence[Job]) -> None:
        super().__init__(jobs)
        self.folder = folder
        self._shown: dict[str, int] = {}

    def advanced(self, job: Job, work: float, where: str) -> None:
        self._show(job)
        super().advanced(job, work, where)

    def ended(self, job: Job, failure: str | None) -> None:
        self._show(job)
        super().ended(job, failure)

    def _show(self, job: Job) -> None:
        file = self.folder / job.folder / "log.csv"
        if not file.exists():
            return
        table = pd.read_csv(file)
        for row in table.iloc[self._shown.get(job.folder, 0) :].itertuples():
            words = f"{row.phase} epoch {row.epoch:g}: {row.split} acc {row.acc:.4f}, loss {row.loss:.4f}, n {row.n}"
            print(f"       {job.label}: {words}", file=sys.stderr, flush=True)
        self._shown[job.folder] = len(table)
