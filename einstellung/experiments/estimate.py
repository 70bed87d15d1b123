"""How long a study will take: a few training steps and a little evaluation, timed here and now, times the work planned."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from einstellung.experiments.assembly import build_learner
from einstellung.experiments.config import StudyConfig
from einstellung.experiments.evaluation_schedule import splits_due
from einstellung.experiments.plan import Job, next_job, passes
from einstellung.learners import Batch
from einstellung.randomness import generator
from einstellung.streams import Stream
from einstellung.training import Evaluator


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


def estimate(config: StudyConfig, stream: Stream, jobs: Sequence[Job], workers: int) -> Estimate:
    """Seconds for every job and for the whole. Replay, penalties and generators enter by each method's declared cost."""
    pace = measured_pace(config, stream)
    seconds = {job.folder: _seconds(job, config, stream, pace) for job in jobs}
    return Estimate(pace, seconds, workers, makespan(jobs, seconds, workers))


def measured_pace(config: StudyConfig, stream: Stream, budget: float = 2.0) -> Pace:
    """Time whole steps (reading, cue, augmentation, forward, backward, update) for about ``budget`` seconds."""
    before = torch.get_num_threads()
    torch.set_num_threads(config.training.threads)
    try:
        learner = build_learner(config, "sgd", 0, stream)
        phase, presentation = stream.phases[-1], learner.context.presentation
        learner.begin_phase(phase)
        learner.training_mode()
        draws = generator(0, "estimate")
        size = min(config.training.batch_size, len(phase.train))

        def train() -> int:
            raw = phase.train.take(torch.randperm(len(phase.train), generator=draws)[:size])
            inputs = presentation.training(raw, draws, draws)
            learner.observe(Batch(inputs, raw.labels.to(inputs.device), raw))
            return size

        evaluator = Evaluator(stream, presentation, learner.context.autocast, config.evaluation.batch_size)
        smallest = min(stream.splits, key=lambda split: len(split.images))

        def evaluate() -> int:
            return evaluator.measure(learner.net, [smallest.name])[0].n

        return Pace(_seconds_per_image(train, budget), _seconds_per_image(evaluate, budget / 2))
    finally:
        torch.set_num_threads(before)


def makespan(jobs: Sequence[Job], seconds: dict[str, float], workers: int) -> float:
    """How long all jobs take when each free worker takes the next one by the launcher's own rule."""
    waiting, running, done = list(jobs), list[tuple[float, Job]](), set[str]()
    planned, now = {job.folder for job in jobs}, 0.0
    while waiting or running:
        while len(running) < workers and (job := next_job(waiting, planned, done)):
            waiting.remove(job)
            running.append((now + seconds[job.folder], job))
        first = min(running, key=lambda entry: entry[0])
        running.remove(first)
        now = first[0]
        done.add(first[1].folder)
    return now


def _seconds_per_image(work: Callable[[], int], budget: float) -> float:
    work()  # the first call pays for allocations and kernel set-up
    images, start = 0, time.perf_counter()
    while images == 0 or time.perf_counter() - start < budget:
        images += work()
    return (time.perf_counter() - start) / images


def _seconds(job: Job, config: StudyConfig, stream: Stream, pace: Pace) -> float:
    phase = stream.phases[0] if job.kind == "first_phase" else stream.phases[-1]
    first_epochs, trained = config.training.epochs[0], [len(phase.train) for phase in stream.phases]
    epochs = first_epochs if job.kind == "first_phase" else math.ceil(passes(config, job.method, trained))
    sizes = {split.name: len(split.images) for split in stream.splits}
    evaluated = sum(
        sizes[name]
        for epoch in range(epochs + 1)
        for name in splits_due(stream, phase, config.evaluation, epoch, last=epoch == epochs)
    )
    return job.work * pace.training + evaluated * pace.evaluation
