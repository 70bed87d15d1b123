"""In which order the jobs of a study are started, and how long that takes on so many workers."""

from __future__ import annotations

import heapq
import random
from collections.abc import Collection, Mapping, Sequence

from einstellung.experiments.plan import Job

_TRIES = 400
_CLOSE = 1.005  # nearer to what is possible at best than that, no other order is looked for
_MANY = 60  # among more jobs, longest first leaves nothing worth looking for


def ordered(jobs: Sequence[Job], workers: int) -> list[Job]:
    """The jobs in the order in which free workers should take them.

    Long chains come first, a first phase counting with the longest run that waits for it: otherwise the last of them runs alone
    at the end while the other cores stand idle. With few jobs that rule can leave a long tail, so that exchanges of two jobs
    are tried as well, always the same ones.
    """
    waiting_for: dict[str | None, float] = {}
    for job in jobs:
        waiting_for[job.needs] = max(job.work, waiting_for.get(job.needs, 0.0))
    best = sorted(jobs, key=lambda job: job.work + waiting_for.get(job.folder, 0.0), reverse=True)
    work = {job.folder: job.work for job in jobs}
    shortest, bound = _length(best, work, workers), _bound(jobs, work, workers)
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
    """The first job in line whose first phase is there, done now or by an earlier run."""
    return next((job for job in waiting if job.needs is None or job.needs not in planned or job.needs in done), None)


def makespan(jobs: Sequence[Job], seconds: Mapping[str, float], workers: int) -> float:
    """How long all jobs take when free workers take them in the launcher's own order."""
    return _length(ordered(jobs, workers), seconds, workers)


def most_at_once(jobs: Sequence[Job]) -> int:
    """How many of the jobs can ever run at the same time: those that wait for a first phase, or that phase itself."""
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
        while running and running[0][0] == now:  # whatever ends at the same moment may be waited for
            done.add(heapq.heappop(running)[1])
    return now


def _bound(jobs: Sequence[Job], seconds: Mapping[str, float], workers: int) -> float:
    """No order is shorter: not than the work shared evenly, nor than the longest chain."""
    chains = [seconds[job.folder] + seconds.get(job.needs or "", 0.0) for job in jobs]
    return max(sum(seconds.values()) / workers, *chains, 0.0)
