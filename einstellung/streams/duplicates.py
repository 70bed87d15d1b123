"""Images that a source is known to hold twice: who of them is trained on and measured too, and what is done about it."""

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
    """Known twins, pixel for pixel, as positions in the source: two training images, or a training and a test image.

    ``report`` counts those that concern the stream; ``drop`` leaves them out of evaluation, and out of the later phase
    where two phases would train on the same image.
    """

    within_train: Pairs = ()
    train_and_test: Pairs = ()
    handling: OnDuplicates = "report"


@dataclass(frozen=True)
class Settled:
    """The sets after duplicates were dealt with, how many were found where, and how many were left out."""

    t2_train: ImageSet
    test: dict[str, ImageSet]
    t2_val: ImageSet
    found: dict[str, int]
    between_phases: int
    dropped: bool

    @property
    def allowed(self) -> int:
        """How many evaluation images the proof may find among the training images."""
        return 0 if self.dropped else sum(self.found.values())

    @property
    def left_out(self) -> int:
        return sum(self.found.values()) if self.dropped else 0

    def in_words(self) -> str:
        """What a reader should know, in a line."""
        where = ", ".join(f"{count} in {name}" for name, count in self.found.items() if count)
        done = "left out" if self.dropped else "measured like the others"
        count = f"{sum(self.found.values())} ({where}), {done}" if where else "none"
        words = f"evaluation images that are also training images, pixel for pixel: {count}"
        if self.between_phases:
            done = "left out of T2" if self.dropped else "trained on in both"
            words += f"; training images of T2 that are also in T1: {self.between_phases}, {done}"
        return words


def settled(
    known: Duplicates, t1_train: ImageSet, t2_train: ImageSet, t2_val: ImageSet, test: Mapping[str, ImageSet]
) -> Settled:
    """Find the known twins among the images of a stream, and leave them out where that is asked for."""
    either_way = [*known.within_train, *((other, one) for one, other in known.within_train)]
    in_both = with_twin(t2_train.index, either_way, t1_train.index)
    trained = torch.cat([t1_train.index, t2_train.index])
    twins = {name: with_twin(images.index, _turned(known.train_and_test), trained) for name, images in test.items()}
    val_twins = with_twin(t2_val.index, either_way, trained)
    drop = known.handling == "drop"
    return Settled(
        t2_train=_without(t2_train, in_both) if drop else t2_train,
        test={name: _without(images, twins[name]) if drop else images for name, images in test.items()},
        t2_val=_without(t2_val, val_twins) if drop else t2_val,
        found={**{name: int(rows.sum()) for name, rows in twins.items()}, "T2_val": int(val_twins.sum())},
        between_phases=int(in_both.sum()),
        dropped=drop,
    )


def with_twin(index: Tensor, pairs: Iterable[tuple[int, int]], among: Tensor) -> Tensor:
    """A bool per image: is it the first of a pair whose second is ``among``?

    >>> with_twin(torch.tensor([3, 4, 5]), [(4, 90), (5, 91)], torch.tensor([91, 92])).tolist()
    [False, False, True]
    """
    there = set(among.tolist())
    firsts = [one for one, other in pairs if other in there]
    return torch.isin(index, torch.tensor(firsts, dtype=torch.long))


def _turned(pairs: Pairs) -> Pairs:
    return tuple((other, one) for one, other in pairs)


def _without(images: ImageSet, rows: Tensor) -> ImageSet:
    return images.take((~rows).nonzero().flatten())
