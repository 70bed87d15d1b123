"""3x3 convolutions with few channels on the CPU in single precision, forward and backward.

torch's own are made for many channels. With stride 1 and sides that are multiples of four, images go through in strips
(:mod:`.strips`); all others, colour images among them, are convolved the direct way, in blocks of eight outputs that stay in
registers (:mod:`.direct_blocks`). Errors are about 1e-5 of the largest value in strips, 1e-6 the direct way.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from einstellung.kernels.autograd import first_derivative_only, plain_tensors
from einstellung.kernels.jit import over_threads
from einstellung.kernels.strips import strip_backward, strip_forward, strips_support, strips_support_channels
from einstellung.kernels.tiles import as_nhwc

_LANES = 8  # channels in a vector, and the least outputs in a row
_RGB = 3
_MOST_INPUTS, _MOST_OUTPUTS = 16, 32


class NarrowConv2d(nn.Conv2d):
    """A convolution of few channels with our loops where the input allows it."""

    accelerates: ClassVar[type[nn.Module]] = nn.Conv2d

    def forward(self, input: Tensor) -> Tensor:  # torch's name: it may be called by keyword
        weight, bias = self.weight, self.bias
        if not supports(self, weight, bias, input):
            return super().forward(input)
        if torch.is_grad_enabled():
            out: Tensor = _Narrow.apply(input, weight, self.stride[0])  # type: ignore[no-untyped-call]
        else:
            out = narrow_forward(input, weight, self.stride[0])
        return out if bias is None else out + bias.view(-1, 1, 1)


def suits_narrow(layer: nn.Module) -> bool:
    """Whether a layer is a plain 3x3 convolution with few channels, or with as many as go in strips.

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
        and (_is_direct(inputs, outputs) or (layer.stride == (1, 1) and strips_support_channels(inputs, outputs)))
    )


def _is_direct(inputs: int, outputs: int) -> bool:
    """Whether so many channels are convolved the direct way."""
    vectors = (inputs == _RGB or inputs % _LANES == 0) and outputs % _LANES == 0
    return vectors and inputs <= _MOST_INPUTS and outputs <= _MOST_OUTPUTS


def supports(layer: nn.Conv2d, weight: Tensor, bias: Tensor | None, x: Tensor) -> bool:
    """Whether our loops compute what the layer would now, for images of this size."""
    if not plain_tensors(x, weight) or not _is_plain(layer, weight):
        return False
    if bias is not None and (not plain_tensors(bias) or bias.shape != weight.shape[:1]):
        return False
    if x.dim() != 4 or x.numel() == 0 or x.shape[1] != weight.shape[1]:
        return False
    if not x.is_contiguous(memory_format=torch.channels_last):
        return False
    step = layer.stride[0]
    if step == 1 and strips_support(x.shape, weight.shape[0]):
        return True
    if not _is_direct(x.shape[1], weight.shape[0]):
        return False
    if x.shape[1] == _RGB and x.requires_grad:  # three channels are no vector
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
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        return *narrow_backward(*ctx.saved_tensors, grad_output, ctx.step, *ctx.needs_input_grad[:2]), None


def narrow_forward(x: Tensor, weight: Tensor, step: int) -> Tensor:
    from einstellung.kernels import direct_loops

    if step == 1 and strips_support(x.shape, weight.shape[0]):
        return strip_forward(x, weight)
    images = as_nhwc(x)
    count, height, width, _ = images.shape
    outputs = images.new_empty(count, height // step, width // step, weight.shape[0])
    loop = direct_loops.convolve if step == 1 else direct_loops.convolve_strided
    _over_images(loop, images, _blocked(weight), outputs, outputs)
    return outputs.permute(0, 3, 1, 2)


def narrow_backward(
    x: Tensor,
    weight: Tensor,
    grad_output: Tensor,
    step: int,
    needs_input: bool,
    needs_weight: bool,
    into: Tensor | None = None,
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of images and weights, as far as they are needed.

    ``into``: a tensor that the images' gradient is added to; it may be overwritten.
    """
    from einstellung.kernels import direct_loops

    if step == 1 and strips_support(x.shape, weight.shape[0]):
        return strip_backward(x, weight, grad_output, needs_input, needs_weight, into)
    images, grad_nhwc = as_nhwc(x), as_nhwc(grad_output)
    grad_input = None
    if needs_input:
        grad_input = images.new_empty(images.shape)
        if step == 1:
            _over_images(
                direct_loops.convolve, grad_nhwc, _blocked(weight.flip(2, 3).transpose(0, 1)), grad_input, grad_nhwc
            )
        else:
            # an even row meets the middle weights, an odd one the last and, of the next output, the first
            reordered = _blocked(weight[:, :, [1, 2, 0]].transpose(0, 1))
            _over_images(direct_loops.return_strided, grad_nhwc, reordered, grad_input, grad_nhwc)
        grad_input = grad_input.permute(0, 3, 1, 2)
        if into is not None:
            grad_input.add_(into)
    return grad_input, _weight_gradient(images, grad_nhwc, step) if needs_weight else None


def _blocked(weight: Tensor) -> Tensor:
    """[output, input, row, column] as memory [block of 8 outputs, row, input, column, 8 outputs]."""
    outputs, inputs = weight.shape[:2]
    return weight.detach().reshape(outputs // _LANES, _LANES, inputs, 3, 3).permute(0, 3, 2, 4, 1).contiguous()


def _over_images(loop: Any, source: Tensor, weight: Tensor, target: Tensor, sized: Tensor) -> None:
    addresses = source.data_ptr(), weight.data_ptr(), target.data_ptr()
    sizes = *sized.shape[1:3], source.shape[3], target.shape[3]
    over_threads(lambda first, last: loop(*addresses, first, last, *sizes), source.shape[0])


def _weight_gradient(images: Tensor, grad_output: Tensor, step: int) -> Tensor:
    from einstellung.kernels import direct_loops

    count, height, width, outputs = grad_output.shape
    inputs = images.shape[3]

    def add(first: int, last: int) -> Tensor:
        sums = grad_output.new_zeros(outputs // _LANES, 3, inputs, 3, _LANES)
        target = sums.view(-1).numpy()
        sizes = height, width, inputs, outputs
        direct_loops.add_weights(images.data_ptr(), grad_output.data_ptr(), target, first, last, *sizes, step)
        return sums

    sums, *others = over_threads(add, count)
    for other in others:
        sums += other
    gradient: Tensor = sums.permute(0, 4, 1, 3, 2).reshape(outputs, 3, 3, inputs)
    return gradient.permute(0, 3, 1, 2)
