"""Launchers decide where the jobs of a study run; each is a file in ``launchers/`` or a plug-in."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from einstellung.errors import InputError
from einstellung.experiments.plan import Job, named_in
from einstellung.experiments.progress import Display
from einstellung.options import checked_options
from einstellung.registry import Registry
from einstellung.results.config import LauncherConfig, StudyConfig
from einstellung.streams import Stream


@dataclass(frozen=True)
class Failure:
    """A job that failed. ``by_input`` marks what the user can fix (a full disk, a damaged file)."""

    job: Job
    reason: str
    by_input: bool


@dataclass(frozen=True)
class StudyRun:
    """What a launcher is given: all that a job depends on, how many to run at a time, and where to report progress.

    ``digests`` are the hashes of the data that were proved: a job refuses to run on anything else. ``stream`` has those data.
    """

    config: StudyConfig
    root: Path
    digests: Mapping[str, str]
    workers: int
    display: Display
    stream: Stream


class Launcher(ABC):
    """Runs the jobs of a study, first phases before the runs that need them.

    A job is a pure function of the configuration, the data, the job itself and the first phase that it names; the result is a
    finished run folder (see :class:`einstellung.experiments.execution.JobRunner`). The launcher decides only where it runs.
    :class:`einstellung.experiments.schedule.JobQueue` keeps the order and the failures.
    """

    runs_here: ClassVar[bool] = True
    """Whether jobs run on this machine only, so that its cores and memory decide how many at a time."""

    def check(self, config: StudyConfig) -> None:  # noqa: B027 (optional)
        """Refuse a study that this launcher cannot run; nothing is started or written."""

    def at_a_time(self, config: StudyConfig, jobs: Sequence[Job]) -> int:
        """How many jobs to run at a time if the user gives no number; asked only where jobs run elsewhere."""
        raise NotImplementedError

    def warm_up(self, config: StudyConfig) -> None:  # noqa: B027 (optional)
        """Start whatever takes long to start, before anything is written; the stream is proved afterwards."""

    @abstractmethod
    def run(self, jobs: Sequence[Job], study: StudyRun) -> list[Failure]:
        """Run all jobs. A failure does not stop the others, except those that need the failed job."""

    def scripts(self, jobs: Sequence[Job], config: StudyConfig, root: Path, workers: int) -> list[str]:
        """The batch scripts that would be submitted for these jobs, for a dry run."""
        return []


launchers = Registry[type[Launcher]]("launcher", "einstellung.launchers")


def make_launcher(config: LauncherConfig) -> Launcher:
    """The launcher that a configuration names, with its options; those of another launcher are refused by name."""
    kind = launchers[config.name]
    for option in config.options:
        owners = [name for name in launchers if name != config.name and option in option_names(name)]
        if owners and option not in option_names(config.name):
            raise InputError(
                f"launcher.{option} is an option of the launcher '{owners[0]}', and this study uses '{config.name}': "
                f"leave it out, or choose --launcher {owners[0]}"
            )
    return kind(**checked_options(kind, "launcher", config.options))


def option_names(launcher: str) -> list[str]:
    """The options of a launcher, by its name."""
    return list(inspect.signature(launchers[launcher]).parameters)


def may_share_process(job: Job, config: StudyConfig) -> bool:
    """Whether the next job may run in the same process: foreign code may carry state from one run to the next."""
    modules = [thing.__module__ for thing in named_in(config, job.method)]
    ours = __name__.partition(".")[0]
    return not config.plugins and not config.training.compile and all(m.partition(".")[0] == ours for m in modules)


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
