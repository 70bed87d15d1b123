"""The local launcher: worker processes on this machine, each of which takes one job after the other.

Workers are plain ``multiprocessing`` processes with a pipe each. A ``ProcessPoolExecutor`` gives up all running jobs when one
worker dies, does not say by which signal it died, and cannot be stopped in the middle of a job before Python 3.14.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from einstellung.experiments.execution import JobRunner
from einstellung.experiments.launcher import Failure, Launcher, StudyRun, launchers, may_share_process
from einstellung.experiments.plan import Job
from einstellung.experiments.processes import (
    Worker,
    keep_freed_memory,
    messages,
    start_worker,
    use_threads,
    warm_up,
)
from einstellung.experiments.schedule import JobQueue, in_order
from einstellung.results.config import StudyConfig


@launchers.register("local")
class LocalLauncher(Launcher):
    """Runs jobs in worker processes on this machine."""

    def warm_up(self, config: StudyConfig) -> None:
        warm_up()

    def run(self, jobs: Sequence[Job], study: StudyRun) -> list[Failure]:
        queue = JobQueue(in_order(jobs, study.workers), study.display)
        idle, busy = list[Worker](), dict[Worker, Job]()
        try:
            while queue or busy:
                while len(busy) < study.workers and (job := queue.take()) is not None:
                    worker = _idle_worker(idle) or start_worker(
                        _work, study.config, study.root, study.digests, name=job.label
                    )
                    busy[worker] = job
                    with suppress(BrokenPipeError):  # the death of a worker is noticed when its pipe is read
                        worker.pipe.send(job)
                ready = wait([worker.pipe for worker in busy])
                for worker, job in [(worker, job) for worker, job in busy.items() if worker.pipe in ready]:
                    kind, content = _next_message(worker, job)
                    if kind == "progress":
                        study.display.advanced(job, *content)
                        continue
                    del busy[worker]
                    if content is None and may_share_process(job, study.config):
                        idle.append(worker)
                    elif content is None:
                        worker.close()
                    else:
                        worker.stop()
                    queue.finish(job, content)
        finally:
            for worker in busy:
                worker.stop()
            for worker in idle:
                worker.close()
        return queue.failures


def _idle_worker(idle: list[Worker]) -> Worker | None:
    """A worker that waits for a job; one that died while waiting is dropped."""
    while idle:
        worker = idle.pop()
        if worker.process.is_alive():
            return worker
        worker.stop()
    return None


def _next_message(worker: Worker, job: Job) -> tuple[str, Any]:
    """``progress`` with (work done, position), or ``end`` with a failure or None."""
    try:
        message: tuple[str, Any] = worker.pipe.recv()
    except (EOFError, OSError):  # the pipe is closed, perhaps in the middle of a message
        return "end", Failure(job, f"its process {worker.exit_reason()}", by_input=False)
    return message


def _work(pipe: Connection, config: StudyConfig, root: Path, digests: Mapping[str, str]) -> None:
    """The main loop of a worker."""
    use_threads(config.training.thread_count)
    keep_freed_memory()
    gc.freeze()  # modules stay: the collector need not scan them again and again
    run_job = JobRunner(config, root, digests)
    for job in messages(pipe):
        pipe.send(("end", run_job(job, lambda work, where: pipe.send(("progress", (work, where))))))
        gc.collect()  # nets and learners form cycles: the next job needs their memory
