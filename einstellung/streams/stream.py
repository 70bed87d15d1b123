"""A stream: ordered phases of training data and named evaluation splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from einstellung.checks import Check
from einstellung.cues import Cue
from einstellung.modalities import IMAGES, Modality
from einstellung.registry import Registry
from einstellung.sources.found_boxes import Stored

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class ImageSet:
    """Raw images (uint8 [N, C, H, W]) with their labels in the head, their index in the source, and whether they have the cue.

    Texts and series are images one pixel high (:mod:`einstellung.modalities`): token numbers, or floats.
    ``features`` is a bit mask of the spurious features in each image; None if only the planted cue is known.
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
        """One number per image that encodes its set of spurious features."""
        return self.has_cue.long() if self.features is None else self.features

    @staticmethod
    def joined(sets: Sequence[ImageSet]) -> ImageSet:
        """The sets concatenated in the given order."""
        if len(sets) == 1:
            return sets[0]
        parts = [[getattr(one, name) for one in sets] for name in ImageSet.__dataclass_fields__]
        return ImageSet(*(None if any(part is None for part in field) else torch.cat(field) for field in parts))

    @staticmethod
    def without_cue(images: Tensor, labels: Tensor, index: Tensor) -> ImageSet:
        return ImageSet(images, labels, index, torch.zeros(len(labels), dtype=torch.bool))


@dataclass(frozen=True)
class Phase:
    """A phase of training: its classes (as head labels), those that get the planted cue, and its training images.

    ``cues`` names the cues that are correlated with the label in this phase.
    """

    name: str
    classes: tuple[int, ...]
    cue_classes: tuple[int, ...]
    train: ImageSet
    cues: tuple[str, ...] = ()


class Intervention(Protocol):
    """Change one cue of an image to a value that is correlated with another class, and nothing else."""

    def swapped(self, images: ImageSet, draws: torch.Generator) -> ImageSet:
        """The images with the cue changed; ``features`` and ``has_cue`` are updated with it."""
        ...


class TogglePlantedCue:
    """The intervention on a planted cue: remove it where it is, add it where it is not."""

    def swapped(self, images: ImageSet, draws: torch.Generator) -> ImageSet:
        return replace(images, has_cue=~images.has_cue)


@dataclass(frozen=True)
class EvaluationSplit:
    """Evaluation images of a phase, with the cue already painted or covered.

    ``held_out`` marks a split taken from the phase's training images, so that the indices of both can be compared.
    ``always``: measured at every evaluation of its phase, whatever the schedule.
    """

    name: str
    phase: str
    images: ImageSet
    held_out: bool = False
    always: bool = False


@dataclass(frozen=True)
class MaskedPair:
    """Names of the splits that show the same images clean, with the cue, with the cue covered, and with the cue displaced.

    If the cue is part of the original images there are no clean ones: ``clean`` and ``patched`` are then the same split.
    ``clean`` is None where the clean images are not evaluated.
    """

    clean: str | None
    patched: str
    masked: str | None = None
    elsewhere: str | None = None


@dataclass(frozen=True)
class Habit:
    """A cue that predicts labels in the first phase: the cue, and the classes (head labels) that have it."""

    cue: Cue
    classes: tuple[int, ...]


@dataclass(frozen=True)
class Stream:
    """Everything a run is trained and evaluated on.

    - ``diagnosis``: the kind of diagnosis its splits are made for.
    - ``duplicates_allowed``: evaluation images that the source is known to share with its training images, pixel for pixel;
      ``phase_duplicates_allowed``: training images that two phases share in that way. The proof fails above these numbers.
    - ``left_out``: evaluation images removed as duplicates, so that classes may be short of that many.
    - ``uneven_classes``: the source's classes differ in size, so the proof does not require equal numbers.
    - ``modality``: the kind of its inputs; ``token_names``: of texts, the word of every number, for the report.
    - ``input_size``: the side to which images are enlarged for the net, cue included.
    - ``cue``, ``cover``, ``pairs``: None and empty for a stream that plants no cue. It brings ``checks`` for its own protocol
      and, in ``samples``, a few named images for the report.
    - ``habit``: the cue of the first phase, if one predicts labels there too.
    - ``phase_cues``: of a stream with a list of phases, the cue of every phase that has one; ``cue`` is that of the last of them.
    - ``found_region``: what masked splits cover instead of the cue's region, where an audit found it (``cover: from-audit``).
    - ``files``: the stored files of the images, by index, where they were read from files and resized.
    - ``cue_names``: names of the bits in the images' ``features``, lowest bit first.
    - ``interventions``: how to change a cue in an image, by the cue's name.
    - ``target_boxes``: where the object to recognise is, as rows of top, left, bottom, right (the last two exclusive).
    - ``shared_sources``: of evaluation images that share a source, the images' ``index``, the ``source`` and its ``value``, in
      columns; empty where sources are not known. Intervals over images draw all images of a source together.
    - ``selected_by``: splits that select the epoch of the last phase: the one whose lowest accuracy over them is highest.
      Without any, the phase's validation split decides.
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
    input_size: int | None = None
    facts: dict[str, object] = field(default_factory=dict)
    checks: tuple[Callable[[Stream], Check], ...] = ()
    samples: dict[str, Tensor] = field(default_factory=dict)
    cue_names: tuple[str, ...] = ()
    interventions: Mapping[str, Intervention] = field(default_factory=dict)
    target_boxes: Callable[[ImageSet], Tensor] | None = None
    selected_by: tuple[str, ...] = ()
    shared_sources: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    diagnosis: str = "rigidity"
    habit: Habit | None = None
    found_region: Callable[[Tensor, int, int], Tensor] | None = None
    files: Mapping[int, Stored] = field(default_factory=dict)
    phase_cues: Mapping[str, Cue] = field(default_factory=dict)
    modality: Modality = IMAGES
    token_names: tuple[str, ...] = ()

    @property
    def planted_cue(self) -> Cue:
        """The cue of a stream that plants one."""
        assert self.cue is not None, f"the stream '{self.name}' has no planted cue"
        return self.cue

    def cue_of(self, phase: str) -> Cue:
        """The cue that images of a phase are painted with."""
        if phase in self.phase_cues:
            return self.phase_cues[phase]
        return self.habit.cue if self.habit is not None and phase == self.phases[0].name else self.planted_cue

    def phase(self, name: str) -> Phase:
        return next(phase for phase in self.phases if phase.name == name)

    def split(self, name: str) -> EvaluationSplit:
        return next(split for split in self.splits if split.name == name)


streams: Registry[Callable[..., Stream]] = Registry("stream", group="einstellung.streams")


def holds(modality: Modality) -> Callable[[F], F]:
    """Decorator of a stream's function: what kind of inputs it holds; images unless declared."""

    def declare(function: F) -> F:
        function.modality = modality  # type: ignore[attr-defined]
        return function

    return declare


def modality_of(name: str) -> Modality:
    """The kind of inputs that a registered stream holds.

    >>> modality_of("shapes").name
    'image'
    """
    found: Modality = getattr(streams[name], "modality", IMAGES)
    return found
