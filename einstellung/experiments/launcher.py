"""The launcher seam. A launcher decides where the jobs of a study run; each one is a file in ``launchers/`` or a plug-in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from einstellung.experiments.plan import Job
from einstellung.experiments.progress import Display
from einstellung.registry import Registry
from einstellung.results.config import StudyConfig


@dataclass(frozen=True)
class Failure:
    """A job that failed. ``by_input`` marks what the user can fix (a full disk, a damaged file)."""

    job: Job
    reason: str
    by_input: bool
    trace: str = ""


@dataclass(frozen=True)
class StudyRun:
    """What a launcher is given: all that a job depends on, how many to run at a time, and where to report progress.

    ``digests`` are the hashes of the data that were proved: a job refuses to run on anything else.
    """

    config: StudyConfig
    root: Path
    digests: Mapping[str, str]
    workers: int
    display: Display


class Launcher(ABC):
    """Runs the jobs of a study, first phases before the runs that need them.

    A job is a pure function of the configuration, the data, the job itself and the first phase that it names; the result is a
    finished run folder (see :class:`einstellung.experiments.execution.JobRunner`). The launcher decides only where it runs.
    :class:`einstellung.experiments.schedule.JobQueue` keeps the order and the failures.
    """

    def warm_up(self) -> None:  # noqa: B027 (optional)
        """Start whatever takes long to start: the stream is proved meanwhile."""

    @abstractmethod
    def run(self, jobs: Sequence[Job], study: StudyRun) -> list[Failure]:
        """Run all jobs. A failure does not stop the others, except those that need the failed job."""


launchers = Registry[type[Launcher]]("launcher", "einstellung.launchers")


def describe_failures(failures: Iterable[Failure]) -> tuple[list[str], int]:
    """A line per failure and the exit code: 0 without failures, 2 if the user can fix all of them, 1 otherwise.

    Failures that the user can fix have one cause (a full disk): they share a line.
    """
    failures = list(failures)
    lines = [f"{failure.job.label} failed: {failure.reason}" for failure in failures]
    if not failures:
        return [], 0
    if not all(failure.by_input for failure in failures):
        return lines, 1
    more = f" (and {len(lines) - 1} more like it)" if len(lines) > 1 else ""
    return [lines[0] + more], 2
