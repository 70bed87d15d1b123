"""3x3 convolutions with few channels on the CPU in single precision, forward and backward.

torch's own are made for many channels. With stride 1 and sides that are multiples of four, images go through in strips
(:mod:`.strips`); all others, colour images among them, are convolved the direct way, in blocks of eight outputs that stay in
registers (:mod:`.direct_blocks`). Errors are about 1e-5 of the largest value in strips, 1e-6 the direct way.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from einstellung.kernels.compiling import in_parts
from einstellung.kernels.convolution import computes_here
from einstellung.kernels.derivatives import first_derivative_only
from einstellung.kernels.strips import are_for_strips, goes_in_strips, strip_backward, strip_forward
from einstellung.kernels.tiles import channels_inside

_LANES = 8  # channels in a vector, and the least outputs in a row
_COLOURS = 3
_MOST_INPUTS, _MOST_OUTPUTS = 16, 32


class NarrowConv2d(nn.Conv2d):
    """A convolution that a net has already, with our loops where the input allows it."""

    def forward(self, input: Tensor) -> Tensor:  # torch's name: it may be called by keyword
        weight, bias = self.weight, self.bias
        if not takes(self, weight, bias, input):
            return super().forward(input)
        if torch.is_grad_enabled():
            out: Tensor = _Narrow.apply(input, weight, self.stride[0])  # type: ignore[no-untyped-call]
        else:
            out = narrow_forward(input, weight, self.stride[0])
        return out if bias is None else out + bias.view(-1, 1, 1)


def suits_narrow(layer: nn.Module) -> bool:
    """Whether a layer is a plain 3x3 convolution with few channels, or with so many as go in strips.

    >>> suits_narrow(nn.Conv2d(8, 16, 3, stride=2, padding=1)), suits_narrow(nn.Conv2d(24, 64, 3, padding=1))
    (True, True)
    >>> suits_narrow(nn.Conv2d(64, 128, 3, stride=2, padding=1))
    False
    """
    return type(layer) is nn.Conv2d and _is_plain(layer, layer.weight)


def _is_plain(layer: nn.Conv2d, weight: Tensor) -> bool:
    if weight.dim() != 4:
        return False
    outputs, inputs, height, width = weight.shape
    return (
        height == width == 3
        and layer.stride in ((1, 1), (2, 2))
        and layer.padding == layer.dilation == (1, 1)
        and layer.groups == 1
        and layer.padding_mode == "zeros"
        and (_are_few(inputs, outputs) or (layer.stride == (1, 1) and are_for_strips(inputs, outputs)))
    )


def _are_few(inputs: int, outputs: int) -> bool:
    """Whether so many channels are convolved the direct way."""
    vectors = (inputs == _COLOURS or inputs % _LANES == 0) and outputs % _LANES == 0
    return vectors and inputs <= _MOST_INPUTS and outputs <= _MOST_OUTPUTS


def takes(layer: nn.Conv2d, weight: Tensor, bias: Tensor | None, x: Tensor) -> bool:
    """Whether our loops compute what the layer would now, for images of this size."""
    if not computes_here(x, weight) or not _is_plain(layer, weight):
        return False
    if bias is not None and (not computes_here(bias) or bias.shape != weight.shape[:1]):
        return False
    if x.dim() != 4 or x.numel() == 0 or x.shape[1] != weight.shape[1]:
        return False
    if not x.is_contiguous(memory_format=torch.channels_last):
        return False
    step = layer.stride[0]
    if step == 1 and goes_in_strips(x.shape, weight.shape[0]):
        return True
    if not _are_few(x.shape[1], weight.shape[0]):
        return False
    if x.shape[1] == _COLOURS and x.requires_grad:  # three channels are no vector
        return False
    height, width = x.shape[2:]
    return height % step == width % step == 0 and width // step >= _LANES


class _Narrow(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, step: int) -> Tensor:
        ctx.step = step
        ctx.save_for_backward(x, weight)
        return narrow_forward(x, weight, step)

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        return *narrow_backward(*ctx.saved_tensors, gradient, ctx.step, *ctx.needs_input_grad[:2]), None


def narrow_forward(x: Tensor, weight: Tensor, step: int) -> Tensor:
    from einstellung.kernels import direct_loops

    if step == 1 and goes_in_strips(x.shape, weight.shape[0]):
        return strip_forward(x, weight)
    images = channels_inside(x)
    count, height, width, _ = images.shape
    outputs = images.new_empty(count, height // step, width // step, weight.shape[0])
    loop = direct_loops.convolve if step == 1 else direct_loops.convolve_strided
    _over_images(loop, images, _in_blocks(weight), outputs, outputs)
    return outputs.permute(0, 3, 1, 2)


def narrow_backward(
    x: Tensor,
    weight: Tensor,
    gradient: Tensor,
    step: int,
    wants_input: bool,
    wants_weight: bool,
    into: Tensor | None = None,
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of images and weights, as far as they are wanted.

    Where ``into`` is given, the former are those and it together; it may be written over.
    """
    from einstellung.kernels import direct_loops

    if step == 1 and goes_in_strips(x.shape, weight.shape[0]):
        return strip_backward(x, weight, gradient, wants_input, wants_weight, into)
    images, slopes = channels_inside(x), channels_inside(gradient)
    down = None
    if wants_input:
        down = images.new_empty(images.shape)
        if step == 1:
            _over_images(direct_loops.convolve, slopes, _in_blocks(weight.flip(2, 3).transpose(0, 1)), down, slopes)
        else:
            # an even row meets the middle weights, an odd one the last and, of the next output, the first
            turned = _in_blocks(weight[:, :, [1, 2, 0]].transpose(0, 1))
            _over_images(direct_loops.return_strided, slopes, turned, down, slopes)
        down = down.permute(0, 3, 1, 2)
        if into is not None:
            down.add_(into)
    return down, _weight_gradient(images, slopes, step) if wants_weight else None


def _in_blocks(weight: Tensor) -> Tensor:
    """[output, input, row, column] as memory [block of 8 outputs, row, input, column, 8 outputs]."""
    outputs, inputs = weight.shape[:2]
    return weight.detach().reshape(outputs // _LANES, _LANES, inputs, 3, 3).permute(0, 3, 2, 4, 1).contiguous()


def _over_images(loop: Any, source: Tensor, weight: Tensor, target: Tensor, sized: Tensor) -> None:
    addresses = source.data_ptr(), weight.data_ptr(), target.data_ptr()
    sizes = *sized.shape[1:3], source.shape[3], target.shape[3]
    in_parts(lambda first, last: loop(*addresses, first, last, *sizes), source.shape[0])


def _weight_gradient(images: Tensor, slopes: Tensor, step: int) -> Tensor:
    from einstellung.kernels import direct_loops

    count, height, width, outputs = slopes.shape
    inputs = images.shape[3]

    def add(first: int, last: int) -> Tensor:
        sums = slopes.new_zeros(outputs // _LANES, 3, inputs, 3, _LANES)
        target = sums.view(-1).numpy()
        sizes = height, width, inputs, outputs
        direct_loops.add_weights(images.data_ptr(), slopes.data_ptr(), target, first, last, *sizes, step)
        return sums

    sums, *others = in_parts(add, count)
    for other in others:
        sums += other
    gradient: Tensor = sums.permute(0, 4, 1, 3, 2).reshape(outputs, 3, 3, inputs)
    return gradient.permute(0, 3, 1, 2)
