"""A display for measurements."""

from __future__ import annotations

from einstellung.experiments.plan import Job
from einstellung.experiments.progress import Display


class Silent(Display):
    """Shows nothing; a job that fails ends the measurement."""

    def started(self, job: Job) -> None:
        return

    def advanced(self, job: Job, work: float, where: str) -> None:
        return

    def ended(self, job: Job, failure: str | None) -> None:
        if failure:
            raise RuntimeError(failure)
