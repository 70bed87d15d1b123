"""How long a study will take: the planned work divided by the throughput measured on this machine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from einstellung.experiments.evaluation_schedule import splits_due
from einstellung.experiments.plan import Job, stages
from einstellung.experiments.schedule import makespan
from einstellung.experiments.throughput import Throughput, measure_throughput
from einstellung.results.config import StudyConfig
from einstellung.streams import EvaluationSplit, Stream
from einstellung.streams.containment import contained_splits


@dataclass(frozen=True)
class Estimate:
    """Seconds of each job by its folder, and of all of them together."""

    throughput: Throughput
    seconds: dict[str, float]
    total: float


def estimate(
    config: StudyConfig, stream: Stream, jobs: Sequence[Job], workers: int, throughput: Throughput | None = None
) -> Estimate:
    """Seconds for every job and for the whole. Replay, penalties and generators count by each method's declared cost."""
    throughput = throughput or measure_throughput(config, stream)
    seconds = seconds_of(jobs, config, stream, throughput)
    return Estimate(throughput, seconds, makespan(jobs, seconds, workers))


def seconds_of(jobs: Sequence[Job], config: StudyConfig, stream: Stream, throughput: Throughput) -> dict[str, float]:
    """How long each job takes a worker, by the job's folder."""
    within = contained_splits(stream.splits)
    homes = {split.name: within[split.name].container if split.name in within else split for split in stream.splits}
    return {
        job.folder: job.work / throughput.training + _evaluated(job, config, stream, homes) / throughput.evaluation
        for job in jobs
    }


def _evaluated(job: Job, config: StudyConfig, stream: Stream, homes: Mapping[str, EvaluationSplit]) -> int:
    """How many images a job evaluates; ``homes``: the split in whose batches the images of each split are evaluated."""
    numbers = range(len(stream.phases)) if job.kind == "run" else range(1)
    if job.kind == "run":
        numbers = numbers[-1:] if job.needs is None else numbers[1:]
    return sum(_evaluated_in_phase(job, config, stream, homes, number) for number in numbers)


def _evaluated_in_phase(
    job: Job, config: StudyConfig, stream: Stream, homes: Mapping[str, EvaluationSplit], number: int
) -> int:
    phase, trained = stream.phases[number], [len(phase.train) for phase in stream.phases]
    parts = [stage for stage in stages(config, job.method, trained, number) if not stage.preparatory]
    epochs = sum(stage.epochs for stage in parts)

    def due(epoch: float, last: bool = False) -> int:
        names = {homes[name].name for name in splits_due(stream, phase, config.evaluation, epoch, last)}
        return sum(len(stream.split(name).images) for name in names)

    evaluation = config.evaluation
    alike = epochs_alike(epochs, evaluation.extra_every, evaluation.t1_all_every)
    evaluated = due(float(epochs), last=True) + sum(count * due(epoch) for epoch, count in alike)
    every = config.evaluation.every_steps
    if every and (number == len(stream.phases) - 1 or phase.name in stream.phase_cues):
        steps = math.ceil(len(phase.train) / config.training.batch_size)
        evaluated += epochs * ((steps - 1) // every) * due(0.5)
    return evaluated


def epochs_alike(epochs: int, *every: int) -> list[tuple[float, int]]:
    """The moments 0 to ``epochs`` - 1, one of each kind with its count; those that the same of ``every`` divide are one kind.

    A plan takes no longer for more epochs.

    >>> epochs_alike(10, 2, 3)  # 0 and 6; 3 and 9; 2, 4 and 8; the others, as 0.5
    [(6, 2), (3, 2), (2, 3), (0.5, 3)]
    """
    kinds = sorted(
        {math.lcm(*some) for size in range(1, len(every) + 1) for some in combinations(every, size)}, reverse=True
    )
    found: list[tuple[float, int]] = []
    for kind in kinds:
        counted = sum(count for other, count in found if other % kind == 0)
        if count := -(-epochs // kind) - counted:
            found.append((kind, count))
    rest = epochs - sum(count for _, count in found)
    return [*found, (0.5, rest)] if rest else found
