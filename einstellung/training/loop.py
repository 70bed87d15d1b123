"""The training loop: run a learner through the epochs of a phase, with callbacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.learner import Batch, Learner, Stage
from einstellung.modalities.transfer import to_device
from einstellung.randomness import generator, seeded_globally
from einstellung.streams.stream import ImageSet, Phase


@dataclass(frozen=True)
class LoopSettings:
    """Epochs, batch size and learning rate of a stage of a phase.

    ``epochs`` is the number of passes over the images of the learner's sources; a fractional last pass is cut short.
    ``before``: the epochs of the phase's earlier stages, after which its own are counted.
    """

    epochs: float
    batch_size: int
    lr: float
    milestones: tuple[float, ...] = ()
    decay: float = 0.1
    evaluate_every_steps: int | None = None
    cosine: bool = False
    lr_end: float = 0.0
    before: int = 0

    def lr_at(self, epoch: int) -> float:
        """The learning rate of an epoch of the stage (counted from 1): x ``decay`` after every milestone that has passed.

        The first epoch always has the full rate, however short the stage. With ``cosine`` it decays from ``lr`` along half a
        cosine wave and reaches ``lr_end`` after the last epoch.

        >>> LoopSettings(50, 32, 0.01, (35, 45)).lr_at(35)
        0.01
        >>> round(LoopSettings(50, 32, 0.01, (35, 45)).lr_at(36), 6)
        0.001
        >>> LoopSettings(1, 32, 0.01, (0.7, 0.9)).lr_at(1)
        0.01
        >>> round(LoopSettings(10, 32, 0.01, cosine=True).lr_at(6), 6)
        0.005
        """
        if self.cosine:
            return self.lr_end + (self.lr - self.lr_end) * (1 + math.cos(math.pi * (epoch - 1) / self.epochs)) / 2
        return self.lr * self.decay ** sum(epoch > max(1.0, milestone) for milestone in self.milestones)

    @property
    def rounds(self) -> int:
        """The number of epochs, including a last short one.

        >>> LoopSettings(11.7, 32, 0.01).rounds
        12
        """
        return Stage("", self.epochs).epochs


class PhaseLoop:
    """One stage of one phase of one run; most phases have only one.

    Only the phase's own images count for the effective epoch, the number of passes over them so far; other images that a learner
    uses do not. ``consumed``: how many of them the run had used before this stage, or before it was interrupted.
    ``on_evaluation(effective_epoch)`` is called within an epoch where configured, ``on_epoch(epoch, effective_epoch)``
    after each epoch, ``on_step(counts)`` after each step with the number of real images it took from each phase.
    An epoch is a function of (weights, optimiser, learner's memory, seed, phase, epoch) alone, so a run can stop between any
    two epochs and resume with identical results.
    """

    def __init__(
        self,
        learner: Learner,
        phase: Phase,
        settings: LoopSettings,
        on_epoch: Callable[[int, float], None],
        on_evaluation: Callable[[float], None],
        on_step: Callable[[dict[str, int]], None],
        consumed: int = 0,
    ) -> None:
        self.learner = learner
        self.phase = phase
        self.settings = settings
        self.on_epoch = on_epoch
        self.on_evaluation = on_evaluation
        self.on_step = on_step
        self.consumed = consumed
        sources = learner.sources(phase)
        self._names = [source.name for source in sources]
        self._images = ImageSet.joined([source.train for source in sources])
        sizes = torch.tensor([len(source.train) for source in sources])
        self._source_of = torch.arange(len(sources)).repeat_interleave(sizes)

    def run(self, done: int = 0) -> None:
        """Train the epochs of the stage after the first ``done`` ones."""
        before = self.settings.before
        for epoch in range(before + done + 1, before + self.settings.rounds + 1):
            # layers such as dropout draw from torch's global generator: it is seeded for every epoch
            with seeded_globally(self.learner.context.seed, "net", self.phase.name, epoch):
                self._epoch(epoch)
            self.on_epoch(epoch, self.consumed / len(self.phase.train))

    def _epoch(self, epoch: int) -> None:
        learner, phase, settings = self.learner, self.phase, self.settings
        seed, presentation = learner.context.seed, learner.context.presentation
        assert learner.optimiser is not None, "begin_phase comes before the loop"
        for group in learner.optimiser.param_groups:
            group["lr"] = settings.lr_at(epoch - settings.before)
        learner.training_mode()
        learner.begin_epoch(phase, epoch)
        augmentation = generator(seed, "augmentation", phase.name, epoch)
        cue = generator(seed, "cue", phase.name, epoch)
        batches = self._batches(epoch)
        measured = self.consumed
        end = measured + sum(self._taken(rows)[phase.name] for rows in batches)
        # An accelerator works asynchronously: while it computes one batch, the next is prepared here. Reading a number would
        # wait for it, so the loss is read once, at the end.
        for step, rows in enumerate(batches, start=1):
            raw = self._images.take(rows)
            inputs = presentation.training(raw, augmentation, cue)
            loss = learner.observe(Batch(inputs, to_device(raw.labels, inputs.device), raw))
            if loss is None:
                raise InputError(
                    f"{type(learner).__name__}.observe returned None: end it with 'return self.step(loss)'"
                )
            counts = self._taken(rows)
            self.consumed += counts[phase.name]
            self.on_step(counts)
            every = settings.evaluate_every_steps
            # Steps without images of the phase itself do not move the effective epoch: each moment is measured once.
            if every and step % every == 0 and measured < self.consumed < end:
                measured = self.consumed
                self.on_evaluation(measured / len(phase.train))
                learner.training_mode()
        require_finite(float(loss), f"after epoch {epoch} of {phase.name}")

    def _batches(self, epoch: int) -> list[Tensor]:
        """Rows of every step of an epoch; a fractional last epoch ends after its share of the sources' images."""
        batches = list(self.learner.batches(self.phase, epoch, self.settings.batch_size))
        left = self.settings.epochs - (epoch - self.settings.before) + 1
        if left > 1 - 1e-9:
            return batches
        budget, kept = round(left * len(self._images)), []
        for rows in batches:
            kept.append(rows[:budget])
            budget -= len(kept[-1])
        return [rows for rows in kept if len(rows)]

    def _taken(self, rows: Tensor) -> dict[str, int]:
        """How many of these rows belong to each source, and to the phase itself, even if a stage leaves it out."""
        taken = torch.bincount(self._source_of[rows], minlength=len(self._names)).tolist()
        return {self.phase.name: 0, **dict(zip(self._names, taken, strict=True))}


def require_finite(loss: float, where: str) -> None:
    """Stop a run that has diverged: later measurements would be meaningless."""
    if not math.isfinite(loss):
        raise FloatingPointError(f"the loss is {loss} {where}: lower training.lr or the method's own weights")
