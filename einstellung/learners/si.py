"""Synaptic intelligence, SI (Zenke, Poole and Ganguli, 2017).

Over the steps of a phase, w_i <- w_i - g_i (p_i - p_i before the step), g the gradient of CE alone: how much weight i has lowered
the loss. After the phase, O_i <- O_i + w_i / ((p_i - p_i at its start)^2 + xi), w <- 0, p* <- p. Later:
loss = CE + c sum_i O_i (p_i - p*_i)^2. The step is the applied one, after momentum and weight decay.

Differs from the authors' code in that negative O_i are kept, as in the paper's equation 5 (their code sets them to 0), and in the
optimiser, the study's instead of Adam, reset after each task. With ``clip`` all gradients, the penalty's included, are limited
to [-clip, clip], as in Mammoth, where it is 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.learner import Learner, learners, option
from einstellung.learners.planning import Workload
from einstellung.streams.stream import Phase


@dataclass(frozen=True)
class SIOptions:
    c: float = option(0.1, "Zenke et al. (2017), split CIFAR-10; Mammoth's choice for CIFAR-10 is 0.5")
    xi: float = option(1e-3, "the authors' code for split CIFAR-10; Mammoth's choice is 1")
    clip: float | None = option(None, "Zenke et al. (2017): none; Mammoth limits every gradient to 1")

    def __post_init__(self) -> None:
        if not self.c >= 0:
            raise InputError(f"learners.si.c is {self.c}: it must be at least 0")
        for key in ("xi", "clip"):
            value = getattr(self, key)
            if value is not None and not value > 0:
                raise InputError(f"learners.si.{key} is {value}: it must be above 0")


@learners.register("si")
class SynapticIntelligence(Learner):
    """Fine-tuning with a quadratic penalty on changes to weights that lowered the loss of earlier phases."""

    Options: ClassVar[type] = SIOptions
    workload: ClassVar[Workload] = Workload(step_cost=1.1)  # a few passes over the weights in every step

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._learned = dict(self.net.named_parameters())
        self.path = self._zeros()  # w
        self.importance = self._zeros()  # O
        self.anchor = self._copies()  # p*, and the weights at the start of the phase
        self._gradients: dict[str, Tensor] = {}
        self._before: dict[str, Tensor] = {}

    def _zeros(self) -> dict[str, Tensor]:
        return {name: torch.zeros_like(parameter) for name, parameter in self._learned.items()}

    def _copies(self) -> dict[str, Tensor]:
        return {name: parameter.detach().clone() for name, parameter in self._learned.items()}

    def step(self, loss: Tensor) -> Tensor:
        loss = super().step(loss)
        with torch.no_grad():
            for name, gradient in self._gradients.items():
                self.path[name] -= gradient * (self._learned[name] - self._before[name])
        return loss + self.latest_penalty

    @torch.no_grad()
    def adjust_gradients(self) -> None:
        """Add the penalty's gradient, 2 c O (p - p*), in closed form; its value is kept for the reported loss."""
        c, parts = self.options.c, []
        with_gradient = {name: p.grad for name, p in self._learned.items() if p.grad is not None}
        self._gradients = {name: gradient.clone() for name, gradient in with_gradient.items()}
        self._before = {name: self._learned[name].clone() for name in with_gradient}
        for name, gradient in with_gradient.items():
            move = self._learned[name] - self.anchor[name]
            gradient.addcmul_(self.importance[name], move, value=2 * c)
            parts.append(move.square_().mul_(self.importance[name]).sum())
            if self.options.clip is not None:
                gradient.clamp_(-self.options.clip, self.options.clip)
        self.latest_penalty = c * torch.stack(parts).sum()

    @torch.no_grad()
    def end_phase(self, phase: Phase) -> None:
        for name, parameter in self._learned.items():
            moved = (parameter - self.anchor[name]).square()
            self.importance[name] += self.path[name] / (moved + self.options.xi)
        self.path, self.anchor = self._zeros(), self._copies()

    def state_dict(self) -> dict[str, Any]:
        return {"path": dict(self.path), "importance": dict(self.importance), "anchor": dict(self.anchor)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        device = self.context.device
        self.path, self.importance, self.anchor = (
            {name: value.to(device) for name, value in state[key].items()} for key in ("path", "importance", "anchor")
        )
