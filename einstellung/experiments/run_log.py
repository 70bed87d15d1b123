"""Live logs of a run, in every target that the configuration names."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from einstellung.experiments.log_targets import LoggedRun, LogTarget, log_target


class RunLog:
    """Logs every measurement. A resumed run logs the rows in its checkpoint again, after what was there is removed."""

    def __init__(self, run: LoggedRun | Path, kinds: Sequence[str]) -> None:
        run = LoggedRun(run) if isinstance(run, Path) else run
        targets = [log_target(kind) for kind in kinds]
        self._targets: list[LogTarget] = [one(run) for one in targets if one.logs_shared_phases or not run.shared]
        self._started = time.monotonic()
        self._open: list[LogTarget] = []

    def start(self, past: Iterable[dict[str, Any]] = ()) -> None:
        """Begin with the rows of a resumed run."""
        for target in self._targets:
            target.start()
            self._open.append(target)
        self.add([*past], None)

    def add(self, rows: Sequence[dict[str, Any]], lr: float | None) -> None:
        """New measurements, and the learning rate they were made at."""
        if rows:
            seconds = round(time.monotonic() - self._started, 1)
            for target in self._open:
                target.add(rows, lr, seconds)

    def close(self) -> None:
        while self._open:
            self._open.pop().close()


def require_log_targets(kinds: Sequence[str]) -> None:
    """Name a missing package before anything is trained."""
    for kind in kinds:
        log_target(kind).require()
