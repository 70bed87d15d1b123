"""Images and labels that come as tensors or arrays, brought into our form."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from einstellung.errors import InputError


def as_pixels(images: Any, what: str = "images", without_channels: bool = True) -> Tensor:
    """uint8 [N, C, H, W] from [N, C, H, W], [N, H, W, C] or, unless refused, [N, H, W]; bytes or numbers in 0..1.

    >>> as_pixels(np.ones((2, 8, 8))).shape, int(as_pixels(np.ones((2, 8, 8))).max())
    (torch.Size([2, 1, 8, 8]), 255)
    """
    pixels = _tensor(images)
    if pixels.ndim == 3 and without_channels:
        pixels = pixels.unsqueeze(1)
    if pixels.ndim != 4 or not {pixels.shape[1], pixels.shape[3]} & {1, 3}:
        raise InputError(f"{what} are {list(pixels.shape)}: give [N, C, H, W] or [N, H, W, C] with 1 or 3 channels")
    if pixels.shape[1] not in (1, 3):
        pixels = pixels.permute(0, 3, 1, 2)
    if not len(pixels):
        return pixels.to(torch.uint8)
    if pixels.is_floating_point():
        if not bool(torch.isfinite(pixels).all()) or float(pixels.min()) < 0 or float(pixels.max()) > 1:
            raise InputError(
                f"{what} are floats outside 0..1 (normalised already?): give bytes, or numbers from 0 to 1"
            )
        pixels = (pixels * 255).round()
    elif pixels.dtype != torch.uint8 and (int(pixels.min()) < 0 or int(pixels.max()) > 255):
        raise InputError(f"{what} are whole numbers outside 0..255: give bytes, or numbers from 0 to 1")
    return pixels.to(torch.uint8).contiguous()


def as_labels(labels: Any, count: int, what: str = "labels") -> Tensor:
    """int64 [N] from class numbers."""
    if labels is None:
        raise InputError(f"{what} are missing: give the class number of every image")
    classes = _tensor(labels)
    if classes.is_floating_point() or classes.shape != (count,) or (len(classes) and int(classes.min()) < 0):
        raise InputError(
            f"{what} are {classes.dtype} {list(classes.shape)}: give one class number for each of {count} images"
        )
    return classes.long()


def as_masks(masks: Any, pixels: Tensor, what: str = "objects") -> Tensor:
    """bool [N, 1, H, W] for images [N, C, H, W] from [N, H, W], [N, 1, H, W] or [N, H, W, 1]: what is not 0.

    >>> as_masks(np.eye(4)[None], torch.zeros(1, 3, 4, 4)).sum()
    tensor(4)
    """
    given = _tensor(masks)
    count, _, height, width = pixels.shape
    if given.shape not in ((count, height, width), (count, 1, height, width), (count, height, width, 1)):
        raise InputError(
            f"{what} are {list(given.shape)}: give a mask of {height} x {width} pixels for each of {count} images"
        )
    found = given.reshape(count, 1, height, width) != 0
    if len(empty := (~found.flatten(1).any(dim=1)).nonzero()):
        raise InputError(f"{what} mark nothing in image {int(empty[0])}: leave images without an object out")
    return found


def _tensor(values: Any) -> Tensor:
    if isinstance(values, Tensor):
        return values.detach().cpu()
    array = np.asarray(values)
    if array.dtype == object or array.dtype.kind in "USMm":
        raise InputError(
            f"numbers are needed, not {array.dtype.name if array.dtype != object else 'rows of unequal size'}"
        )
    return torch.as_tensor(array)
