"""What the one command pays for each job, whatever the cluster: the constants that decide at 100 and 1,000 nodes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.launchers.silent import Silent
from benchmarks.measuring import row
from einstellung.experiments.plan import Job
from einstellung.experiments.ray_worker import Mailbox
from einstellung.experiments.remote import write_folder
from einstellung.experiments.schedule import JobQueue, in_order
from einstellung.experiments.slurm_worker import Answers
from einstellung.files import write_json

JOBS = 10_000
TASKS, MESSAGES, FILES, MEGABYTES = 300, 2_000, 1_000, 90


def measure_constants() -> list[dict[str, Any]]:
    """Rows of the table; Ray's cluster must be running."""
    import ray

    queue = _seconds(_queue_of_many)
    empty = ray.remote(num_cpus=0.01)(_nothing)
    ray.get(empty.remote())
    tasks = _seconds(lambda: ray.get([empty.remote() for _ in range(TASKS)])) / TASKS
    mailbox = ray.remote(Mailbox).options(num_cpus=0).remote()
    put = _seconds(lambda: _messages(mailbox)) / MESSAGES
    back = _seconds(_write_back)
    look = _seconds(_look_at_answers) / FILES
    return [
        row(f"order of {JOBS:,} jobs, and their start and end in the queue", f"{queue:.1f} s"),
        row(f"an empty Ray task, sent and collected ({TASKS} at once)", f"{1e3 * tasks:.1f} ms"),
        row(f"a report of progress to Ray's actor ({MESSAGES:,} at once)", f"{1e3 * put:.2f} ms"),
        row(f"a run folder of {MEGABYTES} MB sent back: written by the command", f"{MEGABYTES / back:.0f} MB/s"),
        row(f"SLURM: progress and outcome of a job looked up ({FILES:,} jobs)", f"{1e3 * look:.2f} ms"),
    ]


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _nothing() -> None:
    return


def _queue_of_many() -> None:
    first = [Job("first_phase", "sgd", seed, f"first_phases/{seed}", "k", None, 1.0) for seed in range(JOBS // 10)]
    runs = [
        Job("run", f"m{number}", job.seed, f"runs/m{number}-{job.seed}", "k", job.folder, 1.0)
        for job in first
        for number in range(9)
    ]
    queue = JobQueue(in_order([*first, *runs], 1000), Silent())
    while queue:
        some = []
        while len(some) < 1000 and (job := queue.take(queued=True)) is not None:
            some.append(job)
        for job in some:
            queue.finish(job, None)


def _messages(mailbox: Any) -> None:
    import ray

    for number in range(MESSAGES):
        mailbox.put.remote(f"runs/{number}", 0, 1.0, "T2 epoch 1/2")
    ray.get(mailbox.take.remote())


def _write_back() -> None:
    import ray

    half = bytes(MEGABYTES * 500_000)
    contents = {"model.safetensors": half, "model_last.safetensors": half}
    with tempfile.TemporaryDirectory() as place:
        write_folder(Path(place), ray.get(ray.put(contents)))


def _look_at_answers() -> None:
    with tempfile.TemporaryDirectory() as place:
        jobs = [Job("run", "sgd", seed, f"runs/{seed}", "k", None, 1.0) for seed in range(FILES)]
        answers = [(job, Answers.of(Path(place), job)) for job in jobs]
        for _, one in answers:
            one.progress_file.parent.mkdir(exist_ok=True)
            one.progress_file.write_text('{"work": 1.0, "where": "T2 epoch 1/2"}')
        for job, one in answers:
            one.outcome(job)
            one.progress()
        write_json(Path(place) / "jobs.json", {job.folder: {"number": "1", "key": job.key} for job in jobs})
