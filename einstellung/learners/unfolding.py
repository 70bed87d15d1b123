"""Convolutions as products of matrices: the patches of images or series that lie under a kernel."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


def patches(layer: nn.Conv2d | nn.Conv1d, inputs: Tensor) -> Tensor:
    """The patches under a convolution's kernel as a view [channel, row, col of the kernel, image, row, col of the output].

    The view has the strides of the images' own memory layout. Of series, kernel and output have one dimension instead of two.

    >>> import torch
    >>> patches(nn.Conv2d(3, 4, 5, stride=2), torch.zeros(2, 3, 9, 11)).shape
    torch.Size([3, 5, 5, 2, 3, 4])
    >>> patches(nn.Conv1d(3, 4, 5, stride=2), torch.zeros(2, 3, 11)).shape
    torch.Size([3, 5, 2, 4])
    """
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    padded = F.pad(inputs, layer._reversed_padding_repeated_twice, mode)  # also handles padding given by name
    across, channel, *along = padded.stride()
    places = [
        (side - apart * (width - 1) - 1) // step + 1
        for side, width, step, apart in zip(
            padded.shape[2:], layer.kernel_size, layer.stride, layer.dilation, strict=True
        )
    ]
    return padded.as_strided(
        (padded.shape[1], *layer.kernel_size, len(inputs), *places),
        (
            channel,
            *(stride * apart for stride, apart in zip(along, layer.dilation, strict=True)),
            across,
            *(stride * step for stride, step in zip(along, layer.stride, strict=True)),
        ),
    )
