"""What a learner is: four methods, and options that are data.

A learner never sees the loop that runs it, never evaluates, and draws random numbers only from generators with an address
of their own, made anew in :meth:`Learner.begin_epoch`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.options import checked_options
from einstellung.randomness import generator
from einstellung.registry import Registry
from einstellung.streams.presentation import Presentation
from einstellung.streams.stream import ImageSet, Phase

T = TypeVar("T")


@dataclass(frozen=True)
class Batch:
    """A training batch: what the net sees, its labels, and the raw images behind it."""

    inputs: Tensor
    labels: Tensor
    raw: ImageSet


@dataclass(frozen=True)
class Context:
    """What surrounds a learner: where randomness, pixels, precision and optimisers come from; all phases of the stream.

    ``initial`` gives the weights that the run's net began with. ``tell`` takes a few words on how far a learner is in something
    that takes long.
    """

    seed: int
    presentation: Presentation
    autocast: Callable[[], AbstractContextManager[Any]]
    make_optimiser: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]
    device: torch.device
    phases: tuple[Phase, ...] = ()
    initial: Callable[[], Mapping[str, Tensor]] | None = None
    tell: Callable[[str], None] = lambda _: None

    def earlier(self, phase: Phase) -> tuple[Phase, ...]:
        """The phases that come before ``phase`` in the stream."""
        return self.phases[: [other.name for other in self.phases].index(phase.name)]


def option(default: T, source: str) -> T:
    """A hyper-parameter with its default and where that comes from; ``einstellung ls learners`` shows both."""
    return field(default=default, metadata={"source": source})  # type: ignore[no-any-return,call-overload]


@dataclass(frozen=True)
class Stage:
    """A part of a phase: how often its images are gone through, the last time cut short where that is not a whole number.

    ``share`` is the number of these images as a share of the phase's own, for estimates of time. ``preparatory``: the net that it
    trains is not yet what the method gives, so nothing is measured in it. ``by_itself``: its steps show nothing beside their
    batch, whatever those of other stages do.
    """

    name: str
    passes: float
    share: float = 1.0
    preparatory: bool = False
    by_itself: bool = False

    @property
    def epochs(self) -> int:
        """The number of epochs, a last short one included.

        >>> Stage("train", 11.7).epochs
        12
        """
        return math.ceil(self.passes - 1e-9)


@dataclass(frozen=True)
class NoOptions:
    """A method without hyper-parameters of its own."""


class Learner:
    """Plain training on the current batch; methods override what they do differently.

    ``Options`` is a frozen dataclass of hyper-parameters. ``skips_history`` marks a learner that starts at the last phase,
    ``needs_groups`` one that must be told which spurious features are in an image, ``combines`` one that learns a phase as well
    where replay brings in images of earlier ones.
    """

    Options: ClassVar[type] = NoOptions
    skips_history: ClassVar[bool] = False
    needs_groups: ClassVar[bool] = False
    combines: ClassVar[bool] = False

    @classmethod
    def read_options(cls, name: str, given: Mapping[str, Any]) -> Any:
        """The options, with the given ones set; a wrong key or value is named, ``name`` being where they stand."""
        values = checked_options(cls.Options, f"learners.{name}", given)
        try:
            return cls.Options(**values)
        except InputError as error:  # which names the method itself: ``given`` may stand under another name
            raise InputError(re.sub(r"^learners\.[^.\s]+\.", f"learners.{name}.", str(error))) from None

    @classmethod
    def plain_history(cls, options: Any) -> bool:
        """Whether the weights after the first phase are those of plain fine-tuning with the same seed.

        Such a phase needs to be trained only once for all such learners; what a method keeps from it is worked out in
        :meth:`end_phase`.
        """
        return True

    @classmethod
    def cost(cls, options: Any, sizes: Sequence[int], number: int) -> float:
        """The price of an epoch of phase ``number`` in plain steps per image of that phase, for estimates of time.

        ``sizes`` are the numbers of training images of all phases. What a step shows beside its batch is not in it.
        """
        return 1.0

    @classmethod
    def beside(cls, options: Any, sizes: Sequence[int], number: int) -> float:
        """How many images every step of phase ``number`` shows beside its batch, however large that is: draws from a buffer."""
        return 0.0

    @classmethod
    def price(
        cls, options: Any, sizes: Sequence[int], number: int, batch_size: int, stage: Stage | None = None
    ) -> float:
        """:meth:`cost` and :meth:`beside` together: plain steps per image of phase ``number``, a batch being no larger than that.

        Of a ``stage`` by itself, :meth:`cost` alone.

        >>> from einstellung.learners import learners
        >>> learners["er"].price(learners["er"].Options(draw=8, replay="earlier"), [100, 4], 1, 16)
        3.0
        """
        beside = 0.0 if stage is not None and stage.by_itself else cls.beside(options, sizes, number)
        return cls.cost(options, sizes, number) + beside / min(batch_size, sizes[number])

    @classmethod
    def closing_cost(cls, options: Any, size: int) -> float:
        """The price of :meth:`end_phase` after a phase of ``size`` images, in images of plain training."""
        return 0.0

    @classmethod
    def stages(cls, options: Any, sizes: Sequence[int], epochs: Sequence[int], number: int) -> tuple[Stage, ...]:
        """What phase ``number`` consists of; ``sizes`` and ``epochs`` are those of all phases, as configured."""
        return (Stage("train", float(epochs[number])),)

    def __init__(self, net: nn.Module, options: Any, context: Context) -> None:
        self.net = net
        self.options = options
        self.context = context
        self.optimiser: torch.optim.Optimizer | None = None

    def begin_phase(self, phase: Phase) -> None:
        """A new optimiser for every phase.

        A stopped run begins its phase and stage again when it goes on; whatever that did to the net, the optimiser and the
        method's memory is then replaced by what they were.
        """
        self.optimiser = self.context.make_optimiser(self.net.parameters())

    def begin_stage(self, phase: Phase, stage: Stage) -> None:
        """What a stage begins with; the learning rate's schedule begins anew with it."""

    def start_anew(self) -> None:
        """Give the net the weights that it began the run with."""
        assert self.context.initial is not None, "a run without initial weights"
        self.net.load_state_dict(self.context.initial())

    def take_last_shape(self) -> None:
        """Give the net the layers that it has in the last phase, where a method changes them on the way."""

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        """Make generators for this epoch."""

    def sources(self, phase: Phase) -> tuple[Phase, ...]:
        """The phases whose real images an epoch of ``phase`` goes through; only its own count for the effective epoch."""
        return (phase,)

    def batches(self, phase: Phase, epoch: int, size: int) -> Iterable[Tensor]:
        """Rows of the sources, laid end to end: every image once, in an order that belongs to (seed, phase, epoch)."""
        count = sum(len(source.train) for source in self.sources(phase))
        return torch.randperm(count, generator=generator(self.context.seed, "order", phase.name, epoch)).split(size)

    def training_mode(self) -> None:
        """Put the net into the state in which it learns."""
        self.net.train()

    def observe(self, batch: Batch) -> Tensor:
        """One step on one batch; the loss, detached."""
        return self.step(self.objective(batch))

    def objective(self, batch: Batch) -> Tensor:
        """The loss of a batch, where a method is one loss and one step; others override :meth:`observe`."""
        return self.cross_entropy(batch.inputs, batch.labels)

    def end_phase(self, phase: Phase) -> None:
        """What the method keeps from a phase for later ones."""

    def pictures(self) -> dict[str, Tensor]:
        """Images (uint8 [N, 3, H, W]) that the method made or kept and a reader may want to see, by name."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """What the method itself remembers (not the net, not the optimiser): tensors and plain values."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The inverse of :meth:`state_dict`."""

    def logits_apart(self, parts: Sequence[Tensor]) -> Sequence[Tensor]:
        """The logits of several batches, each with batch statistics of its own; in one pass where the net can do that."""
        with self.context.autocast():
            one_pass = getattr(self.net, "forward_batches", None)
            outputs = [self.net(part) for part in parts] if one_pass is None else one_pass(parts)
            return [logits.float() for logits in outputs]

    def cross_entropy(self, inputs: Tensor, labels: Tensor) -> Tensor:
        """Cross entropy over the whole head."""
        with self.context.autocast():
            return F.cross_entropy(self.net(inputs).float(), labels)

    def step(self, loss: Tensor) -> Tensor:
        """Back-propagate and update."""
        assert self.optimiser is not None, "begin_phase comes before observe"
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.adjust_gradients()
        self.optimiser.step()
        return loss.detach()

    def adjust_gradients(self) -> None:
        """A place between gradient and update."""


learners: Registry[type[Learner]] = Registry("learner", group="einstellung.learners")


def learner_options(name: str, given: Mapping[str, Any], within: str | None = None) -> Any:
    """The options of a learner, with the given ones set; a wrong key or value is named, ``within`` a combination or by itself."""
    return learners[name].read_options(name if within is None else f"{within}.{name}", given)


def options_as_data(options: Any) -> dict[str, Any]:
    """Options as plain values, those of a combination by the names of its parts."""
    if isinstance(options, Mapping):
        return {name: options_as_data(part) for name, part in options.items()}
    return asdict(options)


def make_learner(name: str, given: Mapping[str, Any], net: nn.Module, context: Context) -> Learner:
    return learners[name](net, learner_options(name, given), context)
