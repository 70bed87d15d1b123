"""Our learners in T2, through the real loop: reading, augmentation, cue, normalisation, step and bookkeeping.

Their state after T1 (a full buffer, Fisher information, bases, a generator) is made from few images to save time: the duration
of a step does not depend on their number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from einstellung.cues import PatchCue
from einstellung.experiments.assembly import build_learner, resolve
from einstellung.learners import Learner
from einstellung.learners.gpm import GradientProjectionMemory
from einstellung.learners.replay import ReplayLearner
from einstellung.randomness import generator
from einstellung.results.config import StudyConfig, build_config
from einstellung.streams import Stream, shapes
from einstellung.training import LoopSettings, PhaseLoop

BATCH = 32
FEW: dict[str, dict[str, Any]] = {"ewc_on": {"fisher_images": 4}, "dgr": {"generator_epochs": 1}}
BASIS = 0.2  # share of a layer's inputs that gpm's basis spans


@dataclass(frozen=True)
class Setting:
    """A learner with its options, and how it is trained."""

    method: str
    width: int
    options: Mapping[str, Any] | None = None
    training: Mapping[str, Any] | None = None

    def config(self) -> StudyConfig:
        """With every ``auto`` resolved on this machine."""
        values = {
            "backbone": {"name": "resnet18", "width": self.width},
            "training": {"batch_size": BATCH, **(self.training or {})},
            "methods": [self.method],
            "learners": {self.method: {**FEW.get(self.method, {}), **(self.options or {})}},
        }
        return resolve(build_config(values))


def some_stream() -> Stream:
    """600 images of T1, enough to fill a buffer; T2 is reduced to the images of a measurement."""
    return shapes(PatchCue(), train_per_class=25, test_per_class=1)


def steps_in_t2(setting: Setting, stream: Stream, steps: int) -> Callable[[], None]:
    """An epoch over ``steps`` batches of T2, for a learner that has learned T1."""
    config = setting.config()
    learner = build_learner(config, setting.method, 1, stream)
    last = stream.phases[-1]
    leave_t1(learner, stream)
    every = torch.linspace(0, len(last.train) - 1, steps * BATCH).long()  # from all of its classes
    phase = replace(last, train=last.train.take(every))
    learner.begin_phase(phase)
    settings = LoopSettings(1, BATCH, config.training.lr)
    loop = PhaseLoop(learner, phase, settings, lambda *_: None, lambda _: None, lambda _: None)
    return loop.run


def leave_t1(learner: Learner, stream: Stream) -> None:
    """Fill the learner's memory as T1 would."""
    first = stream.phases[0]
    few = replace(first, train=first.train.take(torch.arange(0, len(first.train), 4)))
    learner.begin_phase(few)
    if isinstance(learner, ReplayLearner):
        learner.buffer.add(first.train, torch.zeros(len(first.train), stream.n_outputs), generator(1, "benchmark"))
    elif isinstance(learner, GradientProjectionMemory):
        for name, layer in learner.layers.items():
            inputs = layer.weight[0].numel()
            learner.bases[name] = torch.eye(inputs)[:, : max(1, round(BASIS * inputs))].contiguous()
    else:
        learner.end_phase(few)
