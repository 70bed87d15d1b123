"""Evaluate the stored net of a finished run on every split again, and compare with its timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_learner
from einstellung.experiments.plan import Job
from einstellung.experiments.study import Prepared
from einstellung.learners.combined import use_final_architecture
from einstellung.results.folder import read_status, require_whole
from einstellung.timeline import Timeline
from einstellung.training import Evaluator
from einstellung.training.checkpoint import load_state
from einstellung.training.devices import torch_threads
from einstellung.training.evaluator import Measurement

TOLERANCE = 1e-6
_MEASURED = ("acc", "loss", "acc_task", "acc_within", "top5")


@dataclass(frozen=True)
class Remeasured:
    """New measurements of a run that agree with its timeline."""

    job: Job
    phase: str
    epoch: float
    measurements: tuple[Measurement, ...]

    def describe(self) -> str:
        count = len(self.measurements)
        return f"{self.job.label}: evaluated again at {self.phase} epoch {self.epoch:g}, {count} splits agree with its timeline"


def remeasure(prepared: Prepared, root: Path, job: Job) -> Remeasured:
    """Load the chosen checkpoint of a finished run and evaluate it on all splits, with the run's own threads.

    A number that differs by more than 1e-6 from the timeline is an error that names the split and both values.
    """
    config, stream = prepared.config, prepared.stream
    folder = root / job.folder
    epoch = float((read_status(folder) or {})["chosen_epoch"])
    for name in ("model.safetensors", "timeline.csv"):
        require_whole(folder / name)
    with torch_threads(config.training.thread_count):
        learner = build_learner(config, job.method, job.seed, stream)
        use_final_architecture(learner)
        learner.net.load_state_dict(load_state(folder / "model.safetensors"))
        context = learner.context
        evaluator = Evaluator(stream, context.presentation, context.autocast, config.evaluation.batch_size)
        measurements = tuple(evaluator.measure(learner.net, [split.name for split in stream.splits]))
    phase = stream.phases[-1].name
    _compare(folder / "timeline.csv", phase, epoch, measurements)
    return Remeasured(job, phase, epoch, measurements)


def _compare(file: Path, phase: str, epoch: float, measurements: Sequence[Measurement]) -> None:
    frame = Timeline.read(file).frame
    rows = frame[(frame["phase"] == phase) & (frame["epoch"] == epoch)].set_index("split")
    for now in measurements:
        if now.split not in rows.index:
            raise InputError(f"{file} has no row of {now.split} at epoch {epoch:g} of {phase}; train the run again")
        then: Any = rows.loc[now.split]
        for measure in _MEASURED:
            if measure not in rows.columns or pd.isna(then[measure]):
                continue
            if abs(getattr(now, measure) - float(then[measure])) > TOLERANCE:
                raise InputError(
                    f"{now.split} at epoch {epoch:g} of {phase}: {measure} is {getattr(now, measure):.6f} now, but "
                    f"{float(then[measure]):.6f} in {file}; the machine, the packages or a file may have changed"
                )
