"""Cues for series: floats [N, channels, 1, samples]. Heights are in the units of the stored series."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from einstellung.cues.planted import cues
from einstellung.cues.spans import SpanCue, span
from einstellung.errors import InputError


@dataclass(frozen=True)
class _SeriesCue(SpanCue):
    """A change of ``size`` neighbouring samples in all channels."""

    modality: ClassVar[str] = "series"

    def paint(self, images: Tensor, index: Tensor, generator: torch.Generator | None = None) -> Tensor:
        width = images.shape[-1]
        first = self.first(index, width, generator)
        along = torch.arange(width).view(1, -1) - first.view(-1, 1)
        changed = self.changed(images, along.view(len(images), 1, 1, width))
        return torch.where(span(first, self.size, width), changed.to(images.dtype), images)

    def changed(self, series: Tensor, along: Tensor) -> Tensor:
        """The samples of the cue; ``along`` counts samples from its first one."""
        raise NotImplementedError


@cues.register("spike")
@dataclass(frozen=True)
class SpikeCue(_SeriesCue):
    """A spike: ``height`` is added to ``size`` samples.

    >>> flat = torch.zeros(1, 1, 1, 5)
    >>> SpikeCue(place=1, size=2, height=3.0).paint(flat, torch.tensor([0])).flatten().tolist()
    [0.0, 3.0, 3.0, 0.0, 0.0]
    """

    size: int = 2
    height: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_height("height", self.height)

    def changed(self, series: Tensor, along: Tensor) -> Tensor:
        return series + self.height

    def other(self) -> SpikeCue:
        """A spike in the other direction, on the opposite side."""
        return replace(self, height=-self.height, away=not self.away)


@cues.register("offset")
@dataclass(frozen=True)
class OffsetCue(SpikeCue):
    """A shifted baseline: ``height`` is added to a block of ``size`` samples."""

    size: int = 12
    height: float = 0.5


@cues.register("signature")
@dataclass(frozen=True)
class SignatureCue(_SeriesCue):
    """A sensor's signature: a hum of ``height``, added to ``size`` samples with alternating sign, ``period`` samples long.

    >>> SignatureCue(size=4, period=2, height=1.0).paint(torch.zeros(1, 1, 1, 5), torch.tensor([0])).flatten().tolist()
    [1.0, -1.0, 1.0, -1.0, 0.0]
    """

    size: int = 16
    height: float = 0.5
    period: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_height("height", self.height)
        if self.period < 2 or self.period % 2:
            raise InputError(f"cue.period is {self.period}: give an even number of samples, at least 2")

    def changed(self, series: Tensor, along: Tensor) -> Tensor:
        return series + self.height * torch.where(along % self.period < self.period // 2, 1.0, -1.0)

    def other(self) -> SignatureCue:
        """A hum of twice the period, on the opposite side."""
        return replace(self, period=2 * self.period, away=not self.away)


@cues.register("gap")
@dataclass(frozen=True)
class GapCue(_SeriesCue):
    """A missing block: ``size`` samples are 0, as many data sets store what a sensor did not send."""

    size: int = 8

    def changed(self, series: Tensor, along: Tensor) -> Tensor:
        return torch.zeros_like(series)


def _check_height(key: str, value: float) -> None:
    if not value or abs(value) == float("inf") or value != value:
        raise InputError(f"cue.{key} is {value}: give a finite number other than 0")
