"""3x3 convolutions by Winograd's algorithm on the CPU in single precision, forward and backward.

Up to 128 channels, images go through in strips where their sizes allow it (:mod:`.strips`). Otherwise the matrix products over
channels are torch's own, and only the transforms around them are ours (:mod:`.winograd`), in groups of images whose tiles fit
into the processor's cache. Rounding differs from the direct way's, as that of any two algorithms does: errors are about 1e-5 of
the largest value, those of direct convolutions about 1e-6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from einstellung.kernels.derivatives import first_derivative_only
from einstellung.kernels.strips import goes_in_strips, strip_backward, strip_forward
from einstellung.kernels.tiles import channels_inside, new_tiles, quads, tiles_of, transform

LEAST_CHANNELS = 32  # with fewer, moving the tiles of many images costs more than the multiplications that are saved
_CACHE = 5 * 2**20  # bytes of tiles at a time
_KINDS = (Tensor, nn.Parameter)


class WinogradConv2d(nn.Conv2d):
    """A convolution that a net has already, with the faster algorithm where the input allows it."""

    def forward(self, input: Tensor) -> Tensor:  # torch's name: it may be called by keyword
        weight, bias = self.weight, self.bias
        if not takes(self, weight, bias, input) or not input.is_contiguous(memory_format=torch.channels_last):
            return super().forward(input)
        if torch.is_grad_enabled():
            out: Tensor = _Winograd.apply(input, weight)  # type: ignore[no-untyped-call]
        else:
            out, _ = winograd_forward(input, weight, keeps=False)
        return out if bias is None else out + bias.view(-1, 1, 1)


def suits_winograd(layer: nn.Module) -> bool:
    """Whether a layer is a plain 3x3 convolution with many channels.

    >>> suits_winograd(nn.Conv2d(64, 64, 3, padding=1)), suits_winograd(nn.Conv2d(64, 64, 3, stride=2, padding=1))
    (True, False)
    """
    return type(layer) is nn.Conv2d and _is_plain(layer, layer.weight)


def takes(layer: nn.Conv2d, weight: Tensor, bias: Tensor | None, x: Tensor) -> bool:
    """Whether the kernels compute what the layer would now: its weights and settings may have changed since it was chosen."""
    if not computes_here(x, weight) or not _is_plain(layer, weight):
        return False
    if bias is not None and (not computes_here(bias) or bias.shape != weight.shape[:1]):
        return False
    return x.dim() == 4 and x.numel() > 0 and x.shape[1] == weight.shape[1]


def _is_plain(layer: nn.Conv2d, weight: Tensor) -> bool:
    if weight.dim() != 4:
        return False
    outputs, inputs, height, width = weight.shape
    return (
        height == width == 3
        and layer.stride == layer.padding == layer.dilation == (1, 1)
        and layer.groups == 1
        and layer.padding_mode == "zeros"
        and inputs >= LEAST_CHANNELS
        and outputs >= LEAST_CHANNELS
        and inputs % 16 == outputs % 16 == 0
    )


def computes_here(*tensors: Tensor | None) -> bool:
    """Whether numbers lie in this machine's memory, in single precision, and nobody but autograd follows what is computed.

    No stand-ins of torch's, no autocast, no tracing, no transforms of functions, no derivatives taken forwards.
    """
    if (
        torch.compiler.is_compiling()
        or torch.is_autocast_enabled("cpu")
        or torch._C._is_tracing()
        or torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
    ):
        return False
    for x in tensors:  # noqa: SIM110 - every layer asks at every step: all() would take twice as long
        if type(x) not in _KINDS or x.dtype is not torch.float32 or not x.is_cpu:  # type: ignore[union-attr]
            return False
    return True


def tile_size(height: int, width: int) -> int:
    """Outputs along a tile's side: 4 where that needs fewer multiplications for images of this size, otherwise 2.

    >>> [tile_size(side, side) for side in (4, 5, 8, 10, 32)]
    [2, 2, 4, 4, 4]
    """
    products = {side: (side + 2) ** 2 * tiles_of(height, width, side) for side in (2, 4)}
    # up to 4x4, the 36 matrices of weights of the larger tiles cost more than they save
    return 4 if max(height, width) > 4 and products[4] < products[2] else 2


class _Winograd(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        outputs, saved = winograd_forward(x, weight, keeps=ctx.needs_input_grad[1])
        ctx.shape = x.shape
        ctx.save_for_backward(*saved)
        return outputs

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        return winograd_backward(ctx.shape, ctx.saved_tensors, gradient, *ctx.needs_input_grad)


def winograd_forward(x: Tensor, weight: Tensor, keeps: bool) -> tuple[Tensor, list[Tensor]]:
    """The convolution, and what its gradients need: weights and, where it ``keeps`` them, images, or the tiles of both."""
    from einstellung.kernels import winograd

    if goes_in_strips(x.shape, weight.shape[0]):
        return strip_forward(x, weight), [weight, x] if keeps else [weight]
    images = channels_inside(x)
    count, height, width, channels = images.shape
    side = tile_size(height, width)
    per_image = tiles_of(height, width, side)
    to_tiles, to_images = (winograd.input4, winograd.output4) if side == 4 else (winograd.input2, winograd.output2)
    transformed = _transformed_weight(weight, side)
    made = weight.shape[0]
    outputs = images.new_empty(count, height, width, made)
    kept = []
    source, target = quads(images), quads(outputs)
    groups = list(_groups(count, per_image, max(weight.shape[:2]), side))
    most = max(last - first for first, last in groups) * per_image
    products = new_tiles(side, most, made)
    tiles = new_tiles(side, 0 if keeps else most, channels)
    for first, last in groups:
        size = (last - first) * per_image
        if keeps or size < most:
            tiles = new_tiles(side, size, channels)
        if keeps:
            kept.append(tiles)
        if size < most:
            products = new_tiles(side, size, made)
        transform(to_tiles, source, quads(tiles), first, last, per_image)
        torch.bmm(tiles, transformed.transpose(1, 2), out=products)
        transform(to_images, quads(products), target, first, last, per_image)
    return outputs.permute(0, 3, 1, 2), [transformed, *kept]


def winograd_backward(
    shape: Sequence[int],
    saved: Sequence[Tensor],
    gradient: Tensor,
    wants_input: bool,
    wants_weight: bool,
    into: Tensor | None = None,
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of images of this ``shape`` and of the weights.

    Where ``into`` is given, the former are those and it together; it may be written over.
    """
    from einstellung.kernels import winograd

    if goes_in_strips(shape, gradient.shape[1]):
        weight, *images = saved
        return strip_backward(images[0] if images else None, weight, gradient, wants_input, wants_weight, into)
    transformed, *kept = saved
    count, channels, height, width = shape
    side = tile_size(height, width)
    per_image = tiles_of(height, width, side)
    if side == 4:
        to_tiles, to_images = winograd.output4_transposed, winograd.input4_transposed
    else:
        to_tiles, to_images = winograd.output2_transposed, winograd.input2_transposed
    given = channels_inside(gradient)
    source = quads(given)
    down = None
    if wants_input:
        down = given.new_zeros(count, height, width, channels) if into is None else channels_inside(into)
    sums = transformed.new_empty((side + 2) ** 2, gradient.shape[1], channels) if wants_weight else None
    groups = list(_groups(count, per_image, max(channels, gradient.shape[1]), side))
    most = max(last - first for first, last in groups) * per_image
    tiles, products = new_tiles(side, most, gradient.shape[1]), new_tiles(side, most, channels)
    for number, (first, last) in enumerate(groups):
        size = (last - first) * per_image
        if size < most:
            tiles, products = new_tiles(side, size, gradient.shape[1]), new_tiles(side, size, channels)
        transform(to_tiles, source, quads(tiles), first, last, per_image)
        if sums is not None:
            sums.baddbmm_(tiles.transpose(1, 2), kept[number], beta=int(number > 0))
        if down is not None:
            torch.bmm(tiles, transformed, out=products)
            transform(to_images, quads(products), quads(down), first, last, per_image)
    return (
        None if down is None else down.permute(0, 3, 1, 2),
        None if sums is None else _weight_gradient(sums, side),
    )


def _groups(count: int, per_image: int, channels: int, side: int) -> Iterator[tuple[int, int]]:
    """Images that go through together: as many as the cache holds the tiles of, for every thread."""
    together = max(1, _CACHE // (4 * (side + 2) ** 2 * per_image * channels)) * torch.get_num_threads()
    for first in range(0, count, together):
        yield first, min(first + together, count)


def _transformed_weight(weight: Tensor, side: int) -> Tensor:
    from einstellung.kernels import winograd

    kernel = winograd.weight4 if side == 4 else winograd.weight2
    source = channels_inside(weight.detach())
    outputs, inputs = weight.shape[:2]
    tiles = new_tiles(side, outputs, inputs)
    transform(kernel, quads(source), quads(tiles), 0, outputs, 1)
    return tiles[:, :outputs]


def _weight_gradient(sums: Tensor, side: int) -> Tensor:
    from einstellung.kernels import winograd

    kernel = winograd.weight4_transposed if side == 4 else winograd.weight2_transposed
    _, outputs, inputs = sums.shape
    gradient = sums.new_empty(outputs, 3, 3, inputs)
    transform(kernel, quads(sums), quads(gradient), 0, outputs, 1)
    return gradient.permute(0, 3, 1, 2)
