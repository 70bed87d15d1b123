"""Squared gradients of single images, layer by layer, from a layer's inputs x and the gradients d of its outputs.

A convolution or linear layer: dW_i = sum_p d_ip x_ip^T over the places p of image i (of a convolution x_ip is the patch under
its kernel), db_i = sum_p d_ip. A norm with normalised inputs x^: dw_i = sum_p d_ip x^_ip, db_i = sum_p d_ip. An embedding: the
row of token t gets sum_p d_ip over the places p of t in text i.
"""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from einstellung.backbones.layers import reference_class
from einstellung.learners.unfolding import patches

_VALUES = 2**20  # numbers of unfolded patches at a time: they are used while they are in the cache
_BLOCK = 2**19  # numbers of single images' gradients at a time, for the same reason
_SMALL = 2**22  # multiplications below which images are worth a product together


class LayerSquares:
    """sum_i g_i^2 of a layer's own parameters, g_i being the gradient of image i."""

    Kinds: ClassVar[tuple[type[nn.Module], ...]]

    def __init__(self, layer: nn.Module) -> None:
        self.layer = layer
        self.bias = torch.zeros_like(layer.bias) if getattr(layer, "bias", None) is not None else None

    def add(self, inputs: Tensor, grad_output: Tensor) -> None:
        """Add some images: the layer's inputs, and the gradients of its outputs."""
        raise NotImplementedError

    def weight(self) -> Tensor:
        """The sum of squares in the shape of the layer's weight."""
        raise NotImplementedError

    def result(self) -> dict[str, Tensor]:
        """By the parameter's own name, in its shape and memory layout."""
        squares = {"weight": torch.empty_like(self.layer.weight).copy_(self.weight())}
        return squares if self.bias is None else squares | {"bias": self.bias}


class ConvolutionSquares(LayerSquares):
    """Convolutions over images or series."""

    Kinds = (nn.Conv2d, nn.Conv1d)

    def __init__(self, layer: nn.Conv2d | nn.Conv1d) -> None:
        super().__init__(layer)
        outputs, size = len(layer.weight) // layer.groups, layer.weight[0].numel()
        self.squares = layer.weight.new_zeros(layer.groups, outputs, size)  # inputs: [row, col of the kernel, channel]

    def add(self, inputs: Tensor, grad_output: Tensor) -> None:
        add_faster = getattr(self.layer, "add_weight_squares", None)  # offered by accelerated layers
        total = self.squares.view(len(self.layer.weight), *self.layer.weight.shape[2:], -1)
        if add_faster is None or not add_faster(total, inputs, grad_output):
            self._add_products(inputs, grad_output)
        if self.bias is not None:
            self.bias += grad_output.to(self.bias.dtype).flatten(2).sum(dim=2).square().sum(dim=0)

    def _add_products(self, inputs: Tensor, grad_output: Tensor) -> None:
        count, groups, (outputs, size) = len(inputs), self.layer.groups, self.squares.shape[1:]
        grad_output = grad_output.reshape(count, groups, outputs, -1)
        places = grad_output.shape[3]
        # channels last: long runs of memory under each row of the kernel
        unfolded = patches(self.layer, inputs.to(grad_output.dtype).movedim(1, -1).contiguous().movedim(-1, 1))
        sides = inputs.dim() - 2
        # [channel, kernel, image, place] -> [image, group, place, kernel, channel of the group]
        order = (sides + 1, *range(sides + 2, 2 * sides + 2), *range(1, sides + 1), 0)
        unfolded = unfolded.permute(order).unflatten(-1, (groups, -1)).movedim(-2, 1)
        held = max(1, min(count, _VALUES // (places * size)))
        room = grad_output.new_empty(held, *unfolded.shape[2:])  # reused: the system would zero new memory first
        for group in range(groups):
            for start in range(0, count, held):
                some = unfolded[start : start + held, group]
                columns = room[: len(some)].copy_(some).view(len(some), places, size)
                add_squares(self.squares[group], grad_output[start : start + held, group], columns)

    def weight(self) -> Tensor:
        outputs, channels, *kernel = self.layer.weight.shape
        return self.squares.view(outputs, *kernel, channels).movedim(-1, 1)


class LinearSquares(LayerSquares):
    """Linear layers, over one vector per image or over several (tokens)."""

    Kinds = (nn.Linear,)

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(layer)
        self.squares = torch.zeros_like(layer.weight)

    def add(self, inputs: Tensor, grad_output: Tensor) -> None:
        inputs = inputs.to(grad_output.dtype).reshape(len(inputs), -1, inputs.shape[-1])
        grad_output = grad_output.reshape(len(grad_output), -1, grad_output.shape[-1])
        add_squares(self.squares, grad_output.transpose(1, 2), inputs)
        if self.bias is not None:
            self.bias += grad_output.to(self.bias.dtype).sum(dim=1).square().sum(dim=0)

    def weight(self) -> Tensor:
        return self.squares


class NormSquares(LayerSquares):
    """Norms with a scale and a shift: batch norm with its running statistics, layer norm, group norm."""

    Kinds = (_BatchNorm, nn.LayerNorm, nn.GroupNorm)

    def __init__(self, layer: nn.Module) -> None:
        super().__init__(layer)
        self.squares = torch.zeros_like(layer.weight)

    def add(self, inputs: Tensor, grad_output: Tensor) -> None:
        inputs, grad_output = inputs.to(self.squares.dtype), grad_output.to(self.squares.dtype)
        self.squares += self._over_places(grad_output * self._normalised(inputs)).square().sum(dim=0)
        if self.bias is not None:
            self.bias += self._over_places(grad_output).square().sum(dim=0)

    def _normalised(self, inputs: Tensor) -> Tensor:
        layer = self.layer
        if isinstance(layer, nn.LayerNorm):
            return F.layer_norm(inputs, layer.normalized_shape, eps=layer.eps)
        if isinstance(layer, nn.GroupNorm):
            return F.group_norm(inputs, layer.num_groups, eps=layer.eps)
        return F.batch_norm(inputs, layer.running_mean, layer.running_var, eps=layer.eps)

    def _over_places(self, values: Tensor) -> Tensor:
        """Summed over all dimensions between the image and those of the scale."""
        if isinstance(self.layer, nn.LayerNorm):
            return values.reshape(len(values), -1, *self.squares.shape).sum(dim=1)
        return values.flatten(2).sum(dim=2) if values.dim() > 2 else values

    def weight(self) -> Tensor:
        return self.squares


class EmbeddingSquares(LayerSquares):
    """Embeddings of tokens [N, T], one by one or summed or averaged over a text; padding has no gradient."""

    Kinds = (nn.Embedding, nn.EmbeddingBag)

    def __init__(self, layer: nn.Embedding | nn.EmbeddingBag) -> None:
        super().__init__(layer)
        self.squares = torch.zeros_like(layer.weight)

    def add(self, inputs: Tensor, grad_output: Tensor) -> None:
        count, table = len(inputs), len(self.squares)
        tokens = inputs.reshape(count, -1).long()
        shares = self._shares(tokens)
        if isinstance(self.layer, nn.EmbeddingBag):
            gradients = grad_output.to(self.squares.dtype).unsqueeze(1) * shares.unsqueeze(2)
        else:
            gradients = grad_output.to(self.squares.dtype).reshape(*tokens.shape, -1) * shares.unsqueeze(2)
        # one row for every token of every text that has it
        texts = torch.arange(count, device=tokens.device).unsqueeze(1)
        distinct, row = (texts * table + tokens).flatten().unique(return_inverse=True)
        sums = gradients.new_zeros(len(distinct), gradients.shape[2]).index_add_(0, row, gradients.flatten(0, 1))
        self.squares.index_add_(0, distinct % table, sums.square_())

    def _shares(self, tokens: Tensor) -> Tensor:
        """What each token [N, T] adds to the output, as a factor of its embedding."""
        padding = self.layer.padding_idx
        real = (
            torch.ones_like(tokens, dtype=self.squares.dtype)
            if padding is None
            else (tokens != padding).to(self.squares)
        )
        if isinstance(self.layer, nn.EmbeddingBag) and self.layer.mode == "mean":
            return real / real.sum(dim=1, keepdim=True).clamp(min=1)
        return real

    def weight(self) -> Tensor:
        return self.squares


_KINDS = (ConvolutionSquares, LinearSquares, NormSquares, EmbeddingSquares)


def squares_kind(layer: nn.Module) -> type[LayerSquares] | None:
    """How to compute the layer's squared gradients; None for a layer of an unknown kind.

    >>> squares_kind(nn.Linear(2, 2)), squares_kind(nn.Bilinear(2, 2, 2))
    (<class 'einstellung.learners.layer_squares.LinearSquares'>, None)
    """
    kinds = (kind for kind in _KINDS if isinstance(layer, kind.Kinds))
    own = {name for name, parameter in layer.named_parameters(recurse=False)}
    if "weight" not in own or own - {"weight", "bias"} or not _computes_as_its_kind(layer):
        return None
    if isinstance(layer, _BatchNorm) and layer.running_mean is None:
        return None  # batch statistics even in evaluation mode: images depend on each other
    if isinstance(layer, nn.Embedding | nn.EmbeddingBag) and not _is_a_plain_table(layer):
        return None
    return next(kinds, None)


def _is_a_plain_table(layer: nn.Embedding | nn.EmbeddingBag) -> bool:
    """Whether a token's embedding is its row of the table, and the gradient that of the loss."""
    if layer.max_norm is not None or layer.scale_grad_by_freq or layer.sparse:
        return False
    return isinstance(layer, nn.Embedding) or layer.mode in ("mean", "sum")


def _computes_as_its_kind(layer: nn.Module) -> bool:
    """Whether its ``forward`` is torch's or a faster version of it; what another one does with the weight is not known."""
    defining = next(kind for kind in type(layer).__mro__ if "forward" in vars(kind))
    return "forward" not in vars(layer) and reference_class(defining).__module__.startswith("torch.nn.")


def squares_of(layer: nn.Module) -> LayerSquares:
    """An empty sum for a layer of a known kind."""
    kind = squares_kind(layer)
    assert kind is not None, "a layer of a known kind"
    return kind(layer)


def add_squares(total: Tensor, grad_output: Tensor, inputs: Tensor) -> None:
    """total [o, k] += sum_i (D_i X_i)^2 with D [i, o, p] and X [i, p, k].

    >>> total = torch.zeros(1, 2)
    >>> add_squares(total, torch.ones(3, 1, 2), torch.ones(3, 2, 2))
    >>> total
    tensor([[12., 12.]])
    """
    if inputs.shape[1] == 1:  # (d x)^2 = d^2 x^2: one product for all images
        total += grad_output[:, :, 0].T.to(total.dtype).square() @ inputs[:, 0].to(total.dtype).square()
        return
    if total.numel() * inputs.shape[1] < _SMALL:
        chunk = max(1, _BLOCK // total.numel())
        for some, theirs in zip(grad_output.split(chunk), inputs.split(chunk), strict=True):
            total += torch.bmm(some, theirs).to(total.dtype).square_().sum(dim=0)
        return
    rows = max(1, _BLOCK // total.shape[1])
    block = grad_output.new_empty(min(rows, len(total)), total.shape[1])
    for start in range(0, len(total), rows):
        part = total[start : start + rows]
        gradient = block[: len(part)]
        for image in range(len(grad_output)):
            torch.mm(grad_output[image, start : start + rows], inputs[image], out=gradient)
            part.addcmul_(gradient, gradient)
