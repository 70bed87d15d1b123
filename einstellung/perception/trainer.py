"""The training of a perception, epoch by epoch: what an epoch does depends on the state before it, the seed and its number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from einstellung.perception.matching import set_loss
from einstellung.perception.slot_attention import SlotOptions, SlotPerception, as_inputs
from einstellung.perception.unruled import KnownScenes
from einstellung.randomness import generator, seeded_globally

_WARM_UP = 0.05  # of all steps; attention that is pushed too early settles on one slot
_LARGEST_GRADIENT = 1.0
_MOMENTS = ("exp_avg", "exp_avg_sq")


class Trainer:
    """Adam with a warm-up and half a wave down to nothing, over scenes in an order of each epoch's own."""

    def __init__(
        self, scenes: KnownScenes, options: SlotOptions, *, epochs: int, batch_size: int, lr: float, seed: int
    ) -> None:
        self.scenes = scenes
        self.batch_size = batch_size
        self.lr = lr
        self.seed = seed
        self.total = epochs * math.ceil(len(scenes) / batch_size)
        with seeded_globally(seed, "perception"):
            self.net = SlotPerception(options)
        self.net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimiser = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.steps = 0

    def epoch(self, number: int, heard: Callable[[int], object] = lambda _: None) -> float:
        """Learn every scene once; the mean loss. ``heard`` is told how many scenes were learned since the last time."""
        self.net.train()
        order = torch.randperm(len(self.scenes), generator=generator(self.seed, "perception order", number))
        lost = 0.0
        for rows in order.split(self.batch_size):
            for group in self.optimiser.param_groups:
                group["lr"] = self.lr * schedule(self.steps, self.total)
            lost += float(self._step(rows)) * len(rows)
            self.steps += 1
            heard(len(rows))
        self.net.eval()
        return lost / len(self.scenes)

    def _step(self, rows: Tensor) -> Tensor:
        some = self.scenes.take(rows)
        outputs, attention = self.net(as_inputs(some.images))
        loss = set_loss(outputs, attention, some)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), _LARGEST_GRADIENT)
        self.optimiser.step()
        return loss.detach()

    def tensors(self) -> dict[str, Tensor]:
        """Everything that training has changed, by name."""
        state = {f"net/{name}": value for name, value in self.net.state_dict().items()}
        for name, parameter in self.net.named_parameters():
            moments = self.optimiser.state[parameter]
            state |= {f"{moment}/{name}": moments[moment] for moment in _MOMENTS}
        return state

    def restore(self, tensors: Mapping[str, Tensor], steps: int) -> None:
        """Go on from :meth:`tensors` after so many steps."""
        self.steps = steps
        self.net.load_state_dict({name: tensors[f"net/{name}"] for name in self.net.state_dict()})
        self.net.eval()
        restored: dict[str, Any] = self.optimiser.state_dict()
        for number, (name, parameter) in enumerate(self.net.named_parameters()):
            # in the parameter's own memory layout, which elementwise arithmetic must find as it was
            moments = {moment: torch.empty_like(parameter).copy_(tensors[f"{moment}/{name}"]) for moment in _MOMENTS}
            restored["state"][number] = moments | {"step": torch.tensor(float(steps))}
        self.optimiser.load_state_dict(restored)


def schedule(step: int, total: int) -> float:
    """The learning rate of a step as a share of the highest.

    >>> [round(schedule(step, 100), 2) for step in (0, 4, 5, 52, 99)]
    [0.2, 1.0, 1.0, 0.51, 0.0]
    """
    warm = max(1, round(_WARM_UP * total))
    if step < warm:
        return (step + 1) / warm
    return (1 + math.cos(math.pi * (step - warm) / max(1, total - warm))) / 2
