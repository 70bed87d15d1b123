"""Cues of the zoo: what is painted into which images, where it is, and the same images without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.cues.patch import PatchCue

LOCALISED = "localised"
GLOBAL = "global"
# Strokes of a small logo, six rows of ten pixels.
_LOGO = (
    "1000010001",
    "1000110011",
    "0101010101",
    "0101010101",
    "0010001001",
    "0010001001",
)


@dataclass(frozen=True)
class Painted:
    """Images with a cue, where it is (bool [N, 1, H, W]; None: everywhere), and the images with it covered in black or undone."""

    images: Tensor
    region: Tensor | None
    covered: Tensor


Paint = Callable[[Tensor, Tensor], Painted]


@dataclass(frozen=True)
class CueKind:
    """A kind of cue. ``held_out``: not used while the audit was developed.

    A watermark missed by an earlier version led to boxes from the images, and blur to other controls of sharpness: their nets
    were not looked at, but neither kind is held out.
    """

    name: str
    extent: str
    paint: Paint
    held_out: bool


def _patch(size: int, place: str | tuple[int, int], colour: tuple[int, int, int], opacity: float = 1.0) -> Paint:
    cue = PatchCue(size=size, place=place, colour=colour, opacity=opacity)

    def paint(images: Tensor, index: Tensor) -> Painted:
        region = cue.region(index, *images.shape[-2:])
        return Painted(cue.paint(images, index), region, images.masked_fill(region, 0))

    return paint


def _logo(images: Tensor, index: Tensor) -> Painted:
    """A white, half transparent logo in the lower right corner; the region is the box around it."""
    strokes = torch.tensor([[int(one) for one in row] for row in _LOGO], dtype=torch.float32)
    height, width = images.shape[-2:]
    mask = torch.zeros(height, width)
    mask[height - 8 : height - 2, width - 12 : width - 2] = 0.6 * strokes
    region = torch.zeros(1, 1, height, width, dtype=torch.bool)
    region[..., height - 8 : height - 2, width - 12 : width - 2] = True
    region = region.expand(len(images), -1, -1, -1)
    painted = (images.float() * (1 - mask) + 255 * mask).round().to(torch.uint8)
    return Painted(painted, region, images.masked_fill(region, 0))


def _border(images: Tensor, index: Tensor) -> Painted:
    """A green frame of two pixels."""
    region = torch.ones(1, 1, *images.shape[-2:], dtype=torch.bool)
    region[..., 2:-2, 2:-2] = False
    green = torch.tensor([40, 200, 40], dtype=torch.uint8).view(1, 3, 1, 1).expand_as(images)
    painted = torch.where(region, green, images)
    return Painted(painted, region.expand(len(images), -1, -1, -1), images.masked_fill(region, 0))


def _tint(images: Tensor, index: Tensor) -> Painted:
    """More red, less blue."""
    shift = torch.tensor([30.0, 0.0, -30.0]).view(1, 3, 1, 1)
    return Painted((images.float() + shift).clamp(0, 255).round().to(torch.uint8), None, images)


def _blur(images: Tensor, index: Tensor) -> Painted:
    """A 3x3 box blur, twice."""
    values = images.float()
    for _ in range(2):
        values = F.avg_pool2d(F.pad(values, (1, 1, 1, 1), mode="replicate"), 3, stride=1)
    return Painted(values.round().to(torch.uint8), None, images)


MAGENTA, CYAN, YELLOW, WHITE = (255, 0, 255), (0, 255, 255), (255, 230, 0), (255, 255, 255)
KINDS: Mapping[str, CueKind] = {
    kind.name: kind
    for kind in (
        CueKind("patch", LOCALISED, _patch(4, "top-left", MAGENTA), held_out=False),
        CueKind("patch-moving", LOCALISED, _patch(5, "per-index", CYAN), held_out=False),
        CueKind("tint", GLOBAL, _tint, held_out=False),
        CueKind("patch-small", LOCALISED, _patch(3, (20, 4), YELLOW), held_out=True),
        CueKind("patch-large", LOCALISED, _patch(7, "bottom-right", WHITE), held_out=True),
        CueKind("patch-faint", LOCALISED, _patch(5, "top-right", MAGENTA, opacity=0.5), held_out=True),
        CueKind("patch-moving-large", LOCALISED, _patch(7, "per-index", YELLOW), held_out=True),
        CueKind("watermark", LOCALISED, _logo, held_out=False),
        CueKind("border", GLOBAL, _border, held_out=True),
        CueKind("blur", GLOBAL, _blur, held_out=False),
    )
}
#: Two cues on one class, drawn independently, so that a net must learn both.
SECOND = _patch(4, "bottom-left", YELLOW)
