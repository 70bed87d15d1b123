"""Interleaved training: all phases at the same time, from random weights.

Batches of earlier phases alternate with batches of the last phase until the last phase's budget is used:
theta <- theta - lr grad CE(earlier batch), theta <- theta - lr grad CE(batch), and so on. Only the last phase's images
count for the effective epoch. Unlike joint training, both parts get equally many steps, whatever their sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import torch
from torch import Tensor

from einstellung.learners.learner import Learner, learners
from einstellung.learners.planning import Workload
from einstellung.randomness import generator
from einstellung.streams.stream import Phase


@learners.register("interleaved")
class Interleaved(Learner):
    """Alternates batches of earlier phases and of the last phase, from a fresh net."""

    skips_history: ClassVar[bool] = True
    workload: ClassVar[Workload] = Workload(step_cost=2.0)  # an earlier batch for every batch of the last phase

    def sources(self, phase: Phase) -> tuple[Phase, ...]:
        return (*self.context.earlier(phase), phase)

    def batches(self, phase: Phase, epoch: int, size: int) -> Iterator[Tensor]:
        """Earlier images continue where the previous epoch stopped, reshuffled after each full pass."""
        seed, own = self.context.seed, len(phase.train)
        others = sum(len(source.train) for source in self.context.earlier(phase))
        start, stop = (epoch - 1) * own, epoch * own
        rounds = [
            torch.randperm(others, generator=generator(seed, "interleaved-order", phase.name, number))
            for number in range(start // others, (stop - 1) // others + 1)
        ]
        first = start // others * others
        earlier = torch.cat(rounds)[start - first : stop - first]
        order = torch.randperm(own, generator=generator(seed, "order", phase.name, epoch)) + others
        for theirs, ours in zip(earlier.split(size), order.split(size), strict=True):
            yield theirs
            yield ours
