"""Runs jobs as SLURM array jobs by submitit (extra ``slurm``), one for each run; all nodes must see the results folder.

A job that reaches its time limit is queued again and goes on from its last checkpoint. The command waits for all of them; if it
is killed they go on, and the same command takes them over.
"""

from __future__ import annotations

import getpass
import logging
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal

from einstellung.errors import InputError
from einstellung.experiments.launcher import Failure, Launcher, StudyRun, launchers
from einstellung.experiments.plan import Job
from einstellung.experiments.remote import PROCESS_ENVIRONMENT, Code, RemoteStudy, bytes_of
from einstellung.experiments.schedule import JobQueue, in_order, most_at_once
from einstellung.files import read_json, write_json
from einstellung.results.config import StudyConfig
from einstellung.visible import visible

FOLDER = "slurm"  # in the results folder: scripts, logs, and what the jobs say
_MOST_IN_ARRAY = 1000  # SLURM's usual MaxArraySize is 1001
_SHOWN_WITHIN = 30.0  # seconds after which a shared file system shows what a job wrote at its end
_JOBS_PER_SECOND = 100.0  # whose files are looked at


@launchers.register("slurm")
@dataclass(frozen=True)
class SlurmLauncher(Launcher):
    """Runs jobs as SLURM array jobs."""

    runs_here: ClassVar[bool] = False

    partition: str | None = None
    time: int = 240
    memory: str | None = None
    gpus: int | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    setup: tuple[str, ...] = ()
    requeues: int = 10
    retries: int = 3
    signal_seconds: int = 90
    cluster: Literal["slurm", "local", "debug"] = "slurm"

    def check(self, config: StudyConfig) -> None:
        if find_spec("submitit") is None:
            raise InputError("the launcher 'slurm' needs submitit: pip install 'einstellung[slurm]'")
        if self.memory is not None:
            bytes_of(self.memory, "launcher.memory")
        for name, least in (("time", 1), ("gpus", 0), ("requeues", 0), ("retries", 0), ("signal_seconds", 1)):
            if (value := getattr(self, name)) is not None and value < least:
                raise InputError(f"launcher.{name} is {value}: give {least} or more")

    def at_a_time(self, config: StudyConfig, jobs: Sequence[Job]) -> int:
        return max(1, most_at_once(jobs))

    def warm_up(self, config: StudyConfig) -> None:
        missing = [name for name in ("sbatch", "squeue", "srun") if shutil.which(name) is None]
        if self.cluster == "slurm" and missing:
            raise InputError(
                f"SLURM's {missing[0]} was not found; nothing was run. Run the command on a login node of the cluster, or see "
                "its batch scripts by --dry-run"
            )

    def run(self, jobs: Sequence[Job], study: StudyRun) -> list[Failure]:
        self.warm_up(study.config)
        return _Study(self, jobs, study).run()

    def scripts(self, jobs: Sequence[Job], config: StudyConfig, root: Path, workers: int) -> list[str]:
        """An array of all that can start at once, then one of what needs a first phase of the first."""
        from submitit.slurm.slurm import _make_sbatch_string

        waves = [job for job in jobs if job.needs is None], [job for job in jobs if job.needs is not None]
        folder = root.absolute() / FOLDER
        command = f"{shlex.quote(sys.executable)} -u -m submitit.core._submit {shlex.quote(str(folder))}"
        given = self.parameters(config, workers)
        sizes = [size for wave in waves for size in _array_sizes(len(wave))]
        return [_make_sbatch_string(command=command, folder=folder, map_count=size, **given) for size in sizes]

    def parameters(self, config: StudyConfig, workers: int) -> dict[str, Any]:
        """What a job asks SLURM for, in submitit's names."""
        gpus = self.gpus if self.gpus is not None else int(config.training.device.startswith("cuda"))
        environment = [f"export {name}={value}" for name, value in PROCESS_ENVIRONMENT.items()]
        wanted = {
            "job_name": "einstellung",
            "time": self.time,
            "cpus_per_task": config.training.thread_count,
            "gpus_per_node": gpus or None,
            "partition": self.partition,
            "account": self.account,
            "qos": self.qos,
            "constraint": self.constraint,
            "mem": None if self.memory is None else f"{bytes_of(self.memory, 'launcher.memory') // 10**6}M",
            "setup": [*environment, *self.setup],
            "array_parallelism": workers,
            "signal_delay_s": self.signal_seconds,
            "additional_parameters": {"requeue": True},
        }
        return {key: value for key, value in wanted.items() if value is not None}


def _array_sizes(count: int) -> list[int]:
    """
    >>> _array_sizes(2500), _array_sizes(0)
    ([1000, 1000, 500], [])
    """
    return [min(_MOST_IN_ARRAY, count - start) for start in range(0, count, _MOST_IN_ARRAY)]


@dataclass
class _Submitted:
    """A job in SLURM's queue, or in submitit's stand-in for it (then with its handle)."""

    job: Job
    number: str
    handle: Any = None
    announced: bool = False
    gone_since: float | None = None
    cancelled: bool = False
    deaths: int = 0


@dataclass
class _Study:
    """One study in the queue."""

    launcher: SlurmLauncher
    jobs: Sequence[Job]
    study: StudyRun
    waiting: dict[str, _Submitted] = field(default_factory=dict)  # by the job's folder

    def run(self) -> list[Failure]:
        self.folder = self.study.root.absolute() / FOLDER
        self.record_file = self.folder / "jobs.json"
        self.remote = RemoteStudy(self.study.config, self.study.root.absolute(), self.study.digests, Code.here())
        self.pause = max(2.0, self.study.workers / _JOBS_PER_SECOND)
        self.queue = JobQueue(in_order(self.jobs, self.study.workers), self.study.display)
        self._adopted = self._still_queued()
        try:
            while self.queue or self.waiting:
                self._submit_ready()
                self._look()
        except KeyboardInterrupt:
            self._cancel()
            raise
        if not self.queue.failures:
            shutil.rmtree(self.folder, ignore_errors=True)
        return self.queue.failures

    def _submit_ready(self) -> None:
        """Submit what can start, as one array; what the queue has already from an earlier command is taken over."""
        ready = []
        while (job := self.queue.take(queued=True)) is not None:
            if job.folder in self._adopted:
                self.waiting[job.folder] = _Submitted(job, self._adopted.pop(job.folder))
                _log(f"SLURM: {job.label} is in the queue already ({self.waiting[job.folder].number})")
            else:
                ready.append(job)
        for size in _array_sizes(len(ready)):
            some, ready = ready[:size], ready[size:]
            self._submit(some)
            self._record()

    def _submit(self, jobs: Sequence[Job]) -> None:
        from einstellung.experiments.slurm_worker import Answers, SlurmTask

        tasks = [SlurmTask(job, self.remote, self.folder, self.pause) for job in jobs]
        for job in jobs:
            Answers.of(self.folder, job).forget()
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        try:
            handles = self._executor().submit_array(tasks)
        except (FailedJobError, FailedSubmissionError) as error:
            reason = f"SLURM did not take the jobs: {visible(' '.join(str(error).split()))[:200]}"
            for job in jobs:
                self.waiting.pop(job.folder, None)
                self.queue.finish(job, Failure(job, reason, by_input=True))
            return
        for job, handle in zip(jobs, handles, strict=True):
            own = None if self.launcher.cluster == "slurm" else handle
            self.waiting[job.folder] = _Submitted(job, str(handle.job_id), own)
        _log(
            f"SLURM: {len(jobs)} job{'s' if len(jobs) > 1 else ''} submitted ({handles[0].job_id}); logs are in {self.folder}"
        )

    def _executor(self) -> Any:
        from submitit import DebugExecutor, LocalExecutor, SlurmExecutor

        logging.getLogger("submitit").setLevel(logging.ERROR)
        launcher = self.launcher
        if launcher.cluster == "debug":
            return DebugExecutor(self.folder)
        if launcher.cluster == "local":
            executor = LocalExecutor(self.folder, max_num_timeout=launcher.requeues)
            executor.update_parameters(timeout_min=launcher.time, signal_delay_s=launcher.signal_seconds)
            return executor
        executor = SlurmExecutor(self.folder, max_num_timeout=launcher.requeues)
        executor.update_parameters(**launcher.parameters(self.study.config, self.study.workers))
        return executor

    def _look(self) -> None:
        """Wait a moment, then see what has ended and how far the others are."""
        from einstellung.experiments.slurm_worker import Answers

        if not self.waiting:
            return
        time.sleep(0.2 if self.launcher.cluster != "slurm" else self.pause)
        queued = self._queued()
        for folder, submitted in list(self.waiting.items()):
            answers = Answers.of(self.folder, submitted.job)
            if (outcome := answers.outcome(submitted.job)) is not None:
                self._end(folder, outcome[0])
                continue
            self._show(submitted, answers)
            if queued is None or submitted.number in queued:
                submitted.gone_since = None
                continue
            if submitted.gone_since is None:
                submitted.gone_since, submitted.cancelled = time.monotonic(), self._was_cancelled(submitted)
            if self.launcher.cluster != "slurm" or time.monotonic() - submitted.gone_since > _SHOWN_WITHIN:
                if (outcome := answers.outcome(submitted.job)) is not None:
                    self._end(folder, outcome[0])
                else:
                    self._died(folder, submitted)

    def _end(self, folder: str, failure: Failure | None) -> None:
        submitted = self.waiting.pop(folder)
        self._announce(submitted)
        self.queue.finish(submitted.job, failure)

    def _died(self, folder: str, submitted: _Submitted) -> None:
        """Submit a job again that died, unless somebody cancelled it or it reached its limits too often."""
        log = self.folder / f"{submitted.number}_0_log.err"
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n") if log.exists() else []
        last = visible(next((line.strip() for line in reversed(lines) if line.strip()), "it wrote no log"))[-160:]
        # submitit leaves a result where it gave up by itself; it is not read
        gave_up = (self.folder / f"{submitted.number}_0_result.pkl").exists()
        if submitted.cancelled or gave_up or submitted.deaths >= self.launcher.retries:
            what = "was cancelled" if submitted.cancelled else "ended early"
            reason = f"its SLURM job {submitted.number} {what} ({last}); log: {log}; the same command goes on from its checkpoint"
            self._end(folder, Failure(submitted.job, reason, by_input=False))
            return
        _log(f"{submitted.job.label}: its SLURM job {submitted.number} died ({last}); it is submitted again")
        self._submit([submitted.job])
        if folder in self.waiting:
            again = self.waiting[folder]
            again.deaths, again.announced = submitted.deaths + 1, submitted.announced
        self._record()

    def _was_cancelled(self, submitted: _Submitted) -> bool:
        """Whether somebody cancelled a job; SLURM knows it for some minutes."""
        if self.launcher.cluster != "slurm":
            return False
        words = ["scontrol", "--oneliner", "show", "job", submitted.number]
        with suppress(OSError, subprocess.SubprocessError):
            return "JobState=CANCELLED" in subprocess.run(words, capture_output=True, text=True, timeout=60).stdout
        return False

    def _show(self, submitted: _Submitted, answers: Any) -> None:
        if (progress := answers.progress()) is not None:
            self._announce(submitted)
            self.study.display.advanced(submitted.job, *progress)

    def _announce(self, submitted: _Submitted) -> None:
        if not submitted.announced:
            submitted.announced = True
            self.queue.started(submitted.job)

    def _queued(self) -> set[str] | None:
        """The numbers of all jobs that wait or run; None where SLURM does not answer at the moment."""
        if self.launcher.cluster != "slurm":
            return {one.number for one in self.waiting.values() if one.handle is not None and not one.handle.done()}
        return queued_jobs()

    def _still_queued(self) -> dict[str, str]:
        """The numbers of jobs that an earlier command submitted and that wait or run, by the job's folder."""
        if self.launcher.cluster != "slurm" or not self.record_file.exists():
            return {}
        recorded = read_json(self.record_file)
        keys = {job.folder: job.key for job in self.jobs}
        known: Mapping[str, Any] = recorded if isinstance(recorded, dict) else {}
        while (queued := queued_jobs()) is None:
            time.sleep(self.pause)
        return {
            folder: str(one["number"])
            for folder, one in known.items()
            if keys.get(folder) == one["key"] and str(one["number"]) in queued
        }

    def _record(self) -> None:
        """Who runs what, for a later command if this one is killed."""
        jobs = {folder: {"number": one.number, "key": one.job.key} for folder, one in self.waiting.items()}
        write_json(self.record_file, jobs)

    def _cancel(self) -> None:
        numbers = [one.number for one in self.waiting.values()] + list(self._adopted.values())
        if self.launcher.cluster == "slurm" and numbers:
            with suppress(OSError, subprocess.SubprocessError):
                subprocess.run(["scancel", *numbers], capture_output=True, timeout=60)
        for one in self.waiting.values():
            if one.handle is not None:
                one.handle.cancel()


def queued_jobs() -> set[str] | None:
    """The numbers of this user's jobs that wait or run, as ``ARRAY_TASK`` or a plain number; None without an answer."""
    words = ["squeue", "--noheader", "--array", "--user", getpass.getuser(), "--format", "%i"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, env={**os.environ, "LC_ALL": "C"})
    except (OSError, subprocess.SubprocessError):
        return None
    return set(done.stdout.split()) if done.returncode == 0 else None


def _log(line: str) -> None:
    print(visible(line), file=sys.stderr, flush=True)
