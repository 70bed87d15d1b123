"""Groups of images: same class, same values of the cues that the method knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.learners.learner import Context, Learner, option
from einstellung.randomness import generator
from einstellung.streams.stream import ImageSet, Phase, Stream

# For time estimates: if a cue agrees with the label in 95 of 100 images, four equal groups are a tenth of all.
SUBSET_SHARE = 0.1


def cue_bits(stream: Stream, cues: tuple[str, ...] | None) -> tuple[int, ...]:
    """The bits of the images' spurious features that a method knows: those of the named cues, or all."""
    if cues is None:
        return tuple(range(len(stream.cue_names) or _bits_in_use(stream)))
    for name in cues:
        if name not in stream.cue_names:
            there = ", ".join(stream.cue_names) or "none with a name"
            raise InputError(
                f"the option 'cues' names '{name}', which the stream '{stream.name}' does not have; it has: {there}"
            )
    return tuple(stream.cue_names.index(name) for name in cues)


def _bits_in_use(stream: Stream) -> int:
    """The number of features of a stream that does not name them."""
    return max(1, *(int(phase.train.spurious().max()).bit_length() for phase in stream.phases))


def domain_numbers(images: ImageSet, bits: Sequence[int]) -> Tensor:
    """The values of the known cues in every image, as one number.

    >>> features = torch.tensor([0, 1, 2, 3])
    >>> images = ImageSet(torch.zeros(4, 3, 1, 1), features % 2, features, features > 9, features)
    >>> domain_numbers(images, (1,)).tolist(), domain_numbers(images, (1, 0)).tolist()
    ([0, 0, 1, 1], [0, 2, 1, 3])
    """
    features = images.spurious()
    numbers = torch.zeros_like(features)
    for place, bit in enumerate(bits):
        numbers += ((features >> bit) & 1) << place
    return numbers


def group_numbers(images: ImageSet, bits: Sequence[int]) -> Tensor:
    """The group of every image: label x 2^(number of known cues) + their values.

    >>> features = torch.tensor([0, 1, 2, 3])
    >>> group_numbers(ImageSet(torch.zeros(4, 3, 1, 1), features % 2, features, features > 9, features), (1,)).tolist()
    [0, 2, 1, 3]
    """
    return images.labels * (1 << len(bits)) + domain_numbers(images, bits)


def balanced_batches(groups: Tensor, size: int, draws: torch.Generator) -> tuple[Tensor, ...]:
    """As many rows as there are images, drawn with replacement; every group present is equally likely.

    An image's probability is 1 / (number of groups x size of its own group).

    >>> groups = torch.tensor([0] * 90 + [3] * 10)
    >>> first, *_ = balanced_batches(groups, 100, torch.Generator().manual_seed(0))
    >>> int((groups[first] == 3).sum())
    47
    """
    _, own, counts = groups.unique(return_inverse=True, return_counts=True)
    rows = torch.multinomial((1 / counts.double())[own], len(groups), replacement=True, generator=draws)
    batches: tuple[Tensor, ...] = rows.split(size)
    return batches


def balanced_subset(groups: Tensor, draws: torch.Generator) -> Tensor:
    """Rows, in order: from every group present, as many as the smallest one has, drawn without replacement.

    >>> groups = torch.tensor([0, 0, 0, 0, 1, 1, 5, 5, 5])
    >>> groups[balanced_subset(groups, torch.Generator().manual_seed(0))].tolist()
    [0, 0, 1, 1, 5, 5]
    """
    found, counts = groups.unique(return_counts=True)
    least = int(counts.min())
    kept = []
    for group in found:
        rows = (groups == group).nonzero().flatten()
        kept.append(rows[torch.randperm(len(rows), generator=draws)[:least]])
    return torch.cat(kept).sort().values


@dataclass(frozen=True)
class GroupOptions:
    """Options of every method that knows groups; ``method`` is the name under which a configuration gives them."""

    method: ClassVar[str]
    cues: tuple[str, ...] | None = option(None, "all cues of the stream; in Whac-A-Mole one of its two, or both")

    def __post_init__(self) -> None:
        if self.cues is not None and (not self.cues or len(set(self.cues)) < len(self.cues)):
            raise InputError(
                f"learners.{self.method}.cues is {list(self.cues)}: name cues once each, or give null for all"
            )


class GroupLearner(Learner):
    """A learner that knows the values of cues in its training images; ``bits`` are those that it knows."""

    needs_groups: ClassVar[bool] = True

    def __init__(self, net: nn.Module, options: Any, context: Context) -> None:
        super().__init__(net, options, context)
        self.bits = cue_bits(context.presentation.stream, options.cues)

    def groups_of(self, images: ImageSet) -> Tensor:
        return group_numbers(images, self.bits)

    def subset_of(self, phase: Phase) -> Tensor:
        """Rows of a subset of the phase in which all groups have the same size; it stays the same throughout a run."""
        rows = balanced_subset(self.groups_of(phase.train), generator(self.context.seed, "subset", phase.name))
        self.context.report_progress(
            f"{phase.name}: {len(rows)} of {len(phase.train)} images, every group of the same size"
        )
        return rows
