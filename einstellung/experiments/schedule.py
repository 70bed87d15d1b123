"""The order in which the jobs of a study start, and how long they take on a number of workers."""

from __future__ import annotations

import heapq
import random
from collections.abc import Collection, Mapping, Sequence

from einstellung.experiments.launcher import Failure
from einstellung.experiments.plan import Job
from einstellung.experiments.progress import Display

_TRIES = 400
_CLOSE = 1.005  # an order this close to the lower bound is good enough
_MANY = 60  # with more jobs, longest first leaves nothing worth searching for


class JobQueue:
    """The jobs that wait for a free worker; notifies the display of starts and ends, and collects failures."""

    def __init__(self, jobs: Sequence[Job], display: Display) -> None:
        self.failures: list[Failure] = []
        self._waiting = list(jobs)
        self._planned = {job.folder for job in jobs}
        self._done: set[str] = set()
        self._display = display

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self, queued: bool = False) -> Job | None:
        """The next job to start; None while all that are left wait for a first phase that is running.

        ``queued``: the job waits in another queue before it starts, which the caller then says by :meth:`started`.
        """
        job = next_job(self._waiting, self._planned, self._done)
        if job is not None:
            self._waiting.remove(job)
            if not queued:
                self.started(job)
        return job

    def started(self, job: Job) -> None:
        self._display.started(job)

    def finish(self, job: Job, failure: Failure | None) -> None:
        """Record how a job ended; runs that need a failed first phase fail with it."""
        self._display.ended(job, failure.reason if failure else None)
        if failure is None:
            self._done.add(job.folder)
            return
        self.failures.append(failure)
        for dependant in [other for other in self._waiting if other.needs == job.folder]:
            self._waiting.remove(dependant)
            lost = Failure(dependant, f"its first phase ({job.label}) failed", failure.by_input)
            self.failures.append(lost)
            self._display.ended(dependant, lost.reason)


def in_order(jobs: Sequence[Job], workers: int) -> list[Job]:
    """The jobs in the order in which free workers should take them.

    The longest chain comes first, where a first phase counts with the longest run that needs it: otherwise the last chain runs
    alone at the end while the other cores idle. With few jobs this rule can leave a long tail, so a seeded search over swaps
    of two jobs follows.
    """
    longest: dict[str | None, float] = {}
    for job in jobs:
        longest[job.needs] = max(job.work, longest.get(job.needs, 0.0))
    best = sorted(jobs, key=lambda job: job.work + longest.get(job.folder, 0.0), reverse=True)
    work = {job.folder: job.work for job in jobs}
    shortest, bound = _length(best, work, workers), _lower_bound(jobs, work, workers)
    draws, tries = random.Random(0), 0 if len(jobs) > _MANY or len(jobs) < 3 else _TRIES
    while tries and shortest > _CLOSE * bound:
        tries -= 1
        other = list(best)
        one, two = draws.sample(range(len(other)), 2)
        other[one], other[two] = other[two], other[one]
        if (length := _length(other, work, workers)) <= shortest:
            best, shortest = other, length
    return best


def next_job(waiting: Sequence[Job], planned: Collection[str], done: Collection[str]) -> Job | None:
    """The first job in line whose first phase exists, from this run or an earlier one."""
    return next((job for job in waiting if job.needs is None or job.needs not in planned or job.needs in done), None)


def makespan(jobs: Sequence[Job], seconds: Mapping[str, float], workers: int) -> float:
    """How long all jobs take when free workers take them in order."""
    return _length(in_order(jobs, workers), seconds, workers)


def most_at_once(jobs: Sequence[Job]) -> int:
    """How many jobs can ever run at the same time: a first phase or the runs that need it, and all others."""
    folders = {job.folder for job in jobs}
    waiting: dict[str, int] = {job.folder: 0 for job in jobs}
    for job in jobs:
        if job.needs in folders:
            waiting[str(job.needs)] += 1
    free = [job for job in jobs if job.needs not in folders]
    return sum(max(1, waiting[job.folder]) for job in free)


def _length(order: Sequence[Job], seconds: Mapping[str, float], workers: int) -> float:
    waiting, running, done = list(order), list[tuple[float, str]](), set[str]()
    planned, now = {job.folder for job in order}, 0.0
    while waiting or running:
        while len(running) < workers and (job := next_job(waiting, planned, done)):
            waiting.remove(job)
            heapq.heappush(running, (now + seconds[job.folder], job.folder))
        now = running[0][0]
        while running and running[0][0] == now:  # several jobs may end at the same moment
            done.add(heapq.heappop(running)[1])
    return now


def _lower_bound(jobs: Sequence[Job], seconds: Mapping[str, float], workers: int) -> float:
    """No order is shorter than the work shared evenly, or than the longest chain."""
    chains = [seconds[job.folder] + seconds.get(job.needs or "", 0.0) for job in jobs]
    return max(sum(seconds.values()) / workers, *chains, 0.0)
