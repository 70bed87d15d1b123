"""A sample of a phase's images, where all of them would take too long."""

from __future__ import annotations

import torch

from einstellung.streams.stream import ImageSet


def some_of(images: ImageSet, count: int | None, draws: torch.Generator) -> ImageSet:
    """``count`` of the images, drawn without replacement; all of them, in order, if ``count`` is None or too large.

    >>> five = ImageSet.without_cue(torch.zeros(5, 1, 1, 1, dtype=torch.uint8), torch.arange(5), torch.arange(5))
    >>> len(some_of(five, 3, torch.Generator())), some_of(five, None, torch.Generator()).index.tolist()
    (3, [0, 1, 2, 3, 4])
    """
    if count is None or count >= len(images):
        return images
    return images.take(torch.randperm(len(images), generator=draws)[:count])
