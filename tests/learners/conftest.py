"""A tiny world for learners: a small stream, a net in double precision, plain SGD."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from einstellung.cues import PatchCue
from einstellung.learners import Batch, Context, Learner, make_learner
from einstellung.streams import ImageSet, Phase, Presentation, Stream, shapes


@pytest.fixture(scope="session")
def stream() -> Stream:
    return shapes(PatchCue(), train_per_class=4, test_per_class=2, size=12)


class SmallNet(nn.Module):
    """A convolution, batch norm and a head: enough to tell training mode from evaluation mode."""

    def __init__(self, n_outputs: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2)
        self.bn = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, n_outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.bn(self.conv(x)).relu().mean(dim=(2, 3)))


@pytest.fixture
def make(stream: Stream) -> Callable[..., Learner]:
    def build(
        name: str, lr: float = 0.1, seed: int = 7, phases: tuple[Phase, ...] = stream.phases, **options: Any
    ) -> Learner:
        torch.manual_seed(0)
        own = stream if phases is stream.phases else replace(stream, phases=phases, n_outputs=2)
        net = SmallNet(own.n_outputs)
        start = copy.deepcopy(net.state_dict())
        context = Context(
            seed=seed,
            presentation=Presentation(own),
            autocast=nullcontext,
            make_optimiser=lambda parameters: torch.optim.SGD(parameters, lr=lr),
            device=torch.device("cpu"),
            phases=phases,
            initial=lambda: start,
        )
        return make_learner(name, options, net, context)

    return build


@pytest.fixture(scope="session")
def tasks() -> tuple[Phase, ...]:
    """Three phases with the same two classes, in which feature number t tells the class of task t, as in ConCon."""
    draws = torch.Generator().manual_seed(0)

    def task(number: int, count: int = 36) -> Phase:
        labels = torch.arange(count) % 2
        bits = torch.randint(2, (count, 3), generator=draws)
        bits[:, number] = labels
        images = torch.randint(256, (count, 3, 12, 12), generator=draws).to(torch.uint8)
        index, has_cue = 100 * number + torch.arange(count), torch.zeros(count, dtype=torch.bool)
        train = ImageSet(images, labels, index, has_cue, (bits * torch.tensor([1, 2, 4])).sum(dim=1))
        return Phase(f"T{number + 1}", (0, 1), (), train)

    return tuple(task(number) for number in range(3))


@pytest.fixture
def batch_of(stream: Stream) -> Callable[..., Batch]:
    def build(phase: Phase, rows: range = range(8)) -> Batch:
        raw: ImageSet = phase.train.take(torch.tensor(list(rows)))
        inputs = Presentation(stream).unaugmented(raw)
        return Batch(inputs, raw.labels, raw)

    return build


@pytest.fixture
def through(batch_of: Callable[..., Batch], stream: Stream) -> Callable[[Learner], tuple[list[Tensor], list[Tensor]]]:
    """Two steps of T1, its end, three steps of T2: the losses and the net."""

    def run(learner: Learner) -> tuple[list[Tensor], list[Tensor]]:
        losses = []
        for phase, starts in zip(stream.phases, ((0, 8), (0, 6, 12)), strict=True):
            learner.begin_phase(phase)
            learner.begin_epoch(phase, 1)
            learner.training_mode()
            losses += [learner.observe(batch_of(phase, range(start, start + 6))) for start in starts]
            learner.end_phase(phase)
        return losses, [*learner.net.parameters(), *learner.net.buffers()]

    return run
