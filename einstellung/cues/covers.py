"""Ways to cover a region: the masking intervention and its controls."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.randomness import uniform_by_index
from einstellung.registry import Registry

Cover = Callable[[Tensor, Tensor, Tensor], Tensor]
FROM_AUDIT = "from-audit"

covers: Registry[Cover] = Registry("cover", group="einstellung.covers")


def cover(name: str, images: Tensor, region: Tensor, index: Tensor) -> Tensor:
    """Overwrite ``region`` (bool [N, 1, H, W]) of uint8 ``images``; other pixels stay unchanged.

    >>> image = torch.full((1, 3, 2, 2), 200, dtype=torch.uint8)
    >>> where = torch.tensor([[[[True, False], [False, False]]]])
    >>> cover("black", image, where, torch.tensor([0]))[0, 0].tolist()
    [[0, 200], [200, 200]]
    """
    filling = covers[name](images, region, index)
    return torch.where(region, filling, images)


@covers.register("black")
def _black(images: Tensor, region: Tensor, index: Tensor) -> Tensor:
    """Black, the paper's mask."""
    return torch.zeros_like(images)


@covers.register(FROM_AUDIT)
def _from_audit(images: Tensor, region: Tensor, index: Tensor) -> Tensor:
    """Black, over the boxes that an audit found (``audit: FOLDER``) instead of the cue's own region."""
    return _black(images, region, index)


@covers.register("mean")
def _mean(images: Tensor, region: Tensor, index: Tensor) -> Tensor:
    """The mean colour of the image outside the region."""
    outside = (~region).float()
    total = (images.float() * outside).sum(dim=(2, 3), keepdim=True)
    mean = total / outside.sum(dim=(2, 3), keepdim=True).clamp(min=1)
    return mean.round().to(torch.uint8).expand_as(images)


@covers.register("noise")
def _noise(images: Tensor, region: Tensor, index: Tensor) -> Tensor:
    """Uniform noise, determined by the image's index and the pixel."""
    pixels = images[0].numel()
    address = index.view(-1, 1) * pixels + torch.arange(pixels).view(1, -1)
    return (uniform_by_index(address, salt=3) * 256).to(torch.uint8).view_as(images)


@covers.register("blur")
def _blur(images: Tensor, region: Tensor, index: Tensor) -> Tensor:
    """A 9x9 box blur of the whole image, covered pixels included: their local colour remains, smeared."""
    padded = F.pad(images.float(), (4, 4, 4, 4), mode="replicate")
    return F.avg_pool2d(padded, 9, stride=1).round().to(torch.uint8)


@covers.register("inpaint")
def _inpaint(images: Tensor, region: Tensor, index: Tensor) -> Tensor:
    """Fill from the border inwards, ring by ring: each new pixel is the mean of its known 3x3 neighbours."""
    known = (~region).float()
    filled = images.float() * known
    kernel = torch.ones(1, 1, 3, 3)
    while bool((known == 0).any()):
        channels = filled.shape[1]
        total = F.conv2d(filled.flatten(0, 1).unsqueeze(1), kernel, padding=1).view_as(filled)
        count = F.conv2d(known, kernel, padding=1)
        fresh = (known == 0) & (count > 0)
        if not bool(fresh.any()):
            break  # the region is the whole image: nothing to fill from
        filled = torch.where(fresh.expand(-1, channels, -1, -1), total / count.clamp(min=1), filled)
        known = known + fresh.float()
    return filled.round().clamp(0, 255).to(torch.uint8)
