"""How long a study will take: a few training steps and a little evaluation, timed here and now, times the work planned."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from einstellung.experiments.assembly import build_learner
from einstellung.experiments.evaluation_schedule import splits_due
from einstellung.experiments.order import makespan
from einstellung.experiments.plan import Job, stages
from einstellung.learners import Batch
from einstellung.randomness import generator
from einstellung.results.config import StudyConfig
from einstellung.streams import EvaluationSplit, Stream
from einstellung.streams.containment import contained_splits
from einstellung.streams.transfer import to_device
from einstellung.training import Evaluator

_EVALUATED = 100  # images: a whole split would take a large net long


@dataclass(frozen=True)
class Pace:
    """Seconds per image of plain training and of evaluation, on one worker that has the machine to itself."""

    training: float
    evaluation: float


@dataclass(frozen=True)
class Estimate:
    """What the jobs will take, one by one, and all of them on so many workers."""

    pace: Pace
    seconds: dict[str, float]
    workers: int
    total: float


def estimate(
    config: StudyConfig, stream: Stream, jobs: Sequence[Job], workers: int, pace: Pace | None = None
) -> Estimate:
    """Seconds for every job and for the whole. Replay, penalties and generators enter by each method's declared cost."""
    pace = pace or measured_pace(config, stream)
    seconds = seconds_of(jobs, config, stream, pace)
    return Estimate(pace, seconds, workers, makespan(jobs, seconds, workers))


def seconds_of(jobs: Sequence[Job], config: StudyConfig, stream: Stream, pace: Pace) -> dict[str, float]:
    """How long each job takes a worker of that pace, by its folder."""
    within = contained_splits(stream.splits)
    shown = {split.name: within[split.name].container if split.name in within else split for split in stream.splits}
    return {job.folder: _seconds(job, config, stream, shown, pace) for job in jobs}


def measured_pace(config: StudyConfig, stream: Stream, budget: float = 2.0) -> Pace:
    """The pace of one worker, measured here for about ``budget`` seconds."""
    before = torch.get_num_threads()
    torch.set_num_threads(config.training.thread_count)
    try:
        meter = PaceMeter(config, stream)
        meter.warm_up()
        return meter.pace(budget)
    finally:
        torch.set_num_threads(before)


class PaceMeter:
    """A net with its data, to be timed: whole steps (reading, cue, augmentation, forward, backward, update), and evaluation."""

    def __init__(self, config: StudyConfig, stream: Stream) -> None:
        self._learner = build_learner(config, "sgd", 0, stream)
        context, smallest = self._learner.context, min(stream.splits, key=lambda split: len(split.images))
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
        """The first calls pay for allocations and kernels."""
        self.train()
        self._evaluate()

    def pace(self, budget: float) -> Pace:
        """Train for about so many seconds, and evaluate for half as many."""
        return Pace(self._seconds_per_image(self.train, budget), self._seconds_per_image(self._evaluate, budget / 2))

    def train(self) -> int:
        """One step; the number of images it took."""
        learner = self._learner
        raw = self._phase.train.take(torch.randperm(len(self._phase.train), generator=self._draws)[: self._size])
        inputs = learner.context.presentation.training(raw, self._draws, self._draws)
        self._loss = learner.observe(Batch(inputs, to_device(raw.labels, inputs.device), raw))
        return self._size

    def _evaluate(self) -> int:
        return self._evaluator.measure(self._learner.net, [self._split.name])[0].n

    def _seconds_per_image(self, work: Callable[[], int], budget: float) -> float:
        images, start = 0, time.perf_counter()
        while images == 0 or time.perf_counter() - start < budget:
            images += work()
        float(self._loss)  # an accelerator is at work until its last number is there
        return (time.perf_counter() - start) / images


def _seconds(job: Job, config: StudyConfig, stream: Stream, shown: Mapping[str, EvaluationSplit], pace: Pace) -> float:
    numbers = range(len(stream.phases)) if job.kind == "run" else range(1)
    if job.kind == "run":
        numbers = numbers[-1:] if job.needs is None else numbers[1:]
    evaluated = sum(_evaluated(job, config, stream, shown, number) for number in numbers)
    return job.work * pace.training + evaluated * pace.evaluation


def _evaluated(job: Job, config: StudyConfig, stream: Stream, shown: Mapping[str, EvaluationSplit], number: int) -> int:
    """How many images a job is shown in one of its phases to be measured; ``shown``: the split that holds those of each."""
    phase, trained = stream.phases[number], [len(phase.train) for phase in stream.phases]
    # a stage in which nothing is measured yet is none for this count
    parts = [stage for stage in stages(config, job.method, trained, number) if not stage.preparatory]
    epochs = sum(stage.epochs for stage in parts)

    def due(epoch: float, last: bool = False) -> int:
        homes = {shown[name].name for name in splits_due(stream, phase, config.evaluation, epoch, last)}
        return sum(len(stream.split(name).images) for name in homes)

    evaluated = sum(due(epoch, last=epoch == epochs) for epoch in range(epochs + 1))
    every = config.evaluation.every_steps
    if every and number == len(stream.phases) - 1:
        steps = math.ceil(len(phase.train) / config.training.batch_size)
        evaluated += epochs * ((steps - 1) // every) * due(0.5)
    return evaluated
