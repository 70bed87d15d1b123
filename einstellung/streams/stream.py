"""A stream: ordered phases of training data, and the named splits a model is measured on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import torch
from torch import Tensor

from einstellung.cues.patch import Cue
from einstellung.registry import Registry
from einstellung.streams.check import Check


@dataclass(frozen=True)
class ImageSet:
    """Raw images (uint8 [N, C, H, W]) with head labels, identities in the source, and which of them have the cue.

    ``features``: which spurious features are in an image, one bit each; None where nothing but the planted cue is known.
    """

    images: Tensor
    labels: Tensor
    index: Tensor
    has_cue: Tensor
    features: Tensor | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Tensor) -> ImageSet:
        """The given rows, in the given order."""
        features = None if self.features is None else self.features[rows]
        return ImageSet(self.images[rows], self.labels[rows], self.index[rows], self.has_cue[rows], features)

    def spurious(self) -> Tensor:
        """The spurious features of every image as one number: equal where the same ones are there."""
        return self.has_cue.long() if self.features is None else self.features

    @staticmethod
    def joined(sets: Sequence[ImageSet]) -> ImageSet:
        """Several sets, one after the other."""
        if len(sets) == 1:
            return sets[0]
        parts = [[getattr(one, name) for one in sets] for name in ImageSet.__dataclass_fields__]
        return ImageSet(*(None if any(part is None for part in field) else torch.cat(field) for field in parts))

    @staticmethod
    def without_cue(images: Tensor, labels: Tensor, index: Tensor) -> ImageSet:
        return ImageSet(images, labels, index, torch.zeros(len(labels), dtype=torch.bool))


@dataclass(frozen=True)
class Phase:
    """One phase of learning: its classes (as head labels), which of them have the planted cue, its training images.

    ``cues``: the names of the cues that go with the label in this phase, as whoever made it knows them.
    """

    name: str
    classes: tuple[int, ...]
    cue_classes: tuple[int, ...]
    train: ImageSet
    cues: tuple[str, ...] = ()


class Intervention(Protocol):
    """Another value for one cue of an image: one that goes with another class. All else stays as it was."""

    def swapped(self, images: ImageSet, draws: torch.Generator) -> ImageSet:
        """The same images with the cue changed, and ``features`` and ``has_cue`` updated."""
        ...


class PlantedElsewhere:
    """The intervention on a planted cue: images with the cue lose it, images without it get it painted."""

    def swapped(self, images: ImageSet, draws: torch.Generator) -> ImageSet:
        return replace(images, has_cue=~images.has_cue)


@dataclass(frozen=True)
class EvaluationSplit:
    """Images as a model is shown them in evaluation (cue painted or covered already), and the phase they belong to.

    ``held_out`` marks a split that was taken out of the phase's training images, so that their identities are comparable.
    ``always``: it is measured at every moment of its phase.
    """

    name: str
    phase: str
    images: ImageSet
    held_out: bool = False
    always: bool = False


@dataclass(frozen=True)
class MaskedPair:
    """Names of splits that hold the same images clean, with the cue, with the cue covered, and with the cue elsewhere.

    Where the cue is in the pictures already, no clean ones exist: ``clean`` and ``patched`` are then the same split.
    """

    clean: str
    patched: str
    masked: str | None = None
    elsewhere: str | None = None


@dataclass(frozen=True)
class Stream:
    """Everything a run learns from and is measured on.

    ``duplicates_allowed`` is how many evaluation images the source is known to share with its training images, pixel for
    pixel, ``phase_duplicates_allowed`` how many training images two phases share in that way; the proof fails above them.
    ``left_out`` is how many evaluation images were taken out for that reason, so that classes may be short of as many.
    ``uneven_classes``: the source's own classes differ in size, so that the proof does not ask for equal numbers.
    ``shown_size`` is the side to which images are enlarged for the net, with what is painted on them.
    A stream that plants no cue has neither ``cue`` nor ``cover`` nor ``pairs``, brings the ``checks`` of its own protocol, and
    in ``samples`` a few images by name for a reader to look at.
    ``cue_names`` names the bits of the images' ``features``, the first for the lowest one. ``interventions``: for each cue that
    can be changed in an image, by its name, how. ``target_boxes`` tells where the thing to be recognised is in images, as rows of
    top, left, bottom, right (the last two not within). ``selected_by``: of the last phase's epochs, the one counts whose lowest
    accuracy over these splits is highest; without any, the phase's validation decides.
    """

    name: str
    phases: tuple[Phase, ...]
    splits: tuple[EvaluationSplit, ...]
    pairs: tuple[MaskedPair, ...]
    cue: Cue | None
    cover: str | None
    n_outputs: int
    class_names: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    crop_padding: int = 4
    flip: bool = True
    duplicates_allowed: int = 0
    phase_duplicates_allowed: int = 0
    left_out: int = 0
    uneven_classes: bool = False
    shown_size: int | None = None
    facts: dict[str, object] = field(default_factory=dict)
    checks: tuple[Callable[[Stream], Check], ...] = ()
    samples: dict[str, Tensor] = field(default_factory=dict)
    cue_names: tuple[str, ...] = ()
    interventions: Mapping[str, Intervention] = field(default_factory=dict)
    target_boxes: Callable[[ImageSet], Tensor] | None = None
    selected_by: tuple[str, ...] = ()

    @property
    def planted_cue(self) -> Cue:
        """The cue, of a stream that plants one."""
        assert self.cue is not None, f"the stream '{self.name}' plants no cue"
        return self.cue

    def phase(self, name: str) -> Phase:
        return next(phase for phase in self.phases if phase.name == name)

    def split(self, name: str) -> EvaluationSplit:
        return next(split for split in self.splits if split.name == name)


streams: Registry[Callable[..., Stream]] = Registry("stream", group="einstellung.streams")
