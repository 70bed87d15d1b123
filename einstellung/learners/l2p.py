"""Learning to prompt, L2P (Wang et al., 2022): a frozen vision transformer, and a pool of prompts that it is given.

The query q(x) is the class token of the transformer without prompts. Of M keys k_i with a prompt P_i of L tokens each, the N with
the largest cosine to q(x) are chosen; their prompts are put between class token and patches, at the class token's position,
and the head's input is the mean of their outputs. loss = CE(f(x), y) - pull * sum over the N chosen of cos(q(x), k_i). Keys,
prompts and head learn; CE is among the classes of the phase; gradients are limited to a norm of ``clip``.

Differs from the original in the transformer: ours, with the weights of ``backbone.weights``, or those that another method has
trained in the first phase (``sgd-then-l2p``); from random weights, prompts have nothing to ask for. The head has all classes from
the start, and the study's optimiser and schedule are used. The query comes from the same frozen weights, not from a second copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.backbones.vit import VisionTransformer
from einstellung.errors import InputError
from einstellung.learners.learner import Batch, learners, option
from einstellung.learners.prompts import PromptLearner
from einstellung.streams.stream import Phase


@dataclass(frozen=True)
class L2POptions:
    pool: int = option(10, "Mammoth; M in Wang et al. (2022)")
    length: int = option(5, "Mammoth; L_p in Wang et al. (2022)")
    top: int = option(5, "Mammoth; N in Wang et al. (2022)")
    pull: float = option(0.5, "Mammoth's choice for CIFAR-100; its default is 0.1")
    clip: float = option(1.0, "Mammoth")

    def __post_init__(self) -> None:
        for key in ("pool", "length", "top"):
            if getattr(self, key) < 1:
                raise InputError(f"learners.l2p.{key} is {getattr(self, key)}: it must be at least 1")
        if self.top > self.pool:
            raise InputError(f"learners.l2p.top is {self.top}: it must be at most the pool, {self.pool}")
        if not self.pull >= 0:
            raise InputError(f"learners.l2p.pull is {self.pull}: it must be at least 0")
        if not self.clip > 0:
            raise InputError(f"learners.l2p.clip is {self.clip}: it must be above 0")


class PromptPool(nn.Module):
    """Keys and the prompts that they stand for, both drawn from U(-1, 1)."""

    def __init__(self, dim: int, options: L2POptions, draws: torch.Generator) -> None:
        super().__init__()
        self.top = options.top
        self.keys = nn.Parameter(torch.empty(options.pool, dim).uniform_(-1, 1, generator=draws))
        self.prompts = nn.Parameter(torch.empty(options.pool, options.length, dim).uniform_(-1, 1, generator=draws))

    def prompted(self, net: VisionTransformer, x: Tensor) -> tuple[Tensor, Tensor]:
        """The head's input, and the sum of cosines to the chosen keys, averaged over the batch."""
        with torch.no_grad():
            query = F.normalize(net.class_token(x), dim=1)
        likeness = query @ F.normalize(self.keys, dim=1).T
        found = likeness.topk(self.top, dim=1)
        chosen = self.prompts[found.indices].flatten(1, 2) + net.pos_embed[:, :1]
        tokens = net.tokens(x)
        outputs = net.norm(net.blocks(torch.cat((tokens[:, :1], chosen, tokens[:, 1:]), dim=1)))
        return outputs[:, 1 : 1 + chosen.shape[1]].mean(dim=1), found.values.sum(dim=1).mean()

    def features(self, net: VisionTransformer, x: Tensor) -> Tensor:
        """The head's input."""
        return self.prompted(net, x)[0]


@learners.register("l2p")
class LearningToPrompt(PromptLearner):
    """A frozen vision transformer that is given prompts from a learned pool, chosen image by image."""

    Options: ClassVar[type] = L2POptions
    method: ClassVar[str] = "l2p"

    def make_prompts(self, net: VisionTransformer, draws: torch.Generator) -> nn.Module:
        self.pool = PromptPool(net.head.in_features, self.options, draws)
        return self.pool

    def learned(self, phase: Phase) -> list[nn.Parameter]:
        return list(self.pool.parameters())

    def objective(self, batch: Batch) -> Tensor:
        net = self.net
        assert isinstance(net, VisionTransformer)
        with self.context.autocast():
            features, pulled = self.pool.prompted(net, batch.inputs)
            logits = net.head(features).float()
        return self.masked_cross_entropy(logits, batch.labels) - self.options.pull * pulled.float()

    def adjust_gradients(self) -> None:
        nn.utils.clip_grad_norm_(self._learned, self.options.clip)
