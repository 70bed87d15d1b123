"""Training of perception, epoch by epoch: an epoch depends only on the state before it, the seed and its number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from einstellung.perception.matching import set_loss
from einstellung.perception.random_scenes import AnnotatedScenes
from einstellung.perception.slot_attention import SlotOptions, SlotPerception, as_inputs
from einstellung.randomness import generator, seeded_globally

_WARM_UP = 0.05  # share of all steps; with large early steps, attention collapses to one slot
_LARGEST_GRADIENT = 1.0
_MOMENTS = ("exp_avg", "exp_avg_sq")


class Trainer:
    """Adam with warm-up and cosine decay to zero; every epoch has its own order of scenes."""

    def __init__(
        self, scenes: AnnotatedScenes, options: SlotOptions, *, epochs: int, batch_size: int, lr: float, seed: int
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

    def epoch(self, number: int, on_progress: Callable[[int], object] = lambda _: None) -> float:
        """Train on every scene once and return the mean loss; ``on_progress`` gets the size of each batch."""
        self.net.train()
        order = torch.randperm(len(self.scenes), generator=generator(self.seed, "perception order", number))
        lost = 0.0
        for rows in order.split(self.batch_size):
            for group in self.optimiser.param_groups:
                group["lr"] = self.lr * schedule(self.steps, self.total)
            lost += float(self._step(rows)) * len(rows)
            self.steps += 1
            on_progress(len(rows))
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
        """Weights and optimiser state by name."""
        state = {f"net/{name}": value for name, value in self.net.state_dict().items()}
        for name, parameter in self.net.named_parameters():
            moments = self.optimiser.state[parameter]
            state |= {f"{moment}/{name}": moments[moment] for moment in _MOMENTS}
        return state

    def restore(self, tensors: Mapping[str, Tensor], steps: int) -> None:
        """Resume from :meth:`tensors` after ``steps`` steps."""
        self.steps = steps
        self.net.load_state_dict({name: tensors[f"net/{name}"] for name in self.net.state_dict()})
        self.net.eval()
        restored: dict[str, Any] = self.optimiser.state_dict()
        for number, (name, parameter) in enumerate(self.net.named_parameters()):
            # in the parameter's own memory layout, so that arithmetic is bit-identical
            moments = {moment: torch.empty_like(parameter).copy_(tensors[f"{moment}/{name}"]) for moment in _MOMENTS}
            restored["state"][number] = moments | {"step": torch.tensor(float(steps))}
        self.optimiser.load_state_dict(restored)


def schedule(step: int, total: int) -> float:
    """The learning rate of a step relative to the peak.

    >>> [round(schedule(step, 100), 2) for step in (0, 4, 5, 52, 99)]
    [0.2, 1.0, 1.0, 0.51, 0.0]
    """
    warm = max(1, round(_WARM_UP * total))
    if step < warm:
        return (step + 1) / warm
    return (1 + math.cos(math.pi * (step - warm) / max(1, total - warm))) / 2
