"""What methods have in common that leave a vision transformer as it is and learn prompts for it."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.backbones.vit import VisionTransformer
from einstellung.errors import InputError
from einstellung.learners.learner import Learner
from einstellung.learners.planning import Workload
from einstellung.streams.stream import Phase


class PromptLearner(Learner):
    """A learner of prompts, which are a part of the net, and of its head; all other weights stay as they are.

    Only classes of the phase take part in the cross entropy, so that the outputs of others are not pushed down.
    """

    method: ClassVar[str]
    workload: ClassVar[Workload] = Workload(step_cost=1.4)  # a second forward pass, for the query

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        if not isinstance(self.net, VisionTransformer):
            raise InputError(f"learners.{self.method} learns prompts for a vision transformer: give backbone.name vit")
        made = self.make_prompts(self.net, torch.Generator().manual_seed(self.context.seed))
        self.net.prompts = made.to(self.context.device)
        self._others = torch.zeros(0, dtype=torch.bool)

    def make_prompts(self, net: VisionTransformer, draws: torch.Generator) -> nn.Module:
        """The prompts at the start of the run."""
        raise NotImplementedError

    def learned(self, phase: Phase) -> list[nn.Parameter]:
        """The parameters of the prompts that learn in a phase."""
        raise NotImplementedError

    def begin_phase(self, phase: Phase) -> None:
        net = self.net
        assert isinstance(net, VisionTransformer)
        self._learned = [*self.learned(phase), *net.head.parameters()]
        net.requires_grad_(False)
        for parameter in self._learned:
            parameter.requires_grad_(True)
        self.optimiser = self.context.make_optimiser(self._learned)
        others = torch.ones(self.context.presentation.stream.n_outputs, dtype=torch.bool)
        others[list(phase.classes)] = False
        self._others = others.to(self.context.device)

    def masked_cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross entropy among the classes of the phase."""
        return F.cross_entropy(logits.masked_fill(self._others, -torch.inf), labels)
