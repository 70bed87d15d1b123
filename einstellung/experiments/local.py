"""The local launcher: each job in a process of its own, a few at a time, first phases before what needs them."""

from __future__ import annotations

import multiprocessing
import os
import queue
import threading
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.experiments.config import StudyConfig
from einstellung.experiments.plan import Job, next_job
from einstellung.experiments.progress import Display


@dataclass(frozen=True)
class Failure:
    """A job that did not end well. ``by_input`` marks what the user can mend (a full disk, a damaged file)."""

    job: Job
    reason: str
    by_input: bool
    trace: str = ""


@dataclass
class _Running:
    job: Job
    process: BaseProcess
    outcome: Failure | None = None
    reported: bool = False


def run_jobs(
    jobs: Sequence[Job], config: StudyConfig, root: Path, digests: dict[str, str], workers: int, display: Display
) -> list[Failure]:
    """Run all jobs; one that fails leaves the others alone, except those that need it."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads cost a busy machine dearly
    context = _context()
    messages: Any = context.Queue()
    waiting, running, failures = list(jobs), dict[str, _Running](), list[Failure]()
    planned, done = {job.folder for job in jobs}, set[str]()
    try:
        while waiting or running:
            while len(running) < workers and (job := next_job(waiting, planned, done)):
                waiting.remove(job)
                process = context.Process(  # type: ignore[attr-defined]
                    target=_work, args=(job, config, root, digests, messages), name=job.label, daemon=True
                )
                process.start()
                running[job.folder] = _Running(job, process)
                display.started(job)
            _hear(messages, running, display)
            for entry in [entry for entry in running.values() if not entry.process.is_alive()]:
                _hear(messages, running, display, wait=0.2)  # its last words may still be on their way
                del running[entry.job.folder]
                failure = _outcome(entry)
                display.ended(entry.job, failure.reason if failure else None)
                if failure is None:
                    done.add(entry.job.folder)
                    continue
                failures.append(failure)
                for dependant in [job for job in waiting if job.needs == entry.job.folder]:
                    waiting.remove(dependant)
                    lost = Failure(dependant, f"its first phase ({entry.job.label}) failed", failure.by_input)
                    failures.append(lost)
                    display.ended(dependant, lost.reason)
    finally:
        for entry in running.values():
            entry.process.terminate()
        for entry in running.values():
            entry.process.join()
    return failures


def _context() -> BaseContext:
    """A server process that has imported torch once and forks cheaply, where the system has that."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["einstellung.experiments.execution"])
    return context


def _hear(messages: Any, running: dict[str, _Running], display: Display, wait: float = 0.1) -> None:
    while True:
        try:
            kind, folder, content = messages.get(timeout=wait)
        except queue.Empty:
            return
        wait = 0.0
        entry = running.get(folder)
        if entry is None:
            continue
        if kind == "progress":
            display.advanced(entry.job, *content)
        else:
            entry.reported = True
            entry.outcome = None if content is None else Failure(entry.job, *content)


def _outcome(entry: _Running) -> Failure | None:
    if entry.reported:
        return entry.outcome
    code = entry.process.exitcode
    how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
    return Failure(entry.job, f"its process {how} without a word", by_input=False)


def _work(job: Job, config: StudyConfig, root: Path, digests: dict[str, str], messages: Any) -> None:
    """What a worker process does."""
    _end_with_parent()
    from einstellung.experiments.execution import execute

    try:
        execute(job, config, root, digests, lambda work, where: messages.put(("progress", job.folder, (work, where))))
    except InputError as error:
        messages.put(("end", job.folder, (str(error), True, "")))
    except Exception as error:  # noqa: BLE001 (whatever it is, it is reported as this job's failure and the study goes on)
        from einstellung.experiments.plugins import place_in_plugin

        what = f"{type(error).__name__}: {error}".splitlines()[0]
        reason = f"{what}{place_in_plugin(error, config.plugins)}; the trace is in {job.folder}/status.json"
        messages.put(("end", job.folder, (reason, False, traceback.format_exc())))
    else:
        messages.put(("end", job.folder, None))


def _end_with_parent() -> None:
    """A worker must not outlive a study that was killed: its folder would be free for another process."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
