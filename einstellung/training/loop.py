"""The loop: a learner goes through the epochs of a phase, and a listener hears where it stands."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from einstellung.learners.learner import Batch, Learner
from einstellung.randomness import generator
from einstellung.streams.stream import Phase


@dataclass(frozen=True)
class LoopSettings:
    """How long and how fast a phase is learned."""

    epochs: int
    batch_size: int
    lr: float
    milestones: tuple[int, ...] = ()
    decay: float = 0.1
    evaluate_every_steps: int | None = None

    def lr_at(self, epoch: int) -> float:
        """The learning rate of an epoch (counted from 1): x ``decay`` after every milestone that has passed.

        >>> LoopSettings(50, 32, 0.01, (35, 45)).lr_at(35)
        0.01
        >>> round(LoopSettings(50, 32, 0.01, (35, 45)).lr_at(36), 6)
        0.001
        """
        return self.lr * self.decay ** sum(epoch > milestone for milestone in self.milestones)


class PhaseLoop:
    """One phase of one run.

    ``on_evaluation(effective_epoch)`` is called within an epoch where that is asked for, ``on_epoch(epoch)`` after each whole
    epoch, ``on_step(samples)`` after each step. An epoch is a function of (weights, optimiser, learner's memory, seed, phase,
    epoch) alone, so a run can stop between any two epochs and go on as if it had not.
    """

    def __init__(
        self,
        learner: Learner,
        phase: Phase,
        settings: LoopSettings,
        on_epoch: Callable[[int], None],
        on_evaluation: Callable[[float], None],
        on_step: Callable[[int], None],
    ) -> None:
        self.learner = learner
        self.phase = phase
        self.settings = settings
        self.on_epoch = on_epoch
        self.on_evaluation = on_evaluation
        self.on_step = on_step

    def run(self, done: int = 0) -> None:
        """Learn the epochs after the first ``done`` ones."""
        for epoch in range(done + 1, self.settings.epochs + 1):
            self._epoch(epoch)
            self.on_epoch(epoch)

    def _epoch(self, epoch: int) -> None:
        learner, phase, settings = self.learner, self.phase, self.settings
        seed, presentation = learner.context.seed, learner.context.presentation
        assert learner.optimiser is not None, "begin_phase comes before the loop"
        for group in learner.optimiser.param_groups:
            group["lr"] = settings.lr_at(epoch)
        learner.net.train()
        learner.begin_epoch(phase, epoch)
        order = torch.randperm(len(phase.train), generator=generator(seed, "order", phase.name, epoch))
        augmentation = generator(seed, "augmentation", phase.name, epoch)
        cue = generator(seed, "cue", phase.name, epoch)
        consumed = 0
        for step, rows in enumerate(order.split(settings.batch_size), start=1):
            raw = phase.train.take(rows)
            inputs = presentation.training(raw, augmentation, cue)
            loss = learner.observe(Batch(inputs, raw.labels.to(inputs.device), raw))
            consumed += len(rows)
            self.on_step(len(rows))
            every = settings.evaluate_every_steps
            if every and step % every == 0 and consumed < len(phase.train):
                self.on_evaluation(epoch - 1 + consumed / len(phase.train))
                learner.net.train()
        require_finite(float(loss), f"after epoch {epoch} of {phase.name}")


def require_finite(loss: float, where: str) -> None:
    """Stop a run that has diverged: whatever it measured from there on would mean nothing."""
    if not math.isfinite(loss):
        raise FloatingPointError(f"the loss is {loss} {where}: lower training.lr or the method's own weights")
