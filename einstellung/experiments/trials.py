"""Several workers timed at once: real training steps of a study's net, with so many threads each."""

from __future__ import annotations

from dataclasses import dataclass
from multiprocessing.connection import Connection
from statistics import fmean
from typing import Any, Self

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream
from einstellung.experiments.estimate import Pace, PaceMeter
from einstellung.experiments.machine import own_memory
from einstellung.experiments.plugins import load_plugins
from einstellung.experiments.processes import Helper, handed_over, start_helper, use_threads
from einstellung.results.config import StudyConfig

_GONE = "a worker was ended while it was timed, perhaps for want of memory"


@dataclass(frozen=True)
class Timed:
    """What some workers did at the same time: the pace of one of them, and the bytes that one needs for itself."""

    pace: Pace
    memory: int | None


class TrialFailedError(InputError):
    """So many workers could not be timed at once, for want of memory perhaps."""


class Crew:
    """Workers that wait for their turn: started when they are first needed, ended with the ``with`` block."""

    def __init__(self, config: StudyConfig) -> None:
        self._config = config
        self._helpers: list[Helper] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for helper in self._helpers:
            helper.end()

    def timed(self, threads: int, workers: int, budget: float) -> Timed:
        """Have so many workers train at once, for about ``budget`` seconds and half as long evaluation."""
        while len(self._helpers) < workers:
            self._helpers.append(start_helper(_measure, self._config, name="trial"))
        pipes = [helper.pipe for helper in self._helpers[:workers]]
        for word in (threads, budget):  # nobody starts before all are ready
            for pipe in pipes:
                _say(pipe, word)
            answers = [_answer(pipe) for pipe in pipes]
        for pipe in pipes:
            _say(pipe, "stop")
        paces, memories = zip(*answers, strict=True)
        pace = Pace(fmean(pace.training for pace in paces), fmean(pace.evaluation for pace in paces))
        return Timed(pace, None if None in memories else max(memories))


def _say(pipe: Connection, word: Any) -> None:
    try:
        pipe.send(word)
    except OSError:
        raise TrialFailedError(_GONE) from None


def _answer(pipe: Connection) -> Any:
    try:
        trouble, answer = pipe.recv()
    except (EOFError, OSError):
        raise TrialFailedError(_GONE) from None
    if trouble:
        raise TrialFailedError(f"a worker could not be timed: {trouble}")
    return answer


def _measure(pipe: Connection, config: StudyConfig) -> None:
    """What a worker does: say that it is ready, train while it is timed, go on until all have been."""
    try:
        load_plugins(config.plugins)
        meter = PaceMeter(config, build_stream(config))
        for threads in (messages := handed_over(pipe)):
            use_threads(threads)
            meter.warm_up()
            pipe.send((None, None))
            pace = meter.pace(next(messages))
            pipe.send((None, (pace, own_memory())))
            while not pipe.poll():
                meter.train()  # for the sake of those who are still timed
            next(messages)
    except Exception as error:  # noqa: BLE001 (whatever it is, it is reported to whoever asked)
        pipe.send((f"{type(error).__name__}: {error}".splitlines()[0], None))
