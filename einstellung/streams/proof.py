"""Verify a stream before training.

Every check reads the tensors that training and evaluation will use, through the same presentation. The expected values are
computed from the protocol's settings, never from the flags under test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from einstellung.checks import Check
from einstellung.errors import InputError
from einstellung.input_words import IMAGE_WORDS
from einstellung.modalities import Modality
from einstellung.randomness import generator
from einstellung.streams.cue_checks import cue_elsewhere, cue_in_training, mask_covers_patch
from einstellung.streams.presentation import Presentation
from einstellung.streams.stream import Phase, Stream


@dataclass(frozen=True)
class Proof:
    """The checks of a stream, and facts (sizes, chance levels) that a reader needs next to its numbers."""

    stream: str
    facts: dict[str, object]
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether no check failed; a check that could not be made (``passed`` is None) does not count as failed."""
        return all(check.passed is not False for check in self.checks)

    def to_dict(self) -> dict[str, object]:
        return {"stream": self.stream, "facts": self.facts, "checks": [check.to_dict() for check in self.checks]}

    def require(self) -> None:
        """Raise an error with the reasons if a check failed."""
        failed = [f"{check.name}: {check.detail}" for check in self.checks if check.passed is False]
        if failed:
            raise InputError(f"the stream '{self.stream}' fails its checks ({'; '.join(failed)}); nothing was trained")


def prove(stream: Stream) -> Proof:
    """Run every check; :meth:`Proof.require` raises if one failed."""
    checks = tuple(in_words_of(stream.modality, check(stream)) for check in stream.checks or _CHECKS)
    return Proof(stream.name, _facts(stream), checks)


def in_words_of(modality: Modality, check: Check) -> Check:
    """A check, which speaks of images and pixels, in the words for the stream's kind of inputs.

    >>> from einstellung.modalities import TEXTS
    >>> in_words_of(TEXTS, Check("phases share no image", True, "3 image pairs, 2 pixels")).detail
    '3 text pairs, 2 tokens'
    """
    return replace(check, name=modality.words.say(check.name), detail=modality.words.say(check.detail))


def _classes_disjoint(stream: Stream) -> Check:
    shared = {
        (one.name, other.name): sorted(set(one.classes) & set(other.classes)) for one, other in _pairs_of(stream.phases)
    }
    found = {pair: classes for pair, classes in shared.items() if classes}
    sizes = ", ".join(f"{phase.name} {len(phase.classes)} classes" for phase in stream.phases)
    detail = f"{sizes}, none in common" if not found else f"classes in two phases: {found}"
    return Check("phases share no class", not found, detail)


def _images_disjoint(stream: Stream) -> Check:
    found, identities, contents = [], 0, 0
    for one, other in _pairs_of(stream.phases):
        by_identity = len(set(one.train.index.tolist()) & set(other.train.index.tolist()))
        by_content = len(_contents(one.train.images) & _contents(other.train.images))
        if by_identity or by_content:
            found.append(f"{one.name} and {other.name} share {by_identity} images by identity, {by_content} by content")
        identities, contents = identities + by_identity, contents + by_content
    passed = identities == 0 and contents <= stream.phase_duplicates_allowed
    sizes = ", ".join(f"{phase.name} {len(phase.train)} training images" for phase in stream.phases)
    known = f" ({stream.phase_duplicates_allowed} known in the source)" if stream.phase_duplicates_allowed else ""
    return Check("phases share no image", passed, ("; ".join(found) or f"{sizes}, none in common") + known)


def _evaluation_unseen(stream: Stream) -> Check:
    """Compare pixels, also with the cue painted on training images, since evaluation images may have it."""
    derived = {name for pair in stream.pairs for name in (pair.patched, pair.masked, pair.elsewhere)}
    derived -= {pair.clean for pair in stream.pairs}
    derived |= {f"{phase}_all" for phase in stream.phase_cues}  # their images are in the clean splits, and count once
    own = [split for split in stream.splits if split.name not in derived]
    clean = {content for phase in stream.phases for content in _content_list(phase.train.images)}
    # What an evaluation image with the cue would look like if it came from a training set.
    painted = {
        content
        for phase in stream.phases
        for content in _content_list(stream.cue_of(phase.name).paint(phase.train.images, phase.train.index))
    }
    shared = 0
    for split in own:
        by_content = torch.tensor(
            [content in clean or content in painted for content in _content_list(split.images.images)], dtype=torch.bool
        )
        trained = torch.isin(split.images.index, stream.phase(split.phase).train.index)
        by_identity = trained & split.held_out
        shared += int((by_content | by_identity).sum())
    return Check(
        "training and evaluation share no image",
        shared <= stream.duplicates_allowed,
        f"{shared} shared images in {', '.join(split.name for split in own)} "
        f"({stream.duplicates_allowed} known in the source)",
    )


def _labels_in_place(stream: Stream) -> Check:
    problems = []
    for phase in stream.phases:
        sets = [("training", phase.train)]
        sets += [(split.name, split.images) for split in stream.splits if split.phase == phase.name]
        for name, images in sets:
            if not len(images):
                problems.append(f"{name} of {phase.name} is empty")
            foreign = set(images.labels.tolist()) - set(phase.classes)
            if foreign:
                problems.append(f"{name} of {phase.name} holds labels of another phase: {sorted(foreign)[:5]}")
        if missing := set(phase.classes) - set(phase.train.labels.tolist()):
            problems.append(f"{phase.name} has no training image of classes {sorted(missing)[:5]}")
        if max(phase.classes) >= stream.n_outputs or min(phase.classes) < 0:
            problems.append(f"{phase.name} has labels outside the head's 0..{stream.n_outputs - 1}")
    detail = "; ".join(problems) or f"all labels lie in their phase and in the head's 0..{stream.n_outputs - 1}"
    return Check("labels belong to their phase", not problems, detail)


def _augmentation_is_new(stream: Stream) -> Check:
    presentation, train = Presentation(stream), stream.phases[0].train
    few = train.take(torch.arange(min(64, len(train))))
    first, again, second = (
        presentation.training_pixels(few, generator(0, "proof-augmentation", epoch), None) for epoch in (1, 1, 2)
    )
    changed = (first != second).flatten(1).any(dim=1).float().mean().item()
    repeats = torch.equal(first, again)
    passed = repeats and (changed > 0.5 or not (stream.flip or stream.crop_padding))
    detail = f"{changed:.0%} of {len(few)} images differ between two epochs; the same epoch drawn twice is "
    return Check(
        "augmentation changes every epoch and is reproducible", passed, detail + ("equal" if repeats else "different")
    )


def _splits_balanced(stream: Stream) -> Check:
    """Classes must be of equal size, apart from images left out as duplicates, unless the source itself is uneven."""
    uneven = []
    for split in stream.splits:
        counts = torch.bincount(split.images.labels, minlength=stream.n_outputs)
        sizes = sorted({int(count) for count in counts[counts > 0]})
        if not sizes:
            uneven.append(f"{split.name} has none")
        elif int((sizes[-1] - counts[counts > 0]).sum()) > stream.left_out:
            uneven.append(f"{split.name} {sizes[0]} to {sizes[-1]}")
    facts = _facts(stream)
    detail = "; ".join(
        f"{title} {facts[key]:.4f}"
        for key, title in (
            ("chance", "chance over the whole head"),
            ("chance_task", "chance within the last phase"),
            ("cue_alone", "what the cue alone can give"),
        )
    )
    if stream.left_out:
        detail += (
            f" (accuracy is averaged over classes, so the {stream.left_out} removed images do not change these levels)"
        )
    differing = f"images per class differ ({', '.join(uneven)})"
    if uneven and stream.uneven_classes:
        detail += f"; {differing}, but accuracy is averaged over classes"
    elif uneven:
        detail = f"{differing}, so chance levels do not hold"
    passed = not uneven or stream.uneven_classes
    return Check("classes have equal weight, so the chance levels hold", passed, detail)


def _facts(stream: Stream) -> dict[str, object]:
    last = stream.phases[-1]
    planted: dict[str, object] = {}
    if stream.cue is not None:
        tells = stream.cue.share > getattr(stream.cue, "share_nsc", 0.0)
        candidates = last.cue_classes if last.cue_classes and tells else last.classes
        planted = {"cue_alone": 1 / len(candidates), "cue": repr(stream.cue), "cover": stream.cover}
    return {
        "outputs": stream.n_outputs,
        "chance": 1 / stream.n_outputs,
        "chance_task": 1 / len(last.classes),
        **planted,
        **({} if stream.modality.words == IMAGE_WORDS else {"inputs": stream.modality.name}),
        "training_images": {phase.name: len(phase.train) for phase in stream.phases},
        "evaluation_images": {split.name: len(split.images) for split in stream.splits},
        **stream.facts,
    }


def _pairs_of(phases: tuple[Phase, ...]) -> Iterator[tuple[Phase, Phase]]:
    for position, one in enumerate(phases):
        for other in phases[position + 1 :]:
            yield one, other


def _content_list(images: Tensor) -> list[bytes]:
    return [image.tobytes() for image in images.numpy()]


def _contents(images: Tensor) -> set[bytes]:
    return set(_content_list(images))


_CHECKS: tuple[Callable[[Stream], Check], ...] = (
    _classes_disjoint,
    _images_disjoint,
    _evaluation_unseen,
    _labels_in_place,
    cue_in_training,
    mask_covers_patch,
    cue_elsewhere,
    _augmentation_is_new,
    _splits_balanced,
)
