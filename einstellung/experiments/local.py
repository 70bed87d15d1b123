"""The local launcher: workers in processes of their own take one job after the other, first phases before what needs them."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path

from einstellung.errors import InputError
from einstellung.experiments.order import next_job, ordered
from einstellung.experiments.plan import Job, named_in
from einstellung.experiments.processes import Helper, handed_over, keep_freed_memory, start_helper, use_threads
from einstellung.experiments.progress import Display
from einstellung.results.config import StudyConfig


@dataclass(frozen=True)
class Failure:
    """A job that did not end well. ``by_input`` marks what the user can mend (a full disk, a damaged file)."""

    job: Job
    reason: str
    by_input: bool
    trace: str = ""


@dataclass
class _Worker:
    helper: Helper
    job: Job | None = None

    def take(self, job: Job) -> None:
        self.job = job
        with suppress(BrokenPipeError):  # a worker that is gone is noticed at the next look at its pipe
            self.helper.pipe.send(job)


def run_jobs(
    jobs: Sequence[Job], config: StudyConfig, root: Path, digests: dict[str, str], workers: int, display: Display
) -> list[Failure]:
    """Run all jobs; one that fails leaves the others alone, except those that need it."""
    return _Launch(jobs, config, root, digests, workers, display).run()


class _Launch:
    """Who is at work on what, what waits, and what came of the rest."""

    def __init__(
        self,
        jobs: Sequence[Job],
        config: StudyConfig,
        root: Path,
        digests: dict[str, str],
        workers: int,
        display: Display,
    ) -> None:
        self.config, self.root, self.digests, self.workers, self.display = config, root, digests, workers, display
        self.waiting = ordered(jobs, workers)
        self.planned = {job.folder for job in jobs}
        self.done: set[str] = set()
        self.crew: list[_Worker] = []
        self.failures: list[Failure] = []

    def run(self) -> list[Failure]:
        try:
            while self.waiting or any(worker.job for worker in self.crew):
                self._hand_out()
                for worker in self._with_news():
                    self._hear(worker)
        finally:
            for worker in self.crew:
                worker.helper.end() if worker.job else worker.helper.dismiss()
        return self.failures

    def _hand_out(self) -> None:
        """Give every worker that is free, or may be started, something to do."""
        idle = [worker for worker in self.crew if worker.job is None]
        while (idle or len(self.crew) < self.workers) and (job := next_job(self.waiting, self.planned, self.done)):
            if not idle:
                idle = [_Worker(start_helper(_work, self.config, self.root, self.digests, name=job.label))]
                self.crew += idle
            self.waiting.remove(job)
            idle.pop().take(job)
            self.display.started(job)

    def _with_news(self) -> list[_Worker]:
        pipes = wait([worker.helper.pipe for worker in self.crew])
        return [worker for worker in self.crew if worker.helper.pipe in pipes]

    def _hear(self, worker: _Worker) -> None:
        try:
            kind, content = worker.helper.pipe.recv()
        except (EOFError, OSError):  # the pipe is closed, perhaps in the middle of a word
            self._ended(worker, (f"its process {_end_of(worker.helper)} without a word", False, ""))
            return
        assert worker.job is not None, "workers speak of the job they were given"
        if kind == "progress":
            self.display.advanced(worker.job, *content)
        else:
            self._ended(worker, content)

    def _ended(self, worker: _Worker, trouble: tuple[str, bool, str] | None) -> None:
        job, worker.job = worker.job, None
        if trouble or job is None or not _leaves_nothing_behind(job, self.config):
            self.crew.remove(worker)
            worker.helper.end() if trouble else worker.helper.dismiss()
        if job is None:
            return  # it was waiting for its next job, which another worker will get
        failure = Failure(job, *trouble) if trouble else None
        self.display.ended(job, failure.reason if failure else None)
        if failure is None:
            self.done.add(job.folder)
            return
        self.failures.append(failure)
        for dependant in [other for other in self.waiting if other.needs == job.folder]:
            self.waiting.remove(dependant)
            lost = Failure(dependant, f"its first phase ({job.label}) failed", failure.by_input)
            self.failures.append(lost)
            self.display.ended(dependant, lost.reason)


def _leaves_nothing_behind(job: Job, config: StudyConfig) -> bool:
    """Whether the next job may run in the same process: code that is not ours may keep something from one run to the next."""
    modules = [thing.__module__ for thing in named_in(config, job.method)]
    ours = __name__.partition(".")[0]
    return not config.plugins and not config.training.compile and all(m.partition(".")[0] == ours for m in modules)


def _end_of(helper: Helper) -> str:
    helper.process.join(timeout=5)
    code = helper.process.exitcode
    return f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"


def _work(pipe: Connection, config: StudyConfig, root: Path, digests: dict[str, str]) -> None:
    """What a worker does: the stream is built once, a job is done with it as often as one is handed over."""
    import torch

    from einstellung.experiments.execution import execute, proved_stream

    use_threads(config.training.thread_count)
    keep_freed_memory()
    gc.freeze()  # modules stay: the collector need not look through them again and again
    stream = None
    for job in handed_over(pipe):
        try:
            stream = stream or proved_stream(config, digests)
            with torch.random.fork_rng(devices=[]):
                execute(job, config, root, stream, lambda work, where: pipe.send(("progress", (work, where))))
        except InputError as error:
            pipe.send(("end", (str(error), True, "")))
        except Exception as error:  # noqa: BLE001 (whatever it is, it is reported as this job's failure and the study goes on)
            from einstellung.experiments.plugins import place_in_plugin

            what = f"{type(error).__name__}: {error}".splitlines()[0]
            reason = f"{what}{place_in_plugin(error, config.plugins)}; the trace is in {job.folder}/status.json"
            pipe.send(("end", (reason, False, traceback.format_exc())))
        else:
            pipe.send(("end", None))
        gc.collect()  # nets and what they learned refer to each other: their memory is wanted for the next job
