"""Find the hidden units of any net: outputs of a layer that reach the result through one other layer alone."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

Convolution = nn.Conv2d | nn.Conv1d
Layer = Convolution | nn.Linear
_FAR = 10.0  # how far outputs are moved
_EQUAL = 1e-5


@dataclass(frozen=True)
class HiddenUnits:
    """Names of the layer that computes the units, of the batch norm right after it (None without one), and of their consumer."""

    producer: str
    norm: str | None
    consumer: str


def channels_last(layer: nn.Module, values: Tensor) -> Tensor:
    """A layer's inputs or outputs as a row of channels for every image, token, pixel or point in time.

    >>> channels_last(nn.Conv1d(3, 2, 1), torch.zeros(5, 3, 7)).shape, channels_last(nn.Linear(7, 2), torch.zeros(5, 3, 7)).shape
    (torch.Size([35, 3]), torch.Size([15, 7]))
    """
    return (values.movedim(1, -1) if isinstance(layer, Convolution) else values).flatten(0, -2)


@torch.no_grad()
def hidden_units(
    net: nn.Module, state: Mapping[str, Tensor], shape: tuple[int, ...], tokens: int | None = None
) -> list[HiddenUnits]:
    """The hidden units of a net with these weights and inputs of this shape: [C, H, W], [C, L], or [T].

    ``tokens``: of texts, how many token numbers there are.

    By experiment, in evaluation mode on random inputs: other values of some units of a layer move the same channels of the
    consumer's input and nothing else; with the consumer's output held, nothing moves at all; and with the layer's output
    held, the consumer's input is the same for other images. So the outputs of a residual block are none: they have several
    consumers or are sums.

    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> hidden_units(net, net.state_dict(), (1, 2, 2))
    [HiddenUnits(producer='1', norm=None, consumer='3')]
    """
    twin = copy.deepcopy(net).to_empty(device="cpu")
    twin.load_state_dict(dict(state))
    twin.eval()
    draws = torch.Generator().manual_seed(0)
    for layer in twin.modules():  # an untrained net may have outputs that are all 0
        if isinstance(layer, Layer) and not bool(layer.weight.any()):
            layer.weight.normal_(std=0.1, generator=draws)
    if tokens is not None:
        images, others = torch.randint(1, max(2, tokens), (2, 2, *shape), generator=draws)
    else:
        images, others = torch.randn(2, 2, *shape, generator=draws)
    return _Experiment(twin, images, others, draws).found()


class _Experiment:
    def __init__(self, net: nn.Module, images: Tensor, others: Tensor, draws: torch.Generator) -> None:
        self.net, self.images, self.others, self.draws = net, images, others, draws
        self.layers = {name: layer for name, layer in net.named_modules() if isinstance(layer, Layer)}
        self.norms = {name: layer for name, layer in net.named_modules() if isinstance(layer, _BatchNorm)}
        self.outputs: dict[str, Tensor] = {}
        self.inputs, self.result = self._seen(images, {}, self.outputs)

    def found(self) -> list[HiddenUnits]:
        units = [self._units(name) for name in self.outputs]
        return [one for one in units if one is not None]

    def _units(self, producer: str) -> HiddenUnits | None:
        output = self.outputs[producer]
        layer = self.layers[producer]
        count = channels_last(layer, output).shape[1]
        moved = torch.rand(count, generator=self.draws) < 0.5
        moved[0], moved[-1] = True, count == 1
        change = _FAR * torch.randn(channels_last(layer, output).shape, generator=self.draws).abs() * moved
        shown = output + (
            change.view(*_moved_shape(output)).movedim(-1, 1)
            if isinstance(layer, Convolution)
            else change.view_as(output)
        )
        after, _ = self._seen(self.images, {producer: shown})
        for consumer, given in after.items():
            if consumer == producer or _same(given, self.inputs[consumer]):
                continue
            if self._feeds(producer, consumer, shown, given, moved):
                return HiddenUnits(producer, self._norm_after(producer), consumer)
            return None  # the first layer that notices is no consumer, or not the only one
        return None

    def _feeds(self, producer: str, consumer: str, shown: Tensor, given: Tensor, moved: Tensor) -> bool:
        layer = self.layers[consumer]
        before, after = channels_last(layer, self.inputs[consumer]), channels_last(layer, given)
        if before.shape[1] != len(moved) or not _same(before[:, ~moved], after[:, ~moved]):
            return False
        held, result = self._seen(self.images, {producer: shown, consumer: self.outputs[consumer]})
        others = {name for name in held if name != consumer}
        if not _same(result, self.result) or not all(_same(held[name], self.inputs[name]) for name in others):
            return False
        elsewhere, _ = self._seen(self.others, {producer: self.outputs[producer]})
        return _same(elsewhere[consumer], self.inputs[consumer])

    def _norm_after(self, producer: str) -> str | None:
        """The batch norm whose input is the layer's output."""
        given: dict[str, Tensor] = {}
        with ExitStack() as hooks:
            for name, layer in self.norms.items():
                handle = layer.register_forward_pre_hook(lambda _, x, name=name: given.update({name: x[0].clone()}))
                hooks.callback(handle.remove)
            self.net(self.images)
        output = self.outputs[producer]
        return next((name for name, x in given.items() if x.shape == output.shape and torch.equal(x, output)), None)

    def _seen(
        self, images: Tensor, held: Mapping[str, Tensor], outputs: dict[str, Tensor] | None = None
    ) -> tuple[dict[str, Tensor], Tensor]:
        """The inputs of all layers and the net's result, with some layers' outputs replaced."""
        inputs: dict[str, Tensor] = {}

        def watch(name: str) -> Callable[..., Tensor | None]:
            def look(_: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
                inputs[name] = given[0].clone()
                if outputs is not None:
                    outputs[name] = output.clone()
                return held[name].clone() if name in held else None

            return look

        with ExitStack() as hooks:
            for name, layer in self.layers.items():
                hooks.callback(layer.register_forward_hook(watch(name)).remove)
            result: Tensor = self.net(images)
        return inputs, result


def _moved_shape(output: Tensor) -> tuple[int, ...]:
    return (output.shape[0], *output.shape[2:], output.shape[1])


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, rtol=_EQUAL, atol=_EQUAL)
