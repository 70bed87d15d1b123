"""Convolutions as products of matrices: the patches of images that lie under a kernel."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


def patches(layer: nn.Conv2d, images: Tensor) -> Tensor:
    """The patches under a convolution's kernel as a view [channel, row, col of the kernel, image, row, col of the output].

    The view has the strides of the images' own memory layout.

    >>> import torch
    >>> patches(nn.Conv2d(3, 4, 5, stride=2), torch.zeros(2, 3, 9, 11)).shape
    torch.Size([3, 5, 5, 2, 3, 4])
    """
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    padded = F.pad(images, layer._reversed_padding_repeated_twice, mode)  # also handles padding given by name
    across, channel, row, col = padded.stride()
    (height, width), (down, right), (low, wide) = layer.kernel_size, layer.stride, layer.dilation
    rows = (padded.shape[2] - low * (height - 1) - 1) // down + 1
    cols = (padded.shape[3] - wide * (width - 1) - 1) // right + 1
    return padded.as_strided(
        (padded.shape[1], height, width, len(images), rows, cols),
        (channel, row * low, col * wide, across, row * down, col * right),
    )
