"""Compositions of two learners: a method with replay, or one method for the first phase and another for the rest.

:mod:`einstellung.learners.methods` makes a subclass for every pair that a study names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from einstellung.learners.learner import Batch, Context, Learner, Stage
from einstellung.learners.planning import TRAIN, Workload
from einstellung.learners.replay import ReplayLearner
from einstellung.streams.stream import Phase


class Joined(Learner):
    """A method that learns every phase with replay of earlier ones; options are those of both parts, by name.

    ER appends its draw to the batch before the method sees it, so that the method's own loss L_M covers both: L_M(B with B').
    DER and DER++ add their terms: L_M(B) + alpha MSE(f(x'), z') [+ beta CE(f(x''), y'')], each part in its own pass. Replay is of
    earlier phases only: the memory holds the net's logits at the end of an image's phase, whatever the method's steps are.
    """

    names: ClassVar[tuple[str, str]]
    replay: ClassVar[type[ReplayLearner]]
    learner: ClassVar[type[Learner]]

    @classmethod
    def shares_first_phase(cls, options: Mapping[str, Any]) -> bool:
        return cls.learner.shares_first_phase(options[cls.names[1]])

    @classmethod
    def stages(
        cls, options: Mapping[str, Any], sizes: Sequence[int], epochs: Sequence[int], number: int
    ) -> tuple[Stage, ...]:
        return cls.learner.stages(options[cls.names[1]], sizes, epochs, number)

    def __init__(self, net: nn.Module, options: Mapping[str, Any], context: Context) -> None:
        self.method = self.learner(net, options[self.names[1]], context)
        self.memory = self.replay(net, options[self.names[0]], context)
        super().__init__(net, options, context)

    @property
    def context(self) -> Context:
        return self.method.context

    @context.setter
    def context(self, value: Context) -> None:
        self.method.context = self.memory.context = value

    @property
    def optimiser(self) -> torch.optim.Optimizer | None:  # type: ignore[override]
        return self.method.optimiser

    @optimiser.setter
    def optimiser(self, value: torch.optim.Optimizer | None) -> None:
        self.method.optimiser = value

    def begin_phase(self, phase: Phase) -> None:
        self.method.begin_phase(phase)

    def begin_stage(self, phase: Phase, stage: Stage) -> None:
        self.method.begin_stage(phase, stage)

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        self.memory.begin_epoch(phase, epoch)
        self.method.begin_epoch(phase, epoch)

    def sources(self, phase: Phase) -> tuple[Phase, ...]:
        return self.method.sources(phase)

    def batches(self, phase: Phase, epoch: int, size: int) -> Iterable[Tensor]:
        return self.method.batches(phase, epoch, size)

    def training_mode(self) -> None:
        self.method.training_mode()

    def observe(self, batch: Batch) -> Tensor:
        if self.memory.joins_batch:
            return self.method.observe(self.memory.enlarged(batch))
        return self.method.step(self.method.objective(batch) + self.memory.memory_loss())

    def end_phase(self, phase: Phase) -> None:
        self.method.end_phase(phase)
        self.memory.end_phase(phase)

    def pictures(self) -> dict[str, Tensor]:
        return self.method.pictures()

    def state_dict(self) -> dict[str, Any]:
        return {"method": self.method.state_dict(), "memory": self.memory.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.method.load_state_dict(state["method"])
        self.memory.load_state_dict(state["memory"])


@dataclass(frozen=True)
class JoinedWorkload(Workload):
    """The workload of the method plus that of its replay."""

    names: tuple[str, str] = ("", "")
    replay: type[ReplayLearner] = ReplayLearner
    learner: type[Learner] = Learner

    def cost(self, options: Mapping[str, Any], sizes: Sequence[int], number: int) -> float:
        return self.learner.workload.cost(options[self.names[1]], sizes, number)

    def extra_images_per_step(
        self, options: Mapping[str, Any], sizes: Sequence[int], number: int, stage: str = TRAIN
    ) -> float:
        own = self.learner.workload.extra_images_per_step(options[self.names[1]], sizes, number, stage)
        replayed = self.replay.workload.extra_images_per_step(options[self.names[0]], sizes, number, stage)
        # a draw joins the method's batch at the same cost per image, or takes one or two passes of its own
        return own + replayed * (self.cost(options, sizes, number) if self.replay.joins_batch else 1.0)

    def share(self, options: Mapping[str, Any], sizes: Sequence[int], number: int, stage: str = TRAIN) -> float:
        return self.learner.workload.share(options[self.names[1]], sizes, number, stage)

    def closing_cost(self, options: Mapping[str, Any], size: int) -> float:
        parts = zip(self.names, (self.replay, self.learner), strict=True)
        return sum(part.workload.closing_cost(options[name], size) for name, part in parts)


class InTurn(Learner):
    """One method learns the first phase, a second one all others, from the first one's weights; options of both, by name.

    Whatever the second method stores after a phase, it also stores after the first one.
    """

    names: ClassVar[tuple[str, str]]
    first: ClassVar[type[Learner]]
    second: ClassVar[type[Learner]]

    @classmethod
    def shares_first_phase(cls, options: Mapping[str, Any]) -> bool:
        return cls.first.shares_first_phase(options[cls.names[0]])

    @classmethod
    def stages(
        cls, options: Mapping[str, Any], sizes: Sequence[int], epochs: Sequence[int], number: int
    ) -> tuple[Stage, ...]:
        name, part = (cls.names[0], cls.first) if number == 0 else (cls.names[1], cls.second)
        return part.stages(options[name], sizes, epochs, number)

    def __init__(self, net: nn.Module, options: Mapping[str, Any], context: Context) -> None:
        self.active = self.first(net, options[self.names[0]], context)
        self._switched = False
        super().__init__(net, options, context)

    @property
    def context(self) -> Context:
        return self.active.context

    @context.setter
    def context(self, value: Context) -> None:
        self.active.context = value

    @property
    def optimiser(self) -> torch.optim.Optimizer | None:  # type: ignore[override]
        return self.active.optimiser

    @optimiser.setter
    def optimiser(self, value: torch.optim.Optimizer | None) -> None:
        self.active.optimiser = value

    def begin_phase(self, phase: Phase) -> None:
        self.active.begin_phase(phase)

    def begin_stage(self, phase: Phase, stage: Stage) -> None:
        self.active.begin_stage(phase, stage)

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        self.active.begin_epoch(phase, epoch)

    def sources(self, phase: Phase) -> tuple[Phase, ...]:
        return self.active.sources(phase)

    def batches(self, phase: Phase, epoch: int, size: int) -> Iterable[Tensor]:
        return self.active.batches(phase, epoch, size)

    def training_mode(self) -> None:
        self.active.training_mode()

    def observe(self, batch: Batch) -> Tensor:
        return self.active.observe(batch)

    def end_phase(self, phase: Phase) -> None:
        self.switch()  # nothing uses what the first method would store
        self.active.end_phase(phase)

    def switch(self) -> None:
        """Switch to the second method, which may replace layers of the net."""
        if not self._switched:
            self.active = self.second(self.net, self.options[self.names[1]], self.context)
            self._switched = True

    def pictures(self) -> dict[str, Tensor]:
        return self.active.pictures()

    def state_dict(self) -> dict[str, Any]:
        return {"changed": self._switched, "active": self.active.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if state["changed"]:
            self.switch()
        self.active.load_state_dict(state["active"])


@dataclass(frozen=True)
class InTurnWorkload(Workload):
    """The workload of the method that learns the phase; the second method ends every phase."""

    names: tuple[str, str] = ("", "")
    kinds: tuple[type[Learner], type[Learner]] = (Learner, Learner)

    def cost(self, options: Mapping[str, Any], sizes: Sequence[int], number: int) -> float:
        own, workload = self._at(options, number)
        return workload.cost(own, sizes, number)

    def extra_images_per_step(
        self, options: Mapping[str, Any], sizes: Sequence[int], number: int, stage: str = TRAIN
    ) -> float:
        own, workload = self._at(options, number)
        return workload.extra_images_per_step(own, sizes, number, stage)

    def share(self, options: Mapping[str, Any], sizes: Sequence[int], number: int, stage: str = TRAIN) -> float:
        own, workload = self._at(options, number)
        return workload.share(own, sizes, number, stage)

    def closing_cost(self, options: Mapping[str, Any], size: int) -> float:
        own, workload = self._at(options, 1)
        return workload.closing_cost(own, size)

    def _at(self, options: Mapping[str, Any], number: int) -> tuple[Any, Workload]:
        place = min(number, 1)
        return options[self.names[place]], self.kinds[place].workload


def use_final_architecture(learner: Learner) -> None:
    """Give a learner's net its layers of the last phase, in case the second method replaces some."""
    if isinstance(learner, InTurn):
        learner.switch()
