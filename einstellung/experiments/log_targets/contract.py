"""The contract of a log target, and the names that metrics have in all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

from einstellung.timeline.importing.options import MEASURES

Row = dict[str, Any]


@dataclass(frozen=True)
class LoggedRun:
    """What is logged: ``folder`` is the run's own, ``results`` that of its study.

    ``shared``: the run is a first phase that several runs go on from; each of them logs its rows too.
    """

    folder: Path
    results: Path | None = None
    study: str = "study"
    method: str = ""
    seed: int = 0
    shared: bool = False

    @property
    def name(self) -> str:
        return self.folder.name


class LogTarget(ABC):
    """Logs a run's measurements. It must not change training: no global random numbers, no hooks, no network."""

    logs_shared_phases: ClassVar[bool] = True

    def __init__(self, run: LoggedRun) -> None:
        self.run = run

    @classmethod
    def require(cls) -> None:
        """Raise an InputError that names the extra where a package is missing."""
        return

    @abstractmethod
    def start(self) -> None:
        """Begin, and remove what an interrupted attempt of the same run left: all rows are logged again."""

    @abstractmethod
    def add(self, rows: Sequence[Row], lr: float | None, seconds: float) -> None:
        """New rows of the timeline, the learning rate they were measured at, and the seconds since the start."""

    @abstractmethod
    def close(self) -> None:
        """Write what is pending."""


def moments(rows: Sequence[Row], lr: float | None) -> Iterator[tuple[str, float, dict[str, float]]]:
    """Phase, effective epoch and metrics of every moment that was measured.

    Metrics are named ``PHASE/MEASURE/SPLIT``, and ``PHASE/epoch`` is the exact epoch: ``einstellung import`` reads them back.

    >>> row = {"phase": "T2", "epoch": 0.5, "split": "T2_val", "acc": 0.25, "loss": None}
    >>> list(moments([row], 0.1))
    [('T2', 0.5, {'T2/epoch': 0.5, 'T2/acc/T2_val': 0.25, 'T2/lr': 0.1})]
    """
    for (phase, epoch), own in groupby(rows, key=lambda row: (row["phase"], row["epoch"])):
        metrics = {f"{phase}/epoch": float(epoch)}
        for row in own:
            for measure in MEASURES:
                if row.get(measure) is not None:
                    metrics[f"{phase}/{measure}/{row['split']}"] = float(row[measure])
        yield phase, epoch, metrics | ({} if lr is None else {f"{phase}/lr": float(lr)})


def step_of(epoch: float) -> int:
    """Steps of other tools are integers: thousandths of an effective epoch."""
    return round(1000 * epoch)
