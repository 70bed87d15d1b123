"""The progress of a study as calls of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from einstellung.experiments.plan import Job
from einstellung.experiments.progress import Display, WorkProgress, display_for

OnProgress = Callable[[float, str], object]  # the share of the work that is done, and what is being done


class Calls(Display):
    """Calls a function whenever something starts, advances or ends."""

    def __init__(self, jobs: Sequence[Job], on_progress: OnProgress, prefix: str = "") -> None:
        self.progress = WorkProgress(jobs)
        self._call, self._prefix = on_progress, prefix

    def started(self, job: Job) -> None:
        self._tell(f"{job.label}: starting")

    def advanced(self, job: Job, work: float, where: str) -> None:
        self.progress.update(job, work)
        self._tell(f"{job.label}: {where}")

    def ended(self, job: Job, failure: str | None) -> None:
        self.progress.finish(job)
        self._tell(f"{job.label}: {f'failed: {failure}' if failure else 'done'}")

    def _tell(self, what: str) -> None:
        self._call(min(self.progress.share, 1.0), self._prefix + what)


def display_by(on_progress: OnProgress | None, prefix: str = "") -> Callable[[Sequence[Job]], Display]:
    """How a study shows its progress: by calls, or as the command line does."""
    return display_for if on_progress is None else lambda jobs: Calls(jobs, on_progress, prefix)
