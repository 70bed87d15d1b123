"""The last layer of a net: how to find it, several layers in its place, and a stage that trains nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.learners.learner import Batch, Context, Learner, Stage
from einstellung.randomness import generator
from einstellung.streams.stream import Phase


class LastLayers(nn.Module):
    """Several linear layers on the same features in place of one; each starts as a copy of that one.

    ``known`` marks those in use. All of them exist from the start, so that a state always has the same names; weights of a single
    layer can be loaded too, into each of them.
    """

    known: Tensor

    def __init__(self, layer: nn.Linear | LastLayers, count: int) -> None:
        super().__init__()
        weight, bias = (layer.weight, layer.bias) if isinstance(layer, nn.Linear) else layer.as_one()
        bias = weight.new_zeros(len(weight)) if bias is None else bias
        self.weight = nn.Parameter(weight.detach().repeat(count, 1, 1))  # [layers, outputs, features]
        self.bias = nn.Parameter(bias.detach().repeat(count, 1))
        self.register_buffer("known", torch.zeros(count, dtype=torch.bool, device=weight.device))
        self._keeps = False
        self._given: Tensor | None = None

    def __len__(self) -> int:
        return len(self.known)

    @property
    def out_features(self) -> int:
        return int(self.bias.shape[1])

    def as_one(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of a single layer equivalent to all."""
        raise NotImplementedError

    def combined(self, features: Tensor) -> Tensor:
        """The logits of all layers together [N, outputs]."""
        raise NotImplementedError

    def forward(self, features: Tensor) -> Tensor:
        if self._keeps:
            self._given = features
        return self.combined(features)

    def each(self, features: Tensor) -> Tensor:
        """The logits of every layer [N, layers, outputs]."""
        logits: Tensor = F.linear(features, self.weight.flatten(0, 1), self.bias.flatten())
        return logits.view(len(features), *self.bias.shape).float()

    def given_in(self, net: nn.Module, inputs: Tensor) -> Tensor:
        """The features that ``net``, whose last layers these are, computes for ``inputs``."""
        self._keeps = True
        try:
            net(inputs)
        finally:
            self._keeps, given, self._given = False, self._given, None
        assert given is not None, "the net does not use its last layer"
        return given

    @torch.no_grad()
    def know(self, numbers: Iterable[int]) -> None:
        """Start using these layers; new ones start as the single layer equivalent to all so far."""
        weight, bias = self.as_one()
        for number in numbers:
            known = self.known[number]  # never read on the host, which would wait for the accelerator
            self.weight[number] = torch.where(known, self.weight[number], weight)
            self.bias[number] = torch.where(known, self.bias[number], bias)
            self.known[number] = True

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *rest: Any) -> None:
        weight = state_dict.get(f"{prefix}weight")
        if weight is not None and weight.dim() == 2:
            bias = state_dict.get(f"{prefix}bias", weight.new_zeros(len(weight)))
            own = {f"{prefix}{name}": value for name, value in self.state_dict().items()}
            both = {f"{prefix}weight": weight.expand_as(self.weight), f"{prefix}bias": bias.expand_as(self.bias)}
            state_dict = {**state_dict, **own, **both}
        super()._load_from_state_dict(state_dict, prefix, *rest)


L = TypeVar("L", bound=LastLayers)


def last_layer(net: nn.Module, method: str) -> nn.Linear | LastLayers:
    """The last linear layer of a net, or those that replaced it.

    >>> last_layer(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), "bgs")
    Linear(in_features=3, out_features=2, bias=True)
    """
    return _named_last_layer(net, method)[1]


def put_in_place(net: nn.Module, n_outputs: int, method: str, make: Callable[[nn.Linear | LastLayers], L]) -> L:
    """Replace the last layer of a net by ``make(layer)``."""
    name, layer = _named_last_layer(net, method)
    if layer.out_features != n_outputs or not name:
        raise InputError(
            f"learners.{method} replaces the last linear layer of a net, which must have its {n_outputs} outputs; this net's "
            f"is {'the whole net' if not name else f'{name} with {layer.out_features}'}"
        )
    made = make(layer)
    parent, _, own = name.rpartition(".")
    setattr(net.get_submodule(parent), own, made)
    return made


def _named_last_layer(net: nn.Module, method: str) -> tuple[str, nn.Linear | LastLayers]:
    found = [(name, module) for name, module in net.named_modules() if isinstance(module, nn.Linear | LastLayers)]
    if not found:
        raise InputError(f"learners.{method} trains the last linear layer of a net, but this net has none")
    return found[-1]


class RetrainsLastLayer(Learner):
    """A learner whose phases end with a stage, ``retraining``, that trains the last layer alone.

    Its passes over some of the images are one epoch of the loop, evaluated once at its end. The net is in
    evaluation mode, so that batch norm is frozen; the optimiser is new, at the study's first learning rate.
    """

    retraining: ClassVar[str]
    method: ClassVar[str]

    def __init__(self, net: nn.Module, options: Any, context: Context) -> None:
        super().__init__(net, options, context)
        layer, n_outputs = last_layer(net, self.method), context.presentation.stream.n_outputs
        if layer.out_features != n_outputs:
            raise InputError(
                f"learners.{self.method} trains the last linear layer of a net, which must have its {n_outputs} outputs; this "
                f"net's has {layer.out_features}"
            )
        self._layer = list(layer.parameters())
        self._retrains = False

    def rows_to_retrain_on(self, phase: Phase) -> Tensor:
        """Rows of the concatenated sources on which the last layer is trained."""
        raise NotImplementedError

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        self._retrains = False

    def begin_stage(self, phase: Phase, stage: Stage) -> None:
        if stage.name == self.retraining:
            self._retrains = True
            self._rows = self.rows_to_retrain_on(phase)
            self.optimiser = self.context.make_optimiser(self._layer)

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        if self._retrains:
            assert self.optimiser is not None
            for group in self.optimiser.param_groups:
                group["lr"] = self.optimiser.defaults["lr"]  # not the phase's schedule

    def batches(self, phase: Phase, epoch: int, size: int) -> Iterable[Tensor]:
        """All images of the phase once; those for the last layer ``last_layer_epochs`` times."""
        if not self._retrains:
            return super().batches(phase, epoch, size)
        draws = generator(self.context.seed, "order", phase.name, epoch)
        passes = range(self.options.last_layer_epochs)
        return [
            rows for _ in passes for rows in self._rows[torch.randperm(len(self._rows), generator=draws)].split(size)
        ]

    def training_mode(self) -> None:
        self.net.train(not self._retrains)

    def observe(self, batch: Batch) -> Tensor:
        if not self._retrains:
            return super().observe(batch)
        assert self.optimiser is not None, "begin_stage comes before observe"
        loss = self.last_layer_loss(batch)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward(inputs=self._layer)
        self.optimiser.step()
        return loss.detach()

    def last_layer_loss(self, batch: Batch) -> Tensor:
        """The loss of the last layer."""
        return self.cross_entropy(batch.inputs, batch.labels)
