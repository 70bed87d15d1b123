"""Learning without forgetting, LwF (Li and Hoiem, 2016).

At the end of a phase, a copy S of the net is kept. In a later one, with C the classes of all phases before and x0 the image
without augmentation, loss = CE(f(x), y) + alpha H(softmax(S_C(x0) / T), softmax(f_C(x) / T)), H the cross entropy of the second
from the first, averaged over the batch. With ``warm_up`` passes, a later phase begins with a stage in which only the outputs of
new classes learn, by CE over these alone on fixed features.

Differs from the original in the head: ours has the outputs of all classes from the start, and CE is over all of them (the
original adds outputs with each task; Mammoth leaves out classes not seen yet). ``warm_up`` is 0 by default, because its images
would come on top of the budget of a phase; the original trains the new outputs until they converge, Mammoth for as many epochs as
the phase has. S is evaluated in every step, with the same result as answers recorded once per image.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.learners.last_layer import last_layer
from einstellung.learners.learner import Batch, Learner, Stage, learners, option
from einstellung.learners.planning import TRAIN, Workload
from einstellung.streams.stream import Phase

WARM_UP = "warm-up"
_OLD_NET = 0.35  # a forward pass without a backward one, against a step


@dataclass(frozen=True)
class LwFOptions:
    alpha: float = option(1.0, "Mammoth's choice for Tiny ImageNet; for CIFAR-10 it is 3")
    temperature: float = option(2.0, "Li and Hoiem (2016), T; Mammoth")
    warm_up: float = option(0.0, "ours: none; passes over a later phase in which only the outputs of new classes learn")

    def __post_init__(self) -> None:
        for key in ("alpha", "warm_up"):
            if not getattr(self, key) >= 0:
                raise InputError(f"learners.lwf.{key} is {getattr(self, key)}: it must be at least 0")
        if not self.temperature > 0:
            raise InputError(f"learners.lwf.temperature is {self.temperature}: it must be above 0")


@dataclass(frozen=True)
class LwFWorkload(Workload):
    """From the second phase on, a forward pass of the old net in every step."""

    def cost(self, options: LwFOptions, sizes: Sequence[int], number: int) -> float:
        return 1.0 if number == 0 else 1.0 + _OLD_NET


@learners.register("lwf")
class LearningWithoutForgetting(Learner):
    """Fine-tuning that keeps the outputs of earlier classes near those of the net before the phase, on the phase's own images."""

    Options: ClassVar[type] = LwFOptions
    workload: ClassVar[Workload] = LwFWorkload()

    @classmethod
    def shares_first_phase(cls, options: Any) -> bool:
        return True

    @classmethod
    def stages(cls, options: LwFOptions, sizes: Sequence[int], epochs: Sequence[int], number: int) -> tuple[Stage, ...]:
        train = Stage(TRAIN, float(epochs[number]))
        return (Stage(WARM_UP, options.warm_up, preparatory=True), train) if number and options.warm_up else (train,)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.old: nn.Module | None = None  # None until the end of the first phase
        self._warms_up = False
        if self.options.warm_up:
            self._head = last_layer(self.net, "lwf")
            for phase in self.context.phases[1:]:
                if not self._new(phase):
                    raise InputError(
                        f"learners.lwf.warm_up trains outputs of new classes, but {phase.name} has none; give 0"
                    )

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        self._warms_up = False
        old = {label for other in self.context.earlier(phase) for label in other.classes}
        self._past, self._fresh = (
            torch.tensor(sorted(classes), dtype=torch.long, device=self.context.device)
            for classes in (old, self._new(phase))
        )

    def _new(self, phase: Phase) -> set[int]:
        return set(phase.classes).difference(*(other.classes for other in self.context.earlier(phase)))

    def begin_stage(self, phase: Phase, stage: Stage) -> None:
        self._warms_up = stage.name == WARM_UP
        parameters = self._head.parameters() if self._warms_up else self.net.parameters()
        self.optimiser = self.context.make_optimiser(parameters)

    def training_mode(self) -> None:
        self.net.train(not self._warms_up)

    def observe(self, batch: Batch) -> Tensor:
        return self._warm_up_step(batch) if self._warms_up else super().observe(batch)

    def objective(self, batch: Batch) -> Tensor:
        if self.old is None:
            return self.cross_entropy(batch.inputs, batch.labels)
        with self.context.autocast():
            logits = self.net(batch.inputs).float()
            with torch.no_grad():
                answers = self.old(self.context.presentation.unaugmented(batch.raw)).float()
        loss = F.cross_entropy(logits, batch.labels)
        return loss + self.options.alpha * distillation(
            logits[:, self._past], answers[:, self._past], self.options.temperature
        )

    def _warm_up_step(self, batch: Batch) -> Tensor:
        """Update the head's rows of new classes; those of all others stay, whatever the optimiser does to them."""
        assert self.optimiser is not None, "begin_stage comes before observe"
        parameters = list(self._head.parameters())
        before = [parameter.detach().clone() for parameter in parameters]
        with self.context.autocast():
            logits = self.net(batch.inputs).float()[:, self._fresh]
        loss = F.cross_entropy(logits, torch.searchsorted(self._fresh, batch.labels))
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward(inputs=parameters)
        self.optimiser.step()
        with torch.no_grad():
            for parameter, kept in zip(parameters, before, strict=True):
                parameter.copy_(kept.index_copy_(0, self._fresh, parameter[self._fresh]))
        return loss.detach()

    def end_phase(self, phase: Phase) -> None:
        self.old = self._frozen_net()

    def _frozen_net(self) -> nn.Module:
        return copy.deepcopy(self.net).eval().requires_grad_(False)

    def state_dict(self) -> dict[str, Any]:
        return {} if self.old is None else {"old": self.old.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if state:
            self.old = self._frozen_net()
            self.old.load_state_dict(state["old"])


def distillation(logits: Tensor, answers: Tensor, temperature: float) -> Tensor:
    """Cross entropy of the predictions from those of ``answers``, both softened by the temperature; the mean over the batch.

    >>> f"{float(distillation(torch.zeros(1, 4), torch.rand(1, 4), 2.0)):.4f}"  # log 4, whatever the answers
    '1.3863'
    """
    return F.cross_entropy(logits / temperature, (answers / temperature).softmax(dim=1))
