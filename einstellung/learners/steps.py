"""What learners have in common: a net, options, an optimiser, and the parts that a training step is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.streams.presentation import Presentation
from einstellung.streams.stream import ImageSet, Phase


@dataclass(frozen=True)
class Batch:
    """A training batch: the net's inputs, their labels, and the raw images behind them."""

    inputs: Tensor
    labels: Tensor
    raw: ImageSet


@dataclass(frozen=True)
class Context:
    """A learner's context: the seed, the stream's phases, and factories for inputs, precision and optimisers.

    ``initial`` returns the run's initial weights. ``report_progress`` takes a short text about a long step, such as training a
    generator. ``batch_size`` is that of training; the last batch of an epoch may be smaller.
    """

    seed: int
    presentation: Presentation
    autocast: Callable[[], AbstractContextManager[Any]]
    make_optimiser: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]
    device: torch.device
    phases: tuple[Phase, ...] = ()
    initial: Callable[[], Mapping[str, Tensor]] | None = None
    report_progress: Callable[[str], None] = lambda _: None
    batch_size: int = 32

    def earlier(self, phase: Phase) -> tuple[Phase, ...]:
        """The phases before ``phase`` in the stream."""
        return self.phases[: [other.name for other in self.phases].index(phase.name)]


class GradientSteps:
    """One loss and one update per batch; a method overrides :meth:`objective`, or less."""

    def __init__(self, net: nn.Module, options: Any, context: Context) -> None:
        self.net = net
        self.options = options
        self.context = context
        self.optimiser: torch.optim.Optimizer | None = None

    def reinitialise(self) -> None:
        """Reset the net to the run's initial weights."""
        assert self.context.initial is not None, "the run has no initial weights"
        self.net.load_state_dict(self.context.initial())

    def training_mode(self) -> None:
        """Put the net into training mode."""
        self.net.train()

    def objective(self, batch: Batch) -> Tensor:
        """The loss of a batch."""
        return self.cross_entropy(batch.inputs, batch.labels)

    def step(self, loss: Tensor) -> Tensor:
        """Back-propagate and update; returns the detached loss."""
        assert self.optimiser is not None, "begin_phase comes before observe"
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.adjust_gradients()
        self.optimiser.step()
        return loss.detach()

    def adjust_gradients(self) -> None:
        """Change the gradients before the update."""

    def cross_entropy(self, inputs: Tensor, labels: Tensor) -> Tensor:
        """Cross entropy over the whole head."""
        with self.context.autocast():
            return F.cross_entropy(self.net(inputs).float(), labels)

    def logits_apart(self, parts: Sequence[Tensor]) -> Sequence[Tensor]:
        """The logits of several batches, each with its own batch statistics; in one pass where the net supports it."""
        with self.context.autocast():
            one_pass = getattr(self.net, "forward_batches", None)
            outputs = [self.net(part) for part in parts] if one_pass is None else one_pass(parts)
            return [logits.float() for logits in outputs]
