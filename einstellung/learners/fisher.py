"""Empirical Fisher information: the mean over images of the squared gradient of log p(y | x) at the true label.

In evaluation mode no image's logits depend on another image, so one backward pass over a batch gives every layer the
gradients of its outputs, image by image. With the layer's inputs they give the gradients of its weights, which are squared
and summed while they are in the cache, and never stored (:mod:`einstellung.learners.layer_squares`). The ordinary gradients,
sums over images, are not computed.

This needs a net whose parameters all belong to known layers, each called once per pass (:func:`layers_of`). For any other net
(tokens, learned positions, shared weights) ``vmap`` computes the gradients of single images: as exact, but slower, always in
full precision, and with all gradients of a few images in memory at a time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from einstellung.learners.layer_squares import squares_kind, squares_of
from einstellung.learners.learner import Context
from einstellung.streams.stream import ImageSet
from einstellung.torch_compat import uncompiled

Autocast = Callable[[], AbstractContextManager[Any]]

_MOST = 32  # images at a time
_GRADIENTS = 2**26  # numbers of single images' gradients held at a time: 256 MB
_ACTIVATIONS = 2**27  # numbers of layers' inputs and outputs held at a time: 512 MB


@dataclass(frozen=True)
class Shown:
    """Images as inputs of the net, a slice at a time: all of a phase may not fit into memory."""

    images: ImageSet
    context: Context

    def __getitem__(self, rows: slice) -> Tensor:
        some = self.images.take(torch.arange(len(self.images))[rows])
        return self.context.presentation.unaugmented(some)


def fisher_per_sample(
    net: nn.Module, inputs: Tensor | Shown, labels: Tensor, chunk: int | None = None, autocast: Autocast = nullcontext
) -> dict[str, Tensor]:
    """mean_i (d log p(y_i | x_i) / d theta)^2, ``chunk`` images at a time, or as many as memory allows.

    >>> net = nn.Linear(2, 2, bias=False)
    >>> _ = nn.init.zeros_(net.weight)  # p = 1/2: an image's gradient is x / 2 in the row of its label, -x / 2 in the other
    >>> fisher_per_sample(net, torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([0, 1]))["weight"]
    tensor([[0.5000, 2.0000],
            [0.5000, 2.0000]])
    """
    with _restored(net):
        net.eval()
        shown = inputs[0 : chunk or _MOST]
        layers = layers_of(net, shown[:1], autocast)
        sums = _ByImage(net) if layers is None else _ByLayer(net, layers, autocast)
        for start in range(0, len(labels), len(shown)):
            shown = shown if start == 0 else inputs[start : start + len(shown)]
            theirs = labels[start : start + len(shown)]
            for images, truth in zip(shown.split(sums.size), theirs.split(sums.size), strict=True):
                sums.add(images, truth)
    return {name: value.detach() / len(labels) for name, value in sums.result().items()}


def fisher_of_single_images(
    net: nn.Module, inputs: Iterable[Tensor], labels: Tensor, batch_size: int
) -> dict[str, Tensor]:
    """sum_i p(y_i | x_i) (d log p(y_i | x_i) / d theta)^2 / (B b), with B batches of b images, the last of which may be smaller.

    ``inputs`` are single images [1, C, H, W], shown in training mode, so that running statistics follow them.
    """
    was_training = net.training
    net.train()
    parameters = dict(net.named_parameters())
    total = {name: torch.zeros_like(parameter) for name, parameter in parameters.items()}
    for image, label in zip(inputs, labels.split(1), strict=True):
        log_likelihood = -F.cross_entropy(net(image), label)
        gradients = torch.autograd.grad(log_likelihood, list(parameters.values()))
        for name, gradient in zip(parameters, gradients, strict=True):
            total[name] += log_likelihood.detach().exp() * gradient.square()
    net.train(was_training)
    places = math.ceil(len(labels) / batch_size) * batch_size
    return {name: value.detach() / places for name, value in total.items()}


def images_at_a_time(net: nn.Module, most: int = _MOST) -> int:
    """How many images' gradients are held together: up to ``most``, fewer where a net is large.

    >>> images_at_a_time(nn.Linear(10, 10)), images_at_a_time(nn.Linear(4000, 2000))
    (32, 8)
    """
    return max(1, min(most, _GRADIENTS // sum(parameter.numel() for parameter in net.parameters())))


@dataclass(frozen=True)
class KnownLayers:
    """The layers that hold all parameters of a net, by name, and the size of their inputs and outputs for one image."""

    modules: dict[str, nn.Module]
    numbers: int


def layers_of(net: nn.Module, image: Tensor, autocast: Autocast = nullcontext) -> KnownLayers | None:
    """The known layers of a net if they hold all of its parameters and each is called once a pass, shown as ``image`` [1, ...].

    None where a weight is also used elsewhere or shared by two layers, where a layer's inputs do not begin with the dimension of
    images or are changed in place afterwards, or where no gradient reaches a layer's outputs while the weights are fixed.

    >>> net = nn.Sequential(nn.Conv2d(3, 2, 3), nn.Flatten(), nn.Linear(8, 5))
    >>> list(layers_of(net, torch.zeros(1, 3, 4, 4)).modules)
    ['0', '2']
    >>> layers_of(nn.Sequential(net[0], nn.Flatten(), nn.Linear(8, 8), nn.PReLU()), torch.zeros(1, 3, 4, 4)) is None
    True
    """
    modules = {
        name: module for name, module in net.named_modules() if next(module.parameters(recurse=False), None) is not None
    }
    if any(squares_kind(module) is None for module in modules.values()):
        return None
    if any(uses != 1 for uses in _uses_of_parameters(net, image)):
        return None
    for count in (2, 3):  # no dimension but that of images has both sizes
        calls = _calls(net, modules.values(), torch.cat([image] * count), autocast)
        once = Counter(call.module for call in calls) == Counter(modules.values())
        if not once or not all(call.suffices(count) for call in calls):
            return None
    return KnownLayers(modules, sum(call.numbers for call in calls) // count)


@dataclass(frozen=True)
class _Call:
    """A layer's call in a pass, with the version of its inputs at that time."""

    module: nn.Module
    inputs: Tensor | None
    outputs: Tensor
    version: int

    @property
    def numbers(self) -> int:
        return self.outputs.numel() + (0 if self.inputs is None else self.inputs.numel())

    def suffices(self, images: int) -> bool:
        """Whether it separates ``images`` images, a gradient reaches it, and its inputs are unchanged."""
        return (
            self.inputs is not None
            and len(self.inputs) == len(self.outputs) == images
            and self.outputs.requires_grad
            and self.inputs._version == self.version
        )


def _calls(net: nn.Module, modules: Iterable[nn.Module], images: Tensor, autocast: Autocast) -> list[_Call]:
    """The layers' calls in a pass over ``images`` under the conditions of the real one: parameters are fixed."""
    calls: list[_Call] = []

    def on_call(module: nn.Module, inputs: Tensor | None, outputs: Tensor) -> None:
        calls.append(_Call(module, inputs, outputs, -1 if inputs is None else inputs._version))

    net.requires_grad_(False)
    with torch.enable_grad(), autocast(), _hooked(modules, on_call):
        net(_leaf(images).clone())
    return calls


def _leaf(inputs: Tensor) -> Tensor:
    """Inputs that require gradients, so that what is computed from them does; token numbers can have none (see ``_hooked``)."""
    inputs = inputs.detach()
    return inputs.requires_grad_() if inputs.is_floating_point() else inputs


def _uses_of_parameters(net: nn.Module, image: Tensor) -> list[int]:
    """How often each is used in a pass; without autocast, which would cast a weight once for all of its uses."""
    net.requires_grad_(True)
    with torch.enable_grad():
        uses = _uses(net(image.clone()))  # a net may change its input in place
    return [uses[id(parameter)] for parameter in net.parameters()]


class _ByLayer:
    """Sums of squares from one backward pass over a batch; weights get no ordinary gradients."""

    def __init__(self, net: nn.Module, layers: KnownLayers, autocast: Autocast) -> None:
        self.net = net.requires_grad_(False)
        self.autocast = autocast
        self.squares = {name: squares_of(module) for name, module in layers.modules.items()}
        self.size = max(1, min(_MOST, _ACTIVATIONS // layers.numbers))

    def add(self, images: Tensor, labels: Tensor) -> None:
        squares = {sums.layer: sums for sums in self.squares.values()}
        embedded: list[tuple[nn.Module, Tensor, Tensor]] = []

        def on_call(module: nn.Module, inputs: Tensor | None, outputs: Tensor) -> None:
            assert inputs is not None, "layers_of has seen it"
            if outputs.is_leaf:
                embedded.append((module, inputs, outputs))
            else:
                outputs.register_hook(lambda grad_output: squares[module].add(inputs.detach(), grad_output))

        images = _leaf(images)
        with torch.enable_grad(), self.autocast(), _hooked(squares, on_call):
            # a leaf that requires gradients cannot be changed in place
            log_likelihood = -F.cross_entropy(self.net(images.clone()), labels, reduction="sum")
        leaves = ([images] if images.requires_grad else []) + [outputs for _, _, outputs in embedded]
        gradients = torch.autograd.grad(log_likelihood, leaves)[len(leaves) - len(embedded) :]
        for (module, inputs, _), grad_output in zip(embedded, gradients, strict=True):
            squares[module].add(inputs, grad_output)

    def result(self) -> dict[str, Tensor]:
        found = {
            f"{name}.{own}" if name else own: value
            for name, sums in self.squares.items()
            for own, value in sums.result().items()
        }
        return {name: found[name] for name, _ in self.net.named_parameters()}


class _ByImage:
    """Sums of squares from the gradients of every image of a batch."""

    def __init__(self, net: nn.Module) -> None:
        self.size = images_at_a_time(net)
        self.weights = {name: parameter.detach() for name, parameter in net.named_parameters()}
        self.total = {name: torch.zeros_like(weight) for name, weight in self.weights.items()}
        buffers = dict(net.named_buffers())

        def log_likelihood(weights: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
            logits = functional_call(net, (weights, buffers), (image.unsqueeze(0),))
            return -F.cross_entropy(logits, label.unsqueeze(0))

        self.per_sample = vmap(grad(log_likelihood), in_dims=(None, 0, 0))

    def add(self, images: Tensor, labels: Tensor) -> None:
        with sdpa_kernel(SDPBackend.MATH):  # fused attention kernels do not support vmap
            gradients = self.per_sample(self.weights, images, labels)
        for name, gradient in gradients.items():
            self.total[name] += gradient.square().sum(dim=0)

    def result(self) -> dict[str, Tensor]:
        return self.total


@contextmanager
def _restored(net: nn.Module) -> Iterator[None]:
    """Restore every module's mode and every parameter's ``requires_grad`` afterwards."""
    modes = [(module, module.training) for module in net.modules()]
    learned = [(parameter, parameter.requires_grad) for parameter in net.parameters()]
    with uncompiled(net):
        try:
            yield
        finally:
            for module, training in modes:
                module.training = training
            for parameter, required in learned:
                parameter.requires_grad_(required)


@contextmanager
def _hooked(
    modules: Iterable[nn.Module], on_call: Callable[[nn.Module, Tensor | None, Tensor], None]
) -> Iterator[None]:
    """Pass every call of one of the modules to ``on_call``, with its input (None if given by keyword, or with more than the
    tokens of a bag) and its output.

    With fixed weights, an embedding's output is where gradients end: token numbers have none.
    """

    def hook(module: nn.Module, inputs: tuple[Tensor, ...], named: dict[str, Any], outputs: Tensor) -> Tensor | None:
        starts = isinstance(module, nn.Embedding | nn.EmbeddingBag) and outputs.is_leaf
        if starts:
            outputs.requires_grad_()
        weighted = isinstance(module, nn.EmbeddingBag) and len(inputs) + len(named) > 1
        on_call(module, inputs[0] if inputs and not weighted else None, outputs)
        return outputs.clone() if starts else None  # a leaf cannot be changed in place, its copy can

    # before other hooks, which may replace the output
    handles = [module.register_forward_hook(hook, prepend=True, with_kwargs=True) for module in modules]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _uses(outputs: Tensor) -> Counter[int]:
    """How often each parameter, by its id, enters the computation of ``outputs``."""
    uses: Counter[int] = Counter()
    waiting = [] if outputs.grad_fn is None else [outputs.grad_fn]
    known = set(waiting)
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if hasattr(node, "variable"):
                uses[id(node.variable)] += 1
            elif node is not None and node not in known:
                known.add(node)
                waiting.append(node)
    return uses
