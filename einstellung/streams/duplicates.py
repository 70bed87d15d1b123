"""Known duplicates in a source: find those that affect a stream, and count or drop them."""

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
    """Pairs of pixel-identical images, as positions in the source: two training images, or a training and a test image.

    ``report`` counts those in the stream. ``drop`` removes them from evaluation and, where two phases would train on the
    same image, from the later phase.
    """

    within_train: Pairs = ()
    train_and_test: Pairs = ()
    handling: OnDuplicates = "report"


@dataclass(frozen=True)
class Deduplicated:
    """The image sets after duplicates were handled, and how many were found where."""

    train: dict[str, ImageSet]
    val: dict[str, ImageSet]
    test: dict[str, ImageSet]
    found: dict[str, int]
    between_phases: int
    dropped: bool

    @property
    def allowed(self) -> int:
        """The number of evaluation images that the proof may find among the training images."""
        return 0 if self.dropped else sum(self.found.values())

    @property
    def left_out(self) -> int:
        """The number of evaluation images that were dropped."""
        return sum(self.found.values()) if self.dropped else 0

    def describe(self) -> str:
        """One line for the stream's facts."""
        where = ", ".join(f"{count} in {name}" for name, count in self.found.items() if count)
        done = "removed" if self.dropped else "evaluated like the others"
        count = f"{sum(self.found.values())} ({where}), {done}" if where else "none"
        words = f"evaluation images that are also training images, pixel for pixel: {count}"
        if self.between_phases:
            earlier, later = ("T1", "T2") if len(self.train) == 2 else ("an earlier phase", "a later phase")
            done = f"removed from {later}" if self.dropped else "trained on in both"
            words += f"; training images of {later} that are also in {earlier}: {self.between_phases}, {done}"
        return words


def deduplicated_phases(
    known: Duplicates, train: Mapping[str, ImageSet], val: Mapping[str, ImageSet], test: Mapping[str, ImageSet]
) -> Deduplicated:
    """Find the known duplicates among the images of a stream, and drop them if configured.

    ``train`` and ``val``: by phase, in order; ``test``: by the name of a part.
    """
    both_directions = [*known.within_train, *_reversed(known.within_train)]
    in_earlier, seen = dict[str, Tensor](), torch.empty(0, dtype=torch.long)
    for phase, images in train.items():
        in_earlier[phase] = has_duplicate(images.index, both_directions, seen)
        seen = torch.cat([seen, images.index])
    test_train = _reversed(known.train_and_test)
    in_test = {name: has_duplicate(images.index, test_train, seen) for name, images in test.items()}
    in_val = {phase: has_duplicate(images.index, both_directions, seen) for phase, images in val.items()}
    drop = known.handling == "drop"

    def kept(sets: Mapping[str, ImageSet], duplicate: Mapping[str, Tensor]) -> dict[str, ImageSet]:
        return {name: _without(images, duplicate[name]) if drop else images for name, images in sets.items()}

    counts = {name: int(rows.sum()) for name, rows in in_test.items()}
    return Deduplicated(
        train=kept(train, in_earlier),
        val=kept(val, in_val),
        test=kept(test, in_test),
        found={**counts, **{f"{phase}_val": int(rows.sum()) for phase, rows in in_val.items()}},
        between_phases=sum(int(rows.sum()) for rows in in_earlier.values()),
        dropped=drop,
    )


def has_duplicate(index: Tensor, pairs: Iterable[tuple[int, int]], among: Tensor) -> Tensor:
    """A bool per image: is it the first of a pair whose second is in ``among``?

    >>> has_duplicate(torch.tensor([3, 4, 5]), [(4, 90), (5, 91)], torch.tensor([91, 92])).tolist()
    [False, False, True]
    """
    present = set(among.tolist())
    firsts = [one for one, other in pairs if other in present]
    return torch.isin(index, torch.tensor(firsts, dtype=torch.long))


def _reversed(pairs: Pairs) -> Pairs:
    return tuple((other, one) for one, other in pairs)


def _without(images: ImageSet, rows: Tensor) -> ImageSet:
    return images.take((~rows).nonzero().flatten())
