"""Images that a source holds twice: which of them are both trained on and evaluated, and what is done about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from einstellung.streams.stream import ImageSet

Pairs = tuple[tuple[int, int], ...]
OnDuplicates = Literal["report", "drop"]


@dataclass(frozen=True)
class Duplicates:
    """Known duplicates (pixel for pixel) as pairs of source positions: two training images, or a training and a test image.

    ``report`` counts the pairs that affect the stream. ``drop`` removes them from evaluation, and from the later phase where two
    phases would train on the same image.
    """

    within_train: Pairs = ()
    train_and_test: Pairs = ()
    handling: OnDuplicates = "report"


@dataclass(frozen=True)
class Deduplicated:
    """The image sets after handling duplicates, with how many were found in each and how many were removed."""

    t2_train: ImageSet
    test: dict[str, ImageSet]
    t2_val: ImageSet
    found: dict[str, int]
    between_phases: int
    dropped: bool

    @property
    def allowed(self) -> int:
        """How many evaluation images may also be training images without failing the proof."""
        return 0 if self.dropped else sum(self.found.values())

    @property
    def left_out(self) -> int:
        return sum(self.found.values()) if self.dropped else 0

    def describe(self) -> str:
        """One line for the reader of a report."""
        where = ", ".join(f"{count} in {name}" for name, count in self.found.items() if count)
        done = "left out" if self.dropped else "measured like the others"
        count = f"{sum(self.found.values())} ({where}), {done}" if where else "none"
        words = f"evaluation images that are also training images, pixel for pixel: {count}"
        if self.between_phases:
            done = "left out of T2" if self.dropped else "trained on in both"
            words += f"; training images of T2 that are also in T1: {self.between_phases}, {done}"
        return words


def deduplicated(
    known: Duplicates, t1_train: ImageSet, t2_train: ImageSet, t2_val: ImageSet, test: Mapping[str, ImageSet]
) -> Deduplicated:
    """Find the known duplicates in a stream's images, and remove them if asked to."""
    either_way = [*known.within_train, *((other, one) for one, other in known.within_train)]
    in_both = has_duplicate(t2_train.index, either_way, t1_train.index)
    trained = torch.cat([t1_train.index, t2_train.index])
    duplicates = {
        name: has_duplicate(images.index, _turned(known.train_and_test), trained) for name, images in test.items()
    }
    val_duplicates = has_duplicate(t2_val.index, either_way, trained)
    drop = known.handling == "drop"
    return Deduplicated(
        t2_train=_without(t2_train, in_both) if drop else t2_train,
        test={name: _without(images, duplicates[name]) if drop else images for name, images in test.items()},
        t2_val=_without(t2_val, val_duplicates) if drop else t2_val,
        found={**{name: int(rows.sum()) for name, rows in duplicates.items()}, "T2_val": int(val_duplicates.sum())},
        between_phases=int(in_both.sum()),
        dropped=drop,
    )


def has_duplicate(index: Tensor, pairs: Iterable[tuple[int, int]], among: Tensor) -> Tensor:
    """A bool per image: is it the first of a pair whose second is ``among``?

    >>> has_duplicate(torch.tensor([3, 4, 5]), [(4, 90), (5, 91)], torch.tensor([91, 92])).tolist()
    [False, False, True]
    """
    there = set(among.tolist())
    firsts = [one for one, other in pairs if other in there]
    return torch.isin(index, torch.tensor(firsts, dtype=torch.long))


def _turned(pairs: Pairs) -> Pairs:
    return tuple((other, one) for one, other in pairs)


def _without(images: ImageSet, rows: Tensor) -> ImageSet:
    return images.take((~rows).nonzero().flatten())
