"""Ways to cover a region: the masking intervention and its controls.

Each is for some kinds of inputs, images unless it says so.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.errors import InputError
from einstellung.modalities import PADDING, UNKNOWN
from einstellung.randomness import uniform_by_index
from einstellung.registry import Registry

Cover = Callable[[Tensor, Tensor, Tensor], Tensor]
FROM_AUDIT = "from-audit"

covers: Registry[Cover] = Registry("cover", group="einstellung.covers")


def suits(*modalities: str) -> Callable[[Cover], Cover]:
    """Decorator of a cover: the kinds of inputs that it can fill."""

    def declare(function: Cover) -> Cover:
        function.modalities = modalities  # type: ignore[attr-defined]
        return function

    return declare


def covers_for(modality: str) -> list[str]:
    """The names of the covers for a kind of inputs.

    >>> covers_for("text")
    ['neutral', 'remove']
    """
    return [name for name in covers if modality in getattr(covers[name], "modalities", ("image",))]


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
@suits("image", "series")
def _mean(images: Tensor, region: Tensor, index: Tensor) -> Tensor:
    """The mean colour of the image, or the mean of each channel of a series, outside the region."""
    outside = (~region).float()
    total = (images.float() * outside).sum(dim=(2, 3), keepdim=True)
    mean = total / outside.sum(dim=(2, 3), keepdim=True).clamp(min=1)
    return _stored(mean, images).expand_as(images)


@covers.register("noise")
@suits("image", "series")
def _noise(images: Tensor, region: Tensor, index: Tensor) -> Tensor:
    """Noise, determined by the index and the place: uniform; for series normal, with the mean and spread of the rest."""
    pixels = images[0].numel()
    address = index.view(-1, 1) * pixels + torch.arange(pixels).view(1, -1)
    uniform = uniform_by_index(address, salt=3)
    if not images.is_floating_point():
        return (uniform * 256).to(torch.uint8).view_as(images)
    outside = (~region).to(images.dtype)
    count = outside.sum(dim=(2, 3), keepdim=True).clamp(min=1)
    mean = (images * outside).sum(dim=(2, 3), keepdim=True) / count
    spread = (((images - mean) * outside).square().sum(dim=(2, 3), keepdim=True) / count).sqrt()
    normal = torch.special.ndtri(uniform.clamp(min=1e-12)).view_as(images).to(images.dtype)
    return mean + spread * normal


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


@covers.register("interpolate")
@suits("series")
def _interpolate(series: Tensor, region: Tensor, index: Tensor) -> Tensor:
    """A straight line between the samples beside the region; level where the region reaches an end of the series."""
    covered = region.expand(len(series), 1, 1, series.shape[-1]).flatten(1)
    places = torch.arange(series.shape[-1])
    before = torch.where(covered, -1, places).cummax(dim=1).values
    after = torch.where(covered, series.shape[-1], places).flip(1).cummin(dim=1).values.flip(1)
    before, after = torch.where(before < 0, after, before), torch.where(after == series.shape[-1], before, after)
    if bool((before == series.shape[-1]).any()):
        raise InputError(
            "cover 'interpolate' needs samples outside the cue, and this cue fills a whole series: give noise"
        )
    ends = [series.gather(3, one.view(len(series), 1, 1, -1).expand_as(series)) for one in (before, after)]
    way = ((places - before) / (after - before).clamp(min=1)).view(len(series), 1, 1, -1).to(series.dtype)
    return ends[0] + (ends[1] - ends[0]) * way


@covers.register("remove")
@suits("text")
def _remove(texts: Tensor, region: Tensor, index: Tensor) -> Tensor:
    """Padding, which nets ignore: the tokens are gone, and what stands beside them moves together."""
    return torch.full_like(texts, PADDING)


@covers.register("neutral")
@suits("text")
def _neutral(texts: Tensor, region: Tensor, index: Tensor) -> Tensor:
    """The token of unknown words, as many as are covered; padding stays padding."""
    return torch.where(texts == PADDING, texts, UNKNOWN)


def _stored(values: Tensor, like: Tensor) -> Tensor:
    """Numbers as the inputs store them: rounded to bytes for images."""
    return values.to(like.dtype) if like.is_floating_point() else values.round().to(torch.uint8)
