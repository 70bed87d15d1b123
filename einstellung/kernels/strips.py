"""3x3 convolutions by Winograd's algorithm, strip by strip (:mod:`.strip_loops`), forward and backward.

Between the maps and the products hardly anything leaves the fastest caches, so that the algorithm pays from 8 channels on. With
many more, the weights' tiles no longer fit beside the images', and products of large matrices are faster (:mod:`.convolution`).
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from einstellung.kernels.compiling import in_parts
from einstellung.kernels.tiles import channels_inside

_MOST_CHANNELS = 128
_MANY_CHANNELS, _LEAST_PIXELS = 64, 256  # with more channels than that, the weights' tiles pay only for larger images
_SIDE = 4  # outputs along a tile


def are_for_strips(inputs: int, outputs: int) -> bool:
    """Whether so many channels go in strips, if the images are large enough for them."""
    return inputs % 8 == outputs % 8 == 0 and max(inputs, outputs) <= _MOST_CHANNELS


def goes_in_strips(shape: Sequence[int], outputs: int) -> bool:
    """Whether images of this shape [N, C, H, W] are convolved in strips, to so many outputs.

    >>> goes_in_strips((1, 16, 32, 32), 16), goes_in_strips((1, 128, 4, 4), 128), goes_in_strips((1, 16, 30, 30), 16)
    (True, False, False)
    """
    _, channels, height, width = shape
    pays = max(channels, outputs) <= _MANY_CHANNELS or height * width >= _LEAST_PIXELS
    return are_for_strips(channels, outputs) and _fits(height, width) and pays


def _fits(height: int, width: int) -> bool:
    """Whether tiles cover such images exactly."""
    return height % _SIDE == width % _SIDE == 0


def strip_forward(x: Tensor, weight: Tensor) -> Tensor:
    images = channels_inside(x)
    count, height, width, _ = images.shape
    assert _fits(height, width), "the loops would read and write beside such images"
    made = images.new_empty(count, height, width, weight.shape[0])
    _convolve(images, weight, made)
    return made.permute(0, 3, 1, 2)


def strip_backward(
    x: Tensor | None,
    weight: Tensor,
    gradient: Tensor,
    wants_input: bool,
    wants_weight: bool,
    into: Tensor | None = None,
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of images and weights, as far as they are wanted.

    Where ``into`` is given, the former are those and it together; it may be written over.
    """
    slopes, down = channels_inside(gradient), None
    assert _fits(*slopes.shape[1:3]), "the loops would read and write beside such images"
    if wants_input:
        count, height, width, _ = slopes.shape
        down = slopes.new_empty(count, height, width, weight.shape[1]) if into is None else channels_inside(into)
        _convolve(slopes, weight, down, turned=True, adds=into is not None)
        down = down.permute(0, 3, 1, 2)
    if not wants_weight:
        return down, None
    assert x is not None
    return down, _weight_gradient(channels_inside(x), slopes)


def _convolve(source: Tensor, weight: Tensor, target: Tensor, turned: bool = False, adds: bool = False) -> None:
    from einstellung.kernels.strip_loops import convolve_strips

    by, sizes = channels_inside(weight.detach()).view(-1).numpy(), (*source.shape[1:], target.shape[3])
    x, y = source.data_ptr(), target.data_ptr()
    in_parts(lambda first, last: convolve_strips(x, by, y, first, last, *sizes, turned, adds), source.shape[0])


def _weight_gradient(images: Tensor, slopes: Tensor) -> Tensor:
    from einstellung.kernels.strip_loops import add_strip_weights

    outputs, inputs = slopes.shape[3], images.shape[3]
    x, d, sizes = images.data_ptr(), slopes.data_ptr(), (*images.shape[1:], outputs)

    def add(first: int, last: int) -> Tensor:
        sums = slopes.new_zeros(outputs, 3, 3, inputs)
        add_strip_weights(x, d, sums.view(-1).numpy(), first, last, *sizes)
        return sums

    sums, *others = in_parts(add, images.shape[0])
    for other in others:
        sums += other
    return sums.permute(0, 3, 1, 2)
