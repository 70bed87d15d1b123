"""``progress.json``: the jobs of a running study and the time left, for ``einstellung view``."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from einstellung.errors import InputError
from einstellung.experiments.plan import Job
from einstellung.experiments.progress import Display, WorkProgress
from einstellung.files import write_json
from einstellung.folders import require_present
from einstellung.results.live_files import HEARTBEAT_SECONDS, PROGRESS
from einstellung.results.provenance import now

_PAUSE = 0.5  # seconds between two writes


class ProgressFile(Display):
    """Forwards progress to another display and records it.

    A thread writes the file, so that a slow disk does not delay the launcher, and as a heartbeat. The file is removed when the
    jobs end, fail or are interrupted: finished runs are in their own folders. If the results folder is gone, every call raises
    a :class:`einstellung.folders.FolderGoneError`, which stops the launcher.
    """

    def __init__(self, folder: Path, jobs: Sequence[Job], shown: Display, closing: float = 0.0) -> None:
        self.file = folder / PROGRESS
        self.shown = shown
        self._progress = WorkProgress(jobs, closing)
        self._jobs = {job.folder: _waiting(job) for job in jobs}
        self._started = now()
        self._changes = 0
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._writer = threading.Thread(target=self._keep_writing, name="progress.json", daemon=True)

    def __enter__(self) -> Self:
        self._write()
        self._writer.start()
        self.shown.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self.shown.__exit__(*error)
        finally:
            self._end.set()
            self._writer.join()
            self.file.unlink(missing_ok=True)

    def started(self, job: Job) -> None:
        require_present(self.file)
        self._note(job, state="running", where="starting")
        self.shown.started(job)

    def advanced(self, job: Job, work: float, where: str) -> None:
        require_present(self.file)
        with self._lock:
            self._progress.update(job, work)
        self._note(job, done=self._progress.done[job.folder] / job.work if job.work else 0.0, where=where)
        self.shown.advanced(job, work, where)

    def ended(self, job: Job, failure: str | None) -> None:
        require_present(self.file)
        with self._lock:
            self._progress.finish(job)
        self._note(job, state="failed" if failure else "finished", done=1.0, where="", reason=failure)
        self.shown.ended(job, failure)

    def _note(self, job: Job, **facts: Any) -> None:
        with self._lock:
            self._jobs[job.folder].update(facts)
            self._changes += 1

    def _keep_writing(self) -> None:
        written, at = 0, time.monotonic()
        while not self._end.wait(_PAUSE):
            if self._changes != written or time.monotonic() - at >= HEARTBEAT_SECONDS:
                written, at = self._changes, time.monotonic()
                self._write()

    def _write(self) -> None:
        with self._lock:
            record = {
                "started": self._started,
                "share": self._progress.share,
                "seconds_left": self._progress.seconds_left(),
                "jobs": [dict(job) for job in self._jobs.values()],
            }
        with suppress(InputError):  # a study must not fail because it cannot be watched
            write_json(self.file, record)


def _waiting(job: Job) -> dict[str, Any]:
    facts = {"kind": job.kind, "method": job.method, "seed": job.seed, "label": job.label, "folder": job.folder}
    return {**facts, "state": "waiting", "done": 0.0, "where": "", "reason": None}
