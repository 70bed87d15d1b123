"""Progress of a study on standard error: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from einstellung.experiments.plan import Job
from einstellung.visible import visible


def describe_duration(seconds: float) -> str:
    """A duration in words.

    >>> describe_duration(42), describe_duration(190), describe_duration(8000)
    ('42 s', '3 min 10 s', '2 h 13 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class WorkProgress:
    """The share of the work that is done, and the time left at the rate so far.

    Work from before an interruption counts as done, but not towards the rate. ``closing``: seconds that the study needs after
    its jobs, to be scored and reported.
    """

    def __init__(self, jobs: Sequence[Job], closing: float = 0.0) -> None:
        self.closing = closing
        self.total = sum(job.work for job in jobs)
        self.resumed: dict[str, float] = {}
        self.done: dict[str, float] = {}
        self.start = time.monotonic()

    def update(self, job: Job, work: float) -> None:
        self.done[job.folder] = min(work, job.work)
        self.resumed.setdefault(job.folder, self.done[job.folder])

    def finish(self, job: Job) -> None:
        self.resumed.setdefault(job.folder, 0.0)
        self.update(job, job.work)

    @property
    def share(self) -> float:
        return sum(self.done.values()) / self.total if self.total else 1.0

    def seconds_left(self) -> float | None:
        """None as long as there is too little to extrapolate from."""
        elapsed = time.monotonic() - self.start
        done = sum(self.done.values())
        gained = done - sum(self.resumed.values())
        if gained < 0.02 * self.total or elapsed < 3:
            return None
        return elapsed * (self.total - done) / gained + self.closing

    def time_left(self) -> str:
        seconds = self.seconds_left()
        return "estimating time left" if seconds is None else f"about {describe_duration(seconds)} left"


class Display(ABC):
    """Shows the progress of the jobs of a study."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    @abstractmethod
    def started(self, job: Job) -> None: ...

    @abstractmethod
    def advanced(self, job: Job, work: float, where: str) -> None:
        """``work`` is done in total, and the job is at ``where``."""

    @abstractmethod
    def ended(self, job: Job, failure: str | None) -> None: ...


class PlainLines(Display):
    """A line when a job starts or ends, and every ``pause`` seconds in between."""

    def __init__(self, jobs: Sequence[Job], pause: float = 15.0, closing: float = 0.0) -> None:
        self.progress = WorkProgress(jobs, closing)
        self._accuracy: dict[str, str] = {}
        self.pause = pause
        self._last = time.monotonic()
        self._count = len(jobs)
        self._ended = 0

    def started(self, job: Job) -> None:
        self._print(f"start  {job.label}")

    def advanced(self, job: Job, work: float, where: str) -> None:
        self.progress.update(job, work)
        self._accuracy[job.folder] = _accuracy(where)
        if time.monotonic() - self._last > self.pause:
            self._print(f"{self.progress.share:4.0%}   {job.label}: {where}; {self.progress.time_left()}")

    def ended(self, job: Job, failure: str | None) -> None:
        self.progress.finish(job)
        self._ended += 1
        what = f"FAILED {job.label}: {failure}" if failure else _done(job, self._accuracy.get(job.folder, ""))
        self._print(f"{what}  ({self._ended} of {self._count} jobs; {self.progress.time_left()})")

    def _print(self, line: str) -> None:
        self._last = time.monotonic()
        print(visible(line), file=sys.stderr, flush=True)


def _accuracy(where: str) -> str:
    """The latest accuracies of a job, from its position in words.

    >>> _accuracy("T2 epoch 3/20; val 71 %, cue 95 %, covered 40 %")
    'val 71 %, cue 95 %, covered 40 %'
    """
    return where.partition("; ")[2]


def _done(job: Job, accuracy: str) -> str:
    """The accuracies are those of the last epoch; the score may use an earlier one, chosen on validation images."""
    return f"done   {job.label}  {f'last epoch: {accuracy}' if accuracy else ''}".rstrip()


class LiveBars(Display):
    """A bar for the whole study and one for each job that is running."""

    def __init__(self, jobs: Sequence[Job], console: Console, closing: float = 0.0) -> None:
        self.progress = WorkProgress(jobs, closing)
        self._accuracy: dict[str, str] = {}
        self._bars = Progress(
            TextColumn("{task.description:<24}"),
            BarColumn(bar_width=32),
            TextColumn("{task.percentage:>4.0f}%"),
            TextColumn("{task.fields[where]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._whole = self._bars.add_task(f"study, {len(jobs)} jobs", total=1.0, where="")
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def started(self, job: Job) -> None:
        self._tasks[job.folder] = self._bars.add_task(f"  {job.label}", total=max(job.work, 1.0), where="starting")

    def advanced(self, job: Job, work: float, where: str) -> None:
        self._accuracy[job.folder] = _accuracy(where)
        self._bars.update(self._tasks[job.folder], completed=work, where=escape(visible(where)))
        self.progress.update(job, work)
        self._show_whole()

    def ended(self, job: Job, failure: str | None) -> None:
        if job.folder in self._tasks:
            self._bars.remove_task(self._tasks.pop(job.folder))
        self.progress.finish(job)
        self._show_whole()
        if failure:
            what = f"[red]failed[/] {escape(visible(f'{job.label}: {failure}'))}"
        else:
            what = f"[green]done[/] {escape(_done(job, self._accuracy.get(job.folder, '')).removeprefix('done '))}"
        self._bars.console.print(what, highlight=False)

    def _show_whole(self) -> None:
        self._bars.update(self._whole, completed=self.progress.share, where=self.progress.time_left())


def display_for(jobs: Sequence[Job], closing: float = 0.0) -> Display:
    """Bars on a terminal, lines elsewhere."""
    console = Console(stderr=True)
    return LiveBars(jobs, console, closing) if console.is_terminal else PlainLines(jobs, closing=closing)
