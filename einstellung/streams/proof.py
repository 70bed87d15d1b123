"""A stream proves itself before anybody trains on it.

Every check looks at the tensors that training and evaluation will use, through the same presentation, and computes what
should be there from the protocol's settings, never from the flags that are under suspicion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace

import torch
from torch import Tensor

from einstellung.cues import cover
from einstellung.cues.patch import Cue
from einstellung.errors import InputError
from einstellung.randomness import generator
from einstellung.streams.presentation import Presentation
from einstellung.streams.stream import ImageSet, Phase, Stream


@dataclass(frozen=True)
class Check:
    """One thing that was looked at, and what was found."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class Proof:
    """All checks of a stream, with the facts (sizes, chance levels) that a reader needs beside its numbers."""

    stream: str
    facts: dict[str, object]
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        return all(check.passed for check in self.checks)

    def to_dict(self) -> dict[str, object]:
        return {"stream": self.stream, "facts": self.facts, "checks": [asdict(check) for check in self.checks]}

    def require(self) -> None:
        """Stop with the reason if a check failed."""
        failed = [f"{check.name}: {check.detail}" for check in self.checks if not check.passed]
        if failed:
            raise InputError(
                f"the stream '{self.stream}' does not prove itself ({'; '.join(failed)}); nothing was trained"
            )


def prove(stream: Stream) -> Proof:
    """Run every check; see :meth:`Proof.require` for what a failed one does."""
    return Proof(stream.name, _facts(stream), tuple(check(stream) for check in _CHECKS))


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
    """Compares pixels, with the cue painted on training images where evaluation images bear it."""
    derived = {name for pair in stream.pairs for name in (pair.patched, pair.masked, pair.elsewhere)}
    derived -= {pair.clean for pair in stream.pairs}
    own = [split for split in stream.splits if split.name not in derived]
    clean = {content for phase in stream.phases for content in _content_list(phase.train.images)}
    # What a bearing evaluation image would look like if it had been taken from a training set, cue and all.
    painted = {
        content
        for phase in stream.phases
        for content in _content_list(stream.cue.paint(phase.train.images, phase.train.index))
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
            strangers = set(images.labels.tolist()) - set(phase.classes)
            if strangers:
                problems.append(f"{name} of {phase.name} holds labels of another phase: {sorted(strangers)[:5]}")
        if missing := set(phase.classes) - set(phase.train.labels.tolist()):
            problems.append(f"{phase.name} has no training image of classes {sorted(missing)[:5]}")
        if max(phase.classes) >= stream.n_outputs or min(phase.classes) < 0:
            problems.append(f"{phase.name} has labels outside the head's 0..{stream.n_outputs - 1}")
    detail = "; ".join(problems) or f"all labels lie in their phase and in the head's 0..{stream.n_outputs - 1}"
    return Check("labels belong to their phase", not problems, detail)


def _cue_in_training(stream: Stream) -> Check:
    """Counts the images that training really paints, against the settings' share of the cue classes."""
    if _in_pictures(stream):
        return _nothing_painted(stream)
    # Without padding a flat canvas stays flat, so that a cue of the padding's colour is seen too.
    presentation = Presentation(replace(stream, crop_padding=0))
    problems, seen = [], []
    for phase in stream.phases:
        differs = _painted_in_training(presentation, phase)
        for label in phase.classes:
            rows = phase.train.labels == label
            expected = int(stream.cue.share * int(rows.sum()) + 0.5) if label in phase.cue_classes else 0
            if (found := int(differs[rows].sum())) != expected:
                problems.append(f"class {label} of {phase.name}: cue on {found} training images, should be {expected}")
        bearing = torch.isin(phase.train.labels, torch.tensor(phase.cue_classes, dtype=torch.long))
        seen.append(
            f"{phase.name}: on {int(differs[bearing].sum())} of {int(bearing.sum())} training images of the cue classes, "
            f"on {int(differs[~bearing].sum())} of {int((~bearing).sum())} others"
        )
    more = f" (and {len(problems) - 3} more classes)" if len(problems) > 3 else ""
    return Check("the cue is where training should see it", not problems, "; ".join(problems[:3] or seen) + more)


def _in_pictures(stream: Stream) -> bool:
    """Whether the cue is in the pictures already, so that nothing is painted and no clean images exist."""
    return any(pair.clean == pair.patched for pair in stream.pairs)


def _nothing_painted(stream: Stream) -> Check:
    """Where the cue is in the pictures, all that can be counted is that none is added, and the boxes that are given."""
    presentation = Presentation(replace(stream, crop_padding=0))
    painted, seen = 0, []
    for phase in stream.phases:
        painted += int(_painted_in_training(presentation, phase).sum())
        boxes = stream.cue.region(phase.train.index, *phase.train.images.shape[-2:]).flatten(1).any(dim=1)
        bearing = torch.isin(phase.train.labels, torch.tensor(phase.cue_classes, dtype=torch.long))
        seen.append(
            f"{phase.name}: boxes for {int(boxes[bearing].sum())} of {int(bearing.sum())} training images of the cue "
            f"classes, for {int(boxes[~bearing].sum())} of {int((~bearing).sum())} others"
        )
    detail = f"painted on {painted} training images; {'; '.join(seen)}; what the pictures show was not checked"
    return Check("nothing is painted on pictures that hold the cue already", painted == 0, detail)


def _painted_in_training(presentation: Presentation, phase: Phase) -> Tensor:
    """Which training images the training pipeline paints, seen on two flat canvases: a cue cannot match both."""
    train, painted = phase.train, torch.zeros(len(phase.train), dtype=torch.bool)
    for shade in (0, 255):
        canvas = torch.full_like(train.images, shade)
        shown = presentation.training_pixels(
            ImageSet(canvas, train.labels, train.index, train.bears),
            generator(0, "proof", phase.name),
            generator(0, "proof-cue", phase.name),
        )
        painted |= (shown != shade).flatten(1).any(dim=1)
    return painted


def _mask_covers_patch(stream: Stream) -> Check:
    problems, seen = [], []
    for pair in stream.pairs:
        clean, patched = stream.split(pair.clean).images, stream.split(pair.patched).images
        region = stream.cue.region(clean.index, *clean.images.shape[-2:])
        if not torch.equal(clean.index, patched.index) or not torch.equal(clean.labels, patched.labels):
            problems.append(f"{pair.patched} does not hold the images of {pair.clean} in the same order")
            continue
        if not torch.equal(patched.images, stream.cue.paint(clean.images, clean.index)):
            problems.append(f"{pair.patched} is not {pair.clean} with the cue painted on")
        given = pair.clean == pair.patched  # boxes in pictures that hold the cue already: painting would show nothing
        if not given and (amiss := int((_where_painted(stream.cue, clean) != region).flatten(1).any(dim=1).sum())):
            problems.append(f"the region to cover is not where the cue is painted in {amiss} of {len(clean)} images")
        if pair.masked is None:
            continue
        masked = stream.split(pair.masked).images
        if not torch.equal(patched.index, masked.index) or not torch.equal(patched.labels, masked.labels):
            problems.append(f"{pair.masked} does not hold the images of {pair.patched} in the same order")
            continue
        changed = (patched.images != masked.images).any(dim=1, keepdim=True)
        beside = int((changed & ~region).flatten(1).any(dim=1).sum())
        if beside:
            problems.append(f"the mask changes pixels beside the cue in {beside} of {len(masked)} images")
        if not torch.equal(masked.images, cover(stream.cover, patched.images, region, patched.index)):
            problems.append(f"{pair.masked} is not {pair.patched} with the cue's region covered ({stream.cover})")
        untouched = int((~(changed & region).flatten(1).any(dim=1)).sum())
        if untouched:
            problems.append(f"the mask changes nothing in {untouched} of {len(masked)} images")
        area = region.flatten(1).sum(dim=1).float().mean().item()
        what = f"the given boxes' {area:.0f} pixels" if given else f"the cue's {area:.0f} pixels"
        unseen = " (that the cue lies in them was not checked)" if given else ""
        seen.append(f"{len(masked)} image pairs, the mask ({stream.cover}) covers {what} and no other{unseen}")
    return Check("the mask covers exactly the cue, on the same image", not problems, "; ".join(problems or seen))


def _cue_elsewhere(stream: Stream) -> Check:
    """Both places are taken from what painting really changes, not from what the cue says of itself."""
    problems, seen = [], []
    for pair in stream.pairs:
        if pair.elsewhere is None:
            continue
        clean, moved = stream.split(pair.clean).images, stream.split(pair.elsewhere).images
        if not torch.equal(clean.index, moved.index) or not torch.equal(clean.labels, moved.labels):
            problems.append(f"{pair.elsewhere} does not hold the images of {pair.clean} in the same order")
            continue
        displaced = stream.cue.elsewhere()
        usual, other = _where_painted(stream.cue, clean), _where_painted(displaced, clean)
        area = usual.flatten(1).sum(dim=1)
        beside = ((moved.images != clean.images) & ~other).flatten(1).any(dim=1)
        for wrong, words in (
            ((usual & other).flatten(1).any(dim=1), "the cue touches its usual place"),
            (other.flatten(1).sum(dim=1) != area, "the cue is not as large as at its usual place"),
            (beside, "pixels are changed beside the cue"),
        ):
            if count := int(wrong.sum()):
                problems.append(f"{words} in {count} of {len(moved)} images of {pair.elsewhere}")
        if not torch.equal(moved.images, displaced.paint(clean.images, clean.index)):
            problems.append(f"{pair.elsewhere} is not {pair.clean} with the cue painted at its other place")
        seen.append(f"{len(moved)} images with the cue's {area.float().mean():.0f} pixels clear of its usual place")
    detail = "; ".join(problems or seen) or "no split shows the cue elsewhere"
    return Check("the displaced cue is there, and not at its usual place", not problems, detail)


def _where_painted(cue: Cue, images: ImageSet) -> Tensor:
    """The pixels that painting really changes, seen on two flat canvases: bool [N, 1, H, W]."""
    changed = torch.zeros(len(images), 1, *images.images.shape[-2:], dtype=torch.bool)
    for shade in (0, 255):
        canvas = torch.full_like(images.images, shade)
        changed |= (cue.paint(canvas, images.index) != canvas).any(dim=1, keepdim=True)
    return changed


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
        "augmentation is new every epoch and repeatable", passed, detail + ("equal" if repeats else "different")
    )


def _splits_balanced(stream: Stream) -> Check:
    """Classes may be short of the images that were left out as duplicates, and of no other, unless the source is uneven."""
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
        f"{words} {facts[key]:.4f}"
        for key, words in (
            ("chance", "chance over the whole head"),
            ("chance_task", "chance within the last phase"),
            ("cue_alone", "what the cue alone can give"),
        )
    )
    if stream.left_out:
        detail += f" (accuracy is the mean over classes, so the {stream.left_out} images left out shift no level)"
    differing = f"images per class differ ({', '.join(uneven)})"
    if uneven and stream.uneven_classes:
        detail += f"; {differing}, but accuracy is the mean over classes"
    elif uneven:
        detail = f"{differing}, so chance levels do not hold"
    passed = not uneven or stream.uneven_classes
    return Check("every class weighs the same, so the chance levels hold", passed, detail)


def _facts(stream: Stream) -> dict[str, object]:
    last = stream.phases[-1]
    return {
        "outputs": stream.n_outputs,
        "chance": 1 / stream.n_outputs,
        "chance_task": 1 / len(last.classes),
        "cue_alone": 1 / len(last.cue_classes) if last.cue_classes and stream.cue.share else 1 / len(last.classes),
        "cue": repr(stream.cue),
        "cover": stream.cover,
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
    _cue_in_training,
    _mask_covers_patch,
    _cue_elsewhere,
    _augmentation_is_new,
    _splits_balanced,
)
