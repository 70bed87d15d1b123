"""How many runs to execute in parallel, with how many threads each: as given, or chosen by a short measurement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from einstellung.errors import InputError
from einstellung.experiments.estimate import seconds_of
from einstellung.experiments.launchers import make_launcher
from einstellung.experiments.machine import Workers, default_workers, free_memory, usable_cores
from einstellung.experiments.plan import Job
from einstellung.experiments.progress import describe_duration
from einstellung.experiments.schedule import makespan, most_at_once
from einstellung.experiments.study import Prepared, jobs_to_do
from einstellung.experiments.throughput import PoolMeasurement, Throughput, TrialFailedError, WorkerPool
from einstellung.results.config import StudyConfig
from einstellung.results.folder import ResultsFolder
from einstellung.training.devices import resolve_device

Log = Callable[[str], None]
_TIE = 1.03
_SECONDS = 10.0  # for all trials together, without the start of the workers
_LONGEST = 3.0
_KEPT_FREE = 0.4  # of the free memory: replay buffers, generators and checkpoints come on top of what is measured
_SHARING = (1, 2, 4)  # runs on one accelerator


@dataclass(frozen=True)
class Candidate:
    """A number of runs at a time, and of threads in each."""

    workers: int
    threads: int

    def __str__(self) -> str:
        return f"{_count(self.workers, 'worker')} with {_count(self.threads, 'thread')}" + (
            " each" if self.workers > 1 else ""
        )


@dataclass(frozen=True)
class Trial:
    """A candidate, the throughput of each of its workers, and how long the study would take."""

    candidate: Candidate
    throughput: Throughput
    seconds: float

    @property
    def images_per_second(self) -> float:
        return self.candidate.workers * self.throughput.training


@dataclass(frozen=True)
class Arrangement:
    """How a study is run. ``throughput``: of each worker while the others run, if it was measured."""

    candidate: Candidate
    trials: tuple[Trial, ...] = ()
    limit: str | None = None

    @property
    def workers(self) -> int:
        return self.candidate.workers

    @property
    def threads(self) -> int:
        return self.candidate.threads

    @property
    def throughput(self) -> Throughput | None:
        return next((trial.throughput for trial in self.trials if trial.candidate == self.candidate), None)


def arrange(
    given: Mapping[str, StudyConfig],
    prepared: Mapping[str, Prepared],
    root: Path,
    first_phases: str,
    workers: Workers | None,
    log: Log,
) -> tuple[dict[str, Prepared], dict[str, Arrangement]]:
    """The studies below ``root`` with their threads as numbers, and how each is run; one measurement serves all of them.

    A study that was begun keeps its threads, and so do those that are added to a sweep: other threads change sums.
    """
    kept = [
        study.config.training.threads
        for name, study in prepared.items()
        if given[name].training.threads == "auto" and study.config.training.threads != "auto"
    ]
    studies, arrangements = dict[str, Prepared](), dict[str, Arrangement]()
    measured: dict[tuple[int | Literal["auto"], str], Arrangement] = {}
    for name, study in prepared.items():
        if kept and study.config.training.threads == "auto":
            study = _with_threads(study, int(kept[0]))
        alike = study.config.training.threads, study.config.training.device
        _, jobs = jobs_to_do(study, ResultsFolder(root / name), first_phases)
        arrangements[name] = measured.get(alike) or _arranged(study, jobs, workers, log)
        if jobs:
            measured[alike] = arrangements[name]
        studies[name] = _with_threads(study, arrangements[name].threads)
    return studies, arrangements


def candidates(cores: int, threads: int | Literal["auto"], workers: Workers, most: int) -> list[Candidate]:
    """Candidates for the CPU, fewest workers first: powers of two, at most ``most`` workers.

    >>> [(one.threads, one.workers) for one in candidates(8, "auto", "auto", most=20)]
    [(8, 1), (4, 2), (2, 4), (1, 8)]
    >>> [(one.threads, one.workers) for one in candidates(8, "auto", "auto", most=2)]
    [(8, 1), (1, 2), (2, 2), (4, 2)]
    >>> [one.workers for one in candidates(6, 1, "auto", most=20)]
    [1, 2, 4, 6]
    """
    if threads == "auto":
        at_most = max(1, cores // workers) if workers != "auto" else cores
        pairs = [(workers if workers != "auto" else min(cores // count, most), count) for count in _steps(at_most)]
    else:
        pairs = [(min(count, most), threads) for count in _steps(max(1, cores // threads))]
    return [Candidate(*pair) for pair in sorted(set(pairs))]


def measure(
    options: Sequence[Candidate],
    timed: Callable[[Candidate], PoolMeasurement],
    seconds: Callable[[Candidate, Throughput], float],
    memory: int | None,
    log: Log,
) -> Arrangement:
    """Try the candidates that fit into ``memory``, fewest workers first, and choose the one that finishes the study first."""
    trials, limit, room = list[Trial](), None, None
    for option in options:
        if room is not None and option.workers > room:
            option = replace(option, workers=room)
            if any(trial.candidate == option for trial in trials):
                continue
        try:
            found = timed(option)
        except TrialFailedError as error:
            if not trials:
                raise
            log(f"  {option}: {error}")
            break  # all others have at least as many workers
        trial = Trial(option, found.throughput, seconds(option, found.throughput))
        trials.append(trial)
        rate, length = trial.images_per_second, describe_duration(trial.seconds)
        log(f"  {option}: {rate:.0f} images per second, all runs in about {length}")
        if memory is not None and found.memory:
            room = max(1, int((1 - _KEPT_FREE) * memory / found.memory))
            if limit is None and room < options[-1].workers:
                limit = (
                    f"at most {_count(room, 'worker')}: each needs {found.memory / 2**20:.0f} MB "
                    f"of {memory / 2**20:.0f} MB of free memory"
                )
                log(f"  {limit}")
    return Arrangement(chosen(trials).candidate, tuple(trials), limit)


def chosen(trials: Sequence[Trial]) -> Trial:
    """The fastest trial; of those within 3 % of it, the one with fewest threads, then with fewest workers."""
    limit = _TIE * min(trial.seconds for trial in trials)
    near = [trial for trial in trials if trial.seconds <= limit]
    return min(near, key=lambda trial: (trial.candidate.threads, trial.candidate.workers))


def _arranged(study: Prepared, jobs: Sequence[Job], workers: Workers | None, log: Log) -> Arrangement:
    config, stream = study.config, study.stream
    threads = config.training.threads
    launcher = make_launcher(config.launcher)
    if not launcher.runs_here:
        if "auto" in (threads, workers):
            raise InputError(
                f"{'training.threads' if threads == 'auto' else '--workers'} is 'auto', which is measured on this machine, and "
                f"the launcher '{config.launcher.name}' runs jobs elsewhere: give a number"
            )
        count = workers if isinstance(workers, int) else launcher.at_a_time(config, jobs)
        return Arrangement(Candidate(count, config.training.thread_count))
    if resolve_device(config.training.device).type != "cpu":
        # By default one run has the accelerator to itself, and further CPU threads have little to do.
        threads = 1 if threads == "auto" else threads
        most = min(most_at_once(jobs), default_workers(threads))
        options = [Candidate(count, threads) for count in _SHARING if count == 1 or count <= most]
        options = options if workers == "auto" else [Candidate(workers or 1, threads)]
    elif threads != "auto" and workers != "auto":
        options = [Candidate(workers or default_workers(threads), threads)]
    else:
        options = candidates(usable_cores(), threads, workers or "auto", max(1, most_at_once(jobs)))
    if len(options) == 1 or not jobs:
        if "auto" in (threads, workers):
            log(f"{options[0]}: the only option")
        return Arrangement(options[0])
    budget = min(_LONGEST, _SECONDS / len(options)) / 1.5
    length = describe_duration(1.5 * budget * len(options) + 5)
    log(f"measuring {len(options)} combinations of workers and threads, about {length}")
    with WorkerPool(config, planning=bool(study.assumed)) as pool:
        arrangement = measure(
            options,
            lambda option: pool.measure(option.threads, option.workers, budget),
            lambda option, rate: makespan(jobs, seconds_of(jobs, config, stream, rate), option.workers),
            free_memory() if workers in (None, "auto") else None,
            log,
        )
    log(f"chosen: {arrangement.candidate}")
    return arrangement


def _with_threads(study: Prepared, threads: int) -> Prepared:
    def changed(config: StudyConfig) -> StudyConfig:
        return config.model_copy(update={"training": config.training.model_copy(update={"threads": threads})})

    return replace(study, config=changed(study.config), recorded=changed(study.recorded))


def _steps(most: int) -> list[int]:
    """Powers of two up to ``most``, and ``most`` itself."""
    return sorted({*(2**power for power in range(most.bit_length())), most})


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}"
