"""3x3 convolutions by Winograd's algorithm, strip by strip (:mod:`.strip_loops`), forward and backward.

Between the maps and the products hardly anything leaves the fastest caches, so that the algorithm pays from 8 channels on. With
many more, the weights' tiles no longer fit next to the images', and products of large matrices are faster (:mod:`.convolution`).
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from einstellung.kernels.jit import over_threads
from einstellung.kernels.tiles import as_nhwc

_MOST_CHANNELS = 128
_MANY_CHANNELS, _LEAST_PIXELS = 64, 256  # with more channels than that, the weights' tiles pay only for larger images
_SIDE = 4  # outputs along a tile


def strips_support_channels(inputs: int, outputs: int) -> bool:
    """Whether so many channels can go in strips, if the images are large enough for them."""
    return inputs % 8 == outputs % 8 == 0 and max(inputs, outputs) <= _MOST_CHANNELS


def strips_support(shape: Sequence[int], outputs: int) -> bool:
    """Whether images of this shape [N, C, H, W] are convolved in strips, to so many outputs.

    >>> strips_support((1, 16, 32, 32), 16), strips_support((1, 128, 4, 4), 128), strips_support((1, 16, 30, 30), 16)
    (True, False, False)
    """
    _, channels, height, width = shape
    pays = max(channels, outputs) <= _MANY_CHANNELS or height * width >= _LEAST_PIXELS
    return strips_support_channels(channels, outputs) and _tiles_fit(height, width) and pays


def _tiles_fit(height: int, width: int) -> bool:
    """Whether tiles cover such images exactly."""
    return height % _SIDE == width % _SIDE == 0


def strip_forward(x: Tensor, weight: Tensor) -> Tensor:
    images = as_nhwc(x)
    count, height, width, _ = images.shape
    assert _tiles_fit(height, width), "the loops would read and write outside such images"
    outputs = images.new_empty(count, height, width, weight.shape[0])
    _convolve(images, weight, outputs)
    return outputs.permute(0, 3, 1, 2)


def strip_backward(
    x: Tensor | None,
    weight: Tensor,
    grad_output: Tensor,
    needs_input: bool,
    needs_weight: bool,
    into: Tensor | None = None,
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of images and weights, as far as they are needed.

    ``into``: a tensor that the images' gradient is added to; it may be overwritten.
    """
    grad_nhwc, grad_input = as_nhwc(grad_output), None
    assert _tiles_fit(*grad_nhwc.shape[1:3]), "the loops would read and write outside such images"
    if needs_input:
        count, height, width, _ = grad_nhwc.shape
        grad_input = grad_nhwc.new_empty(count, height, width, weight.shape[1]) if into is None else as_nhwc(into)
        _convolve(grad_nhwc, weight, grad_input, rotated=True, adds=into is not None)
        grad_input = grad_input.permute(0, 3, 1, 2)
    if not needs_weight:
        return grad_input, None
    assert x is not None
    return grad_input, _weight_gradient(as_nhwc(x), grad_nhwc)


def _convolve(source: Tensor, weight: Tensor, target: Tensor, rotated: bool = False, adds: bool = False) -> None:
    from einstellung.kernels.strip_loops import convolve_strips

    weights, sizes = as_nhwc(weight.detach()).view(-1).numpy(), (*source.shape[1:], target.shape[3])
    x, y = source.data_ptr(), target.data_ptr()
    over_threads(
        lambda first, last: convolve_strips(x, weights, y, first, last, *sizes, rotated, adds), source.shape[0]
    )


def _weight_gradient(images: Tensor, grad_output: Tensor) -> Tensor:
    from einstellung.kernels.strip_loops import add_strip_weights

    outputs, inputs = grad_output.shape[3], images.shape[3]
    x, d, sizes = images.data_ptr(), grad_output.data_ptr(), (*images.shape[1:], outputs)

    def add(first: int, last: int) -> Tensor:
        sums = grad_output.new_zeros(outputs, 3, 3, inputs)
        add_strip_weights(x, d, sums.view(-1).numpy(), first, last, *sizes)
        return sums

    sums, *others = over_threads(add, images.shape[0])
    for other in others:
        sums += other
    return sums.permute(0, 3, 1, 2)
