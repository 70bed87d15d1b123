"""The learner contract: at most a dozen methods, and options that are data.

A learner never sees the loop that runs it, never evaluates, and draws random numbers only from generators addressed by
(seed, purpose, phase, epoch), which :meth:`Learner.begin_epoch` creates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor

from einstellung.learners.planning import TRAIN, Workload
from einstellung.learners.steps import Batch, Context, GradientSteps
from einstellung.randomness import generator
from einstellung.registry import Registry
from einstellung.streams.stream import Phase

__all__ = ["Batch", "Context", "Learner", "NoOptions", "Stage", "batch_sized_option", "learners", "option"]

T = TypeVar("T")

# methods that shape the weights after a phase
_TRAINS = frozenset(
    ("__init__", "stages", "begin_phase", "begin_stage", "begin_epoch", "sources", "batches", "observe")
)
_TRAINS |= {name for name in vars(GradientSteps) if not name.startswith("__")}


def option(default: T, source: str) -> T:
    """A hyper-parameter with its default and the source of that default; ``einstellung ls learners`` shows both."""
    return field(default=default, metadata={"source": source})  # type: ignore[no-any-return,call-overload]


def batch_sized_option(source: str) -> int | None:
    """A number whose default, null, means the training batch size; learners receive the number."""
    return field(default=None, metadata={"source": source, "batch_sized": True})


@dataclass(frozen=True)
class Stage:
    """A part of a phase: a number of passes over its images; the last pass is cut short where that is not a whole number.

    ``preparatory``: the stage's net is not the method's result yet, so it is not evaluated.
    """

    name: str
    passes: float
    preparatory: bool = False

    @property
    def epochs(self) -> int:
        """The number of epochs, including a last short one.

        >>> Stage("train", 11.7).epochs
        12
        """
        return math.ceil(self.passes - 1e-9)


@dataclass(frozen=True)
class NoOptions:
    """A method without hyper-parameters of its own."""


class Learner(GradientSteps):
    """Plain training on the current batch; methods override what they do differently.

    ``Options`` is a frozen dataclass of hyper-parameters, ``workload`` the cost for time estimates. ``skips_history`` marks a
    learner that starts at the last phase, ``needs_groups`` one that needs the spurious features of every image, ``combines``
    one that can train on batches to which replay has added images of earlier phases. ``modalities`` names the kinds of inputs
    that it can learn from.
    """

    Options: ClassVar[type] = NoOptions
    workload: ClassVar[Workload] = Workload()
    skips_history: ClassVar[bool] = False
    needs_groups: ClassVar[bool] = False
    combines: ClassVar[bool] = False
    modalities: ClassVar[tuple[str, ...]] = ("image", "text", "series")

    @classmethod
    def shares_first_phase(cls, options: Any) -> bool:
        """Whether the first phase is plain fine-tuning, so that it is trained once for all learners that declare it.

        False unless a learner declares it. Then its own first phase must end with the weights of ``sgd``, bit for bit; whatever
        the method stores from that phase is computed in :meth:`end_phase`. A subclass that changes the training does not inherit
        the declaration: it must declare it again.
        """
        return False

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for base in cls.__mro__:
            if "shares_first_phase" in vars(base):
                return
            if _TRAINS & vars(base).keys():
                cls.shares_first_phase = Learner.__dict__["shares_first_phase"]  # type: ignore[method-assign]
                return

    @classmethod
    def stages(cls, options: Any, sizes: Sequence[int], epochs: Sequence[int], number: int) -> tuple[Stage, ...]:
        """The stages of phase ``number``; ``sizes`` and ``epochs`` are those of all phases, as configured."""
        return (Stage(TRAIN, float(epochs[number])),)

    def begin_phase(self, phase: Phase) -> None:
        """Prepare for a phase: a new optimiser.

        A resumed run begins its phase and stage again and then restores the net, the optimiser and the learner's state, which
        undoes whatever this did to them.
        """
        self.optimiser = self.context.make_optimiser(self.net.parameters())

    def begin_stage(self, phase: Phase, stage: Stage) -> None:
        """Prepare for a stage; the learning rate schedule restarts with it."""

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        """Create the generators of this epoch."""

    def sources(self, phase: Phase) -> tuple[Phase, ...]:
        """The phases whose real images an epoch of ``phase`` covers; only its own count for the effective epoch."""
        return (phase,)

    def batches(self, phase: Phase, epoch: int, size: int) -> Iterable[Tensor]:
        """Rows of the concatenated sources: every image once, in an order that depends on (seed, phase, epoch)."""
        count = sum(len(source.train) for source in self.sources(phase))
        return torch.randperm(count, generator=generator(self.context.seed, "order", phase.name, epoch)).split(size)

    def observe(self, batch: Batch) -> Tensor:
        """One training step on one batch; returns the detached loss."""
        return self.step(self.objective(batch))

    def end_phase(self, phase: Phase) -> None:
        """Compute what the method stores from a phase for later ones."""

    def pictures(self) -> dict[str, Tensor]:
        """Images (uint8 [N, 3, H, W]) that the method generated or stored, by name, for the report."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """The method's own memory (not the net, not the optimiser): tensors and plain values."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The inverse of :meth:`state_dict`."""


learners: Registry[type[Learner]] = Registry("learner", group="einstellung.learners")
