"""How fast this machine trains and evaluates a study's net: one worker, or several at the same time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from statistics import fmean
from typing import Any, Self

import torch

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_learner, build_stream
from einstellung.experiments.machine import own_memory
from einstellung.experiments.plugins import load_plugins
from einstellung.experiments.processes import Worker, messages, start_worker, use_threads
from einstellung.learners import Batch
from einstellung.modalities.transfer import to_device
from einstellung.randomness import generator
from einstellung.results.config import StudyConfig
from einstellung.sources.stand_ins import stand_ins
from einstellung.streams import Stream
from einstellung.training import Evaluator
from einstellung.training.devices import torch_threads

_EVALUATED = 100  # images: with a large net, a whole split takes long
_DIED = "a worker was killed while it was timed, possibly for lack of memory"


@dataclass(frozen=True)
class Throughput:
    """Images per second of plain training and of evaluation, on one worker."""

    training: float
    evaluation: float


def measure_throughput(config: StudyConfig, stream: Stream, budget: float = 2.0) -> Throughput:
    """The throughput of this process, measured for about ``budget`` seconds."""
    with torch_threads(config.training.thread_count):
        meter = ThroughputMeter(config, stream)
        meter.warm_up()
        return meter.measure(budget)


class ThroughputMeter:
    """Times a net on its data: whole steps (reading, cue, augmentation, forward, backward, update), and evaluation."""

    def __init__(self, config: StudyConfig, stream: Stream) -> None:
        self._learner = build_learner(config, "sgd", 0, stream)
        context = self._learner.context
        filled = [split for split in stream.splits if len(split.images)]  # few images may leave none for validation
        smallest = min(filled, key=lambda split: len(split.images))
        self._phase = stream.phases[-1]
        self._learner.begin_phase(self._phase)
        self._learner.training_mode()
        self._draws = generator(0, "estimate")
        self._size = min(config.training.batch_size, len(self._phase.train))
        some = smallest.images.take(torch.arange(min(_EVALUATED, len(smallest.images))))
        self._split = replace(smallest, images=some)
        self._evaluator = Evaluator(
            replace(stream, splits=(self._split,)), context.presentation, context.autocast, config.evaluation.batch_size
        )

    def warm_up(self) -> None:
        """Run once, because the first calls include allocations and the loading of kernels."""
        self.train()
        self._evaluate()

    def measure(self, budget: float) -> Throughput:
        """Train for about ``budget`` seconds, then evaluate for half as long."""
        return Throughput(self._rate(self.train, budget), self._rate(self._evaluate, budget / 2))

    def train(self) -> int:
        """One step; its number of images."""
        learner = self._learner
        raw = self._phase.train.take(torch.randperm(len(self._phase.train), generator=self._draws)[: self._size])
        inputs = learner.context.presentation.training(raw, self._draws, self._draws)
        self._loss = learner.observe(Batch(inputs, to_device(raw.labels, inputs.device), raw))
        return self._size

    def _evaluate(self) -> int:
        return self._evaluator.measure(self._learner.net, [self._split.name])[0].n

    def _rate(self, work: Callable[[], int], budget: float) -> float:
        images, start = 0, time.perf_counter()
        while images == 0 or time.perf_counter() - start < budget:
            images += work()
        float(self._loss)  # an accelerator works asynchronously: wait for its last result
        return images / (time.perf_counter() - start)


@dataclass(frozen=True)
class PoolMeasurement:
    """The mean throughput of workers that ran at the same time, and the memory in bytes that each needs for itself."""

    throughput: Throughput
    memory: int | None


class TrialFailedError(InputError):
    """The workers could not be timed, possibly for lack of memory."""


class WorkerPool:
    """Workers that time training at the same moment: started when first needed, stopped with the ``with`` block."""

    def __init__(self, config: StudyConfig, planning: bool = False) -> None:
        self._config = config
        self._planning = planning
        self._workers: list[Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.stop()

    def measure(self, threads: int, workers: int, budget: float) -> PoolMeasurement:
        """Let ``workers`` train at once for about ``budget`` seconds, then evaluate for half as long."""
        while len(self._workers) < workers:
            self._workers.append(start_worker(_measure, self._config, self._planning, name="throughput"))
        pipes = [worker.pipe for worker in self._workers[:workers]]
        for question in (threads, budget):  # no worker starts before all are ready
            for pipe in pipes:
                _send(pipe, question)
            answers = [_receive(pipe) for pipe in pipes]
        for pipe in pipes:
            _send(pipe, "stop")
        rates, memories = zip(*answers, strict=True)
        mean = Throughput(fmean(rate.training for rate in rates), fmean(rate.evaluation for rate in rates))
        return PoolMeasurement(mean, None if None in memories else max(memories))


def _send(pipe: Connection, question: Any) -> None:
    try:
        pipe.send(question)
    except OSError:
        raise TrialFailedError(_DIED) from None


def _receive(pipe: Connection) -> Any:
    try:
        error, answer = pipe.recv()
    except (EOFError, OSError):
        raise TrialFailedError(_DIED) from None
    if error:
        raise TrialFailedError(f"a worker could not be timed: {error}")
    return answer


def _measure(pipe: Connection, config: StudyConfig, planning: bool) -> None:
    """The main loop of a worker: get ready, train while timed, continue until all are timed."""
    try:
        load_plugins(config.plugins)
        with stand_ins() if planning else nullcontext():
            stream = build_stream(config)
        meter = ThroughputMeter(config, stream)
        for threads in (questions := messages(pipe)):
            use_threads(threads)
            meter.warm_up()
            pipe.send((None, None))
            throughput = meter.measure(next(questions))
            pipe.send((None, (throughput, own_memory())))
            while not pipe.poll():
                meter.train()  # keep the machine busy for those that are still timed
            next(questions)
    except Exception as error:  # noqa: BLE001 (any error is reported to the parent)
        pipe.send((f"{type(error).__name__}: {error}".splitlines()[0], None))
