"""The Fisher pass that closes a phase of ewc_on, reading and normalisation inside, against one image at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from benchmarks.bare import bare_net, fisher_one_at_a_time, has_bf16_instructions
from benchmarks.learners import Setting, some_stream
from benchmarks.measuring import row
from benchmarks.rates import Rates, Work
from einstellung.experiments.assembly import build_learner
from einstellung.learners.ewc_on import OnlineEWC
from einstellung.streams import Phase, Stream

IMAGES = 64  # of ours: its one-off analysis of the net must not weigh more than in a run
ALONE = 16  # of those, the images processed one at a time
ONE_BY_ONE = "fisher one by one"
REACH = 2.0


class Pass(Protocol):
    """One way to compute the Fisher information."""

    images: int

    def run(self) -> None:
        """What is measured, over so many images."""

    def of_few(self) -> dict[str, Tensor]:
        """Its value over the images that all ways share."""


class Ours:
    images = IMAGES

    def __init__(self, setting: Setting, stream: Stream, phase: Phase, few: Phase) -> None:
        learner = build_learner(setting.config(), setting.method, 1, stream)
        assert isinstance(learner, OnlineEWC)
        self.learner, self.phase, self.few = learner, phase, few

    def run(self) -> None:
        self._close(self.phase)

    def of_few(self) -> dict[str, Tensor]:
        return self._close(self.few)

    def _close(self, phase: Phase) -> dict[str, Tensor]:
        self.learner.fisher = {}
        self.learner.end_phase(phase)
        return self.learner.fisher


class OneByOne:
    images = ALONE

    def __init__(self, net: nn.Module, inputs: Tensor, labels: Tensor) -> None:
        self.net, self.inputs, self.labels = net, inputs, labels

    def run(self) -> None:
        self.of_few()

    def of_few(self) -> dict[str, Tensor]:
        return fisher_one_at_a_time(self.net, self.inputs, self.labels)


def fisher_passes(width: int) -> dict[str, Pass]:
    """Ours by precision, and one image at a time in plain torch; all with the same weights."""
    stream = some_stream()
    first = stream.phases[0]
    rows = torch.linspace(0, len(first.train) - 1, IMAGES).long()
    phase, few = (replace(first, train=first.train.take(some)) for some in (rows, rows[:: IMAGES // ALONE]))
    precisions = ["fp32", *(["bf16"] if has_bf16_instructions() else [])]
    ours = {
        f"fisher {name}": Ours(
            Setting("ewc_on", width, {"fisher_images": None}, {"precision": name}), stream, phase, few
        )
        for name in precisions
    }
    inputs = ours["fisher fp32"].learner.context.presentation.unaugmented(few.train).contiguous()
    net = bare_net(width)
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 1.0  # set statistics in one step: without them, outputs in evaluation mode are arbitrary
    with torch.no_grad():
        net(inputs)
    for one in ours.values():
        one.learner.net.load_state_dict(net.state_dict())
    return {**ours, ONE_BY_ONE: OneByOne(net, inputs, few.train.labels)}


def fisher_works(passes: Mapping[str, Pass]) -> dict[str, Work]:
    return {name: Work(one.images, one.run) for name, one in passes.items()}


def penalty(fisher: Mapping[str, Tensor]) -> float:
    """sum F d^2 for weights that moved by the same random d everywhere."""
    draws = torch.Generator().manual_seed(1)
    moved = ((value * torch.randn(value.shape, generator=draws).square()).double().sum() for value in fisher.values())
    return float(sum(moved))


def fisher_rows(width: int, rates: Rates, passes: Mapping[str, Pass]) -> list[dict[str, Any]]:
    net = f"ResNet-18 width {width}, 1 thread"
    alone = penalty(passes[ONE_BY_ONE].of_few())
    rows = []
    for name in (name for name in passes if name != ONE_BY_ONE):
        faster = rates.over(name, ONE_BY_ONE)
        apart = abs(penalty(passes[name].of_few()) - alone) / alone
        rows.append(
            row(
                f"{net}: ewc_on's Fisher pass in {name.split()[1]} / one image at a time in fp32, images per core-second",
                f"{faster.words()} ({rates.of(name).words(1)} against {rates.of(ONE_BY_ONE).words(1)}); the penalty differs by "
                f"{100 * apart:.2g} %",
                f"at least {REACH:g}",
                faster.median >= REACH,
                penalty_difference=apart,
            )
        )
    if not has_bf16_instructions():
        rows.append(
            row(f"{net}: ewc_on's Fisher pass in bf16", "no bf16 instructions on this CPU", "faster than in fp32")
        )
    return rows
