"""CODA-Prompt (Smith et al., 2023): a frozen vision transformer whose prompts are weighted sums of components.

The query q(x) is the class token of the transformer without prompts. Each of the first ``layers`` blocks has components P_m
with a key K_m and an attention vector A_m; its prompt is sum_m cos(q(x) * A_m, K_m) P_m, half of it put before the keys of its
self-attention, half before the values. Every phase has ``pool`` / phases components of its own in every block, which start
orthonormal to each other and to those of earlier phases; these are used as before, but no longer learn.
loss = CE(f(x), y) + ortho * sum over blocks and over P, K, A of mean (B B^T - I)^2, B the vectors so far as rows. CE is among the
classes of the phase.

Differs from the original in the transformer: ours, with the weights of ``backbone.weights``, or those that another method has
trained in the first phase (``sgd-then-coda_prompt``). The head has all classes from the start, and the study's optimiser and
schedule are used instead of Adam and a cosine. The components of a later phase are 0, so without effect, until it begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.backbones.vit import Prefix, VisionTransformer
from einstellung.errors import InputError
from einstellung.learners.learner import Batch, learners, option
from einstellung.learners.prompts import PromptLearner
from einstellung.modalities.transfer import to_device
from einstellung.randomness import generator
from einstellung.streams.stream import Phase


@dataclass(frozen=True)
class CODAOptions:
    pool: int = option(100, "Mammoth: for all phases together")
    length: int = option(8, "Mammoth")
    layers: int = option(5, "Mammoth")
    ortho: float = option(0.0, "Mammoth, where the penalty is off")

    def __post_init__(self) -> None:
        for key in ("pool", "length", "layers"):
            if getattr(self, key) < 1:
                raise InputError(f"learners.coda_prompt.{key} is {getattr(self, key)}: it must be at least 1")
        if self.length % 2:
            raise InputError(f"learners.coda_prompt.length is {self.length}: half of it are keys, so it must be even")
        if not self.ortho >= 0:
            raise InputError(f"learners.coda_prompt.ortho is {self.ortho}: it must be at least 0")


class Components(nn.Module):
    """The components of one block, those of every phase as parameters of their own."""

    def __init__(self, phases: int, each: int, length: int, dim: int) -> None:
        super().__init__()
        self.prompts, self.keys, self.attention = (
            nn.ParameterList(torch.zeros(each, *shape) for _ in range(phases))
            for shape in ((length, dim), (dim,), (dim,))
        )

    def vectors(self) -> tuple[nn.ParameterList, ...]:
        return self.prompts, self.keys, self.attention

    def prefix(self, query: Tensor) -> Prefix:
        """Keys and values for a block's self-attention."""
        prompts, keys, attention = (torch.cat(tuple(values)) for values in self.vectors())
        attended = F.normalize(query[:, None] * attention, dim=2)
        weights = (attended * F.normalize(keys, dim=1)).sum(dim=2)
        key, value = torch.einsum("nm,mld->nld", weights, prompts).chunk(2, dim=1)
        return key, value


class DecomposedPrompts(nn.Module):
    """The components of all blocks that have some."""

    def __init__(self, blocks: int, phases: int, each: int, length: int, dim: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Components(phases, each, length, dim) for _ in range(blocks))

    def components(self) -> list[Components]:
        """Those of every block."""
        return [block for block in self.blocks if isinstance(block, Components)]

    def features(self, net: VisionTransformer, x: Tensor) -> Tensor:
        """The head's input."""
        with torch.no_grad():
            query = net.class_token(x)
        prefixes: list[Prefix | None] = [None] * len(net.blocks)
        for number, components in enumerate(self.components()):
            prefixes[number] = components.prefix(query)
        return net.class_token(x, prefixes)


@learners.register("coda_prompt")
class CODAPrompt(PromptLearner):
    """A frozen vision transformer with prompts composed of components, some of them learned in each phase."""

    Options: ClassVar[type] = CODAOptions
    method: ClassVar[str] = "coda_prompt"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._number = 0

    def make_prompts(self, net: VisionTransformer, draws: torch.Generator) -> nn.Module:
        pool, phases, dim = self.options.pool, len(self.context.phases), net.head.in_features
        if not phases <= pool <= dim:
            raise InputError(
                f"learners.coda_prompt.pool is {pool}: with {phases} phases and a transformer of {dim} channels, give from "
                f"{phases} to {dim}, so that every phase has some and all can be orthogonal"
            )
        if self.options.layers > len(net.blocks):
            raise InputError(
                f"learners.coda_prompt.layers is {self.options.layers}, but the transformer has {len(net.blocks)} blocks"
            )
        self.prompts = DecomposedPrompts(self.options.layers, phases, pool // phases, self.options.length, dim)
        return self.prompts

    def learned(self, phase: Phase) -> list[nn.Parameter]:
        return [values[self._number] for block in self.prompts.components() for values in block.vectors()]

    def begin_phase(self, phase: Phase) -> None:
        self._number = len(self.context.earlier(phase))
        draws = generator(self.context.seed, "coda_prompt", phase.name)
        with torch.no_grad():
            for block in self.prompts.components():
                for values in block.vectors():
                    past = torch.cat(tuple(values[: self._number])) if self._number else values[0][:0]
                    fresh = orthonormal(past.flatten(1), len(values[0]), draws)
                    values[self._number].copy_(fresh.view(values[0].shape))
        super().begin_phase(phase)

    def objective(self, batch: Batch) -> Tensor:
        with self.context.autocast():
            logits = self.net(batch.inputs).float()
        loss = self.masked_cross_entropy(logits, batch.labels)
        return loss + self.options.ortho * self._overlap() if self.options.ortho else loss

    def _overlap(self) -> Tensor:
        known = self._number + 1
        rows = [
            torch.cat(tuple(values[:known])).flatten(1)
            for block in self.prompts.components()
            for values in block.vectors()
        ]
        return torch.stack([overlap(vectors) for vectors in rows]).sum()


def orthonormal(past: Tensor, count: int, draws: torch.Generator) -> Tensor:
    """``count`` random unit vectors, orthogonal to each other and to the rows of ``past``.

    >>> fresh = orthonormal(torch.tensor([[2.0, 0.0, 0.0]]), 2, torch.Generator().manual_seed(0))
    >>> bool((fresh[:, 0].abs() < 1e-6).all()), f"{abs(float(fresh[0] @ fresh[1])):.4f}"
    (True, '0.0000')
    """
    fresh = to_device(torch.randn(count, past.shape[1], generator=draws), past.device)
    return torch.linalg.qr(torch.cat((past, fresh)).T).Q[:, len(past) :].T


def overlap(vectors: Tensor) -> Tensor:
    """How far rows are from orthonormal: the mean of (B B^T - I)^2.

    >>> overlap(torch.eye(3)), overlap(torch.ones(2, 1))
    (tensor(0.), tensor(0.5000))
    """
    return (vectors @ vectors.T - torch.eye(len(vectors), device=vectors.device)).square().mean()
