"""3x3 convolutions by Winograd's algorithm on the CPU in single precision, forward and backward.

Up to 128 channels, images go through in strips where their sizes allow it (:mod:`.strips`). Otherwise the matrix products over
channels are torch's, and only the transforms around them are ours (:mod:`.winograd`), in groups of images whose tiles fit
into the processor's cache. Rounding differs from the direct way's, as that of any two algorithms does: errors are about 1e-5 of
the largest value, those of direct convolutions about 1e-6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from einstellung.kernels.autograd import first_derivative_only, plain_tensors
from einstellung.kernels.strips import strip_backward, strip_forward, strips_support
from einstellung.kernels.tiles import as_nhwc, as_quads, empty_tiles, tile_count, transform
from einstellung.kernels.weight_squares import add_weight_squares, tiles_pay

LEAST_CHANNELS = 32  # with fewer, moving the tiles of many images costs more than the multiplications that are saved
_CACHE = 5 * 2**20  # bytes of tiles at a time


class WinogradConv2d(nn.Conv2d):
    """A convolution with the faster algorithm where the input allows it."""

    accelerates: ClassVar[type[nn.Module]] = nn.Conv2d

    def forward(self, input: Tensor) -> Tensor:  # torch's name: it may be called by keyword
        weight, bias = self.weight, self.bias
        if not supports(self, weight, bias, input) or not input.is_contiguous(memory_format=torch.channels_last):
            return super().forward(input)
        if torch.is_grad_enabled():
            out: Tensor = _Winograd.apply(input, weight)  # type: ignore[no-untyped-call]
        else:
            out, _ = winograd_forward(input, weight, keeps=False)
        return out if bias is None else out + bias.view(-1, 1, 1)

    def add_weight_squares(self, total: Tensor, x: Tensor, grad_output: Tensor) -> bool:
        """total [output, row, column, channel] += squared weight gradients of single images; False where it does not pay."""
        if not supports(self, self.weight, self.bias, x) or not plain_tensors(grad_output):
            return False
        if grad_output.shape != (len(x), len(self.weight), *x.shape[2:]) or not tiles_pay(*x.shape[2:]):
            return False
        add_weight_squares(total, x, grad_output)
        return True


def suits_winograd(layer: nn.Module) -> bool:
    """Whether a layer is a plain 3x3 convolution with many channels.

    >>> suits_winograd(nn.Conv2d(64, 64, 3, padding=1)), suits_winograd(nn.Conv2d(64, 64, 3, stride=2, padding=1))
    (True, False)
    """
    return type(layer) is nn.Conv2d and _is_plain(layer, layer.weight)


def supports(layer: nn.Conv2d, weight: Tensor, bias: Tensor | None, x: Tensor) -> bool:
    """Whether the kernels compute what the layer would now: its weights and settings may have changed since it was swapped."""
    if not plain_tensors(x, weight) or not _is_plain(layer, weight):
        return False
    if bias is not None and (not plain_tensors(bias) or bias.shape != weight.shape[:1]):
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


def tile_size(height: int, width: int) -> int:
    """Outputs along a tile's side: 4 where that needs fewer multiplications for images of this size, otherwise 2.

    >>> [tile_size(side, side) for side in (4, 5, 8, 10, 32)]
    [2, 2, 4, 4, 4]
    """
    products = {side: (side + 2) ** 2 * tile_count(height, width, side) for side in (2, 4)}
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
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        return winograd_backward(ctx.shape, ctx.saved_tensors, grad_output, *ctx.needs_input_grad)


def winograd_forward(x: Tensor, weight: Tensor, keeps: bool) -> tuple[Tensor, list[Tensor]]:
    """The convolution, and what its gradients need: weights and, with ``keeps``, images, or the tiles of both."""
    from einstellung.kernels import winograd

    if strips_support(x.shape, weight.shape[0]):
        return strip_forward(x, weight), [weight, x] if keeps else [weight]
    images = as_nhwc(x)
    count, height, width, channels = images.shape
    side = tile_size(height, width)
    per_image = tile_count(height, width, side)
    to_tiles, to_images = (winograd.input4, winograd.output4) if side == 4 else (winograd.input2, winograd.output2)
    transformed = _transformed_weight(weight, side)
    n_outputs = weight.shape[0]
    outputs = images.new_empty(count, height, width, n_outputs)
    kept = []
    source, target = as_quads(images), as_quads(outputs)
    groups = list(_groups(count, per_image, max(weight.shape[:2]), side))
    most = max(last - first for first, last in groups) * per_image
    products = empty_tiles(side, most, n_outputs)
    tiles = empty_tiles(side, 0 if keeps else most, channels)
    for first, last in groups:
        size = (last - first) * per_image
        if keeps or size < most:
            tiles = empty_tiles(side, size, channels)
        if keeps:
            kept.append(tiles)
        if size < most:
            products = empty_tiles(side, size, n_outputs)
        transform(to_tiles, source, as_quads(tiles), first, last, per_image)
        torch.bmm(tiles, transformed.transpose(1, 2), out=products)
        transform(to_images, as_quads(products), target, first, last, per_image)
    return outputs.permute(0, 3, 1, 2), [transformed, *kept]


def winograd_backward(
    shape: Sequence[int],
    saved: Sequence[Tensor],
    grad_output: Tensor,
    needs_input: bool,
    needs_weight: bool,
    into: Tensor | None = None,
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of images of this ``shape`` and of the weights, as far as they are needed.

    ``into``: a tensor that the images' gradient is added to; it may be overwritten.
    """
    from einstellung.kernels import winograd

    if strips_support(shape, grad_output.shape[1]):
        weight, *images = saved
        return strip_backward(images[0] if images else None, weight, grad_output, needs_input, needs_weight, into)
    transformed, *kept = saved
    count, channels, height, width = shape
    side = tile_size(height, width)
    per_image = tile_count(height, width, side)
    if side == 4:
        to_tiles, to_images = winograd.output4_transposed, winograd.input4_transposed
    else:
        to_tiles, to_images = winograd.output2_transposed, winograd.input2_transposed
    grad_nhwc = as_nhwc(grad_output)
    source = as_quads(grad_nhwc)
    grad_input = None
    if needs_input:
        grad_input = grad_nhwc.new_zeros(count, height, width, channels) if into is None else as_nhwc(into)
    sums = transformed.new_empty((side + 2) ** 2, grad_output.shape[1], channels) if needs_weight else None
    groups = list(_groups(count, per_image, max(channels, grad_output.shape[1]), side))
    most = max(last - first for first, last in groups) * per_image
    tiles, products = empty_tiles(side, most, grad_output.shape[1]), empty_tiles(side, most, channels)
    for number, (first, last) in enumerate(groups):
        size = (last - first) * per_image
        if size < most:
            tiles, products = empty_tiles(side, size, grad_output.shape[1]), empty_tiles(side, size, channels)
        transform(to_tiles, source, as_quads(tiles), first, last, per_image)
        if sums is not None:
            sums.baddbmm_(tiles.transpose(1, 2), kept[number], beta=int(number > 0))
        if grad_input is not None:
            torch.bmm(tiles, transformed, out=products)
            transform(to_images, as_quads(products), as_quads(grad_input), first, last, per_image)
    return (
        None if grad_input is None else grad_input.permute(0, 3, 1, 2),
        None if sums is None else _weight_gradient(sums, side),
    )


def _groups(count: int, per_image: int, channels: int, side: int) -> Iterator[tuple[int, int]]:
    """Groups of images: as many at a time as the cache holds the tiles of, for every thread."""
    group = max(1, _CACHE // (4 * (side + 2) ** 2 * per_image * channels)) * torch.get_num_threads()
    for first in range(0, count, group):
        yield first, min(first + group, count)


def _transformed_weight(weight: Tensor, side: int) -> Tensor:
    from einstellung.kernels import winograd

    kernel = winograd.weight4 if side == 4 else winograd.weight2
    source = as_nhwc(weight.detach())
    outputs, inputs = weight.shape[:2]
    tiles = empty_tiles(side, outputs, inputs)
    transform(kernel, as_quads(source), as_quads(tiles), 0, outputs, 1)
    return tiles[:, :outputs]


def _weight_gradient(sums: Tensor, side: int) -> Tensor:
    from einstellung.kernels import winograd

    kernel = winograd.weight4_transposed if side == 4 else winograd.weight2_transposed
    _, outputs, inputs = sums.shape
    gradient = sums.new_empty(outputs, 3, 3, inputs)
    transform(kernel, as_quads(sums), as_quads(gradient), 0, outputs, 1)
    return gradient.permute(0, 3, 1, 2)
