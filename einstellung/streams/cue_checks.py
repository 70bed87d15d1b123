"""Checks of the cue: training shows it where it should, the mask covers exactly it, and it can be displaced."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from einstellung.checks import Check
from einstellung.cues import Cue, cover
from einstellung.randomness import generator
from einstellung.streams.presentation import Presentation
from einstellung.streams.stream import ImageSet, Phase, Stream


def cue_in_training(stream: Stream) -> Check:
    """Count the images that training actually paints, against the configured shares, and compare what it paints."""
    if _is_in_images(stream):
        return _nothing_painted(stream)
    # Without padding a canvas stays uniform, so that a cue in the padding's colour is detected too.
    presentation = Presentation(replace(stream, crop_padding=0))
    problems, seen = [], []
    for phase in stream.phases:
        differs = _painted_in_training(presentation, phase)
        if not _paints(presentation, phase, _configured_cue(stream, phase), differs):
            problems.append(f"training does not paint the cue of {phase.name}")
        for label in phase.classes:
            rows = phase.train.labels == label
            expected = int(_configured_share(stream, phase, label) * int(rows.sum()) + 0.5)
            if (found := int(differs[rows].sum())) != expected:
                problems.append(f"class {label} of {phase.name}: cue on {found} training images, should be {expected}")
        cue_class = torch.isin(phase.train.labels, torch.tensor(phase.cue_classes, dtype=torch.long))
        seen.append(
            f"{phase.name}: on {int(differs[cue_class].sum())} of {int(cue_class.sum())} training images of the cue classes, "
            f"on {int(differs[~cue_class].sum())} of {int((~cue_class).sum())} others"
        )
    more = f" (and {len(problems) - 3} more problems)" if len(problems) > 3 else ""
    return Check("training shows the cue where configured", not problems, "; ".join(problems[:3] or seen) + more)


def _configured_share(stream: Stream, phase: Phase, label: int) -> float:
    """The share of a class's training images that should have the cue, by the cue's own settings."""
    if stream.phase_cues:
        cue = stream.phase_cues.get(phase.name)
        share = "share" if label in phase.cue_classes else "share_nsc"
        return 0.0 if cue is None else getattr(cue, share, 0.0)
    if phase is not stream.phases[-1]:
        return 1.0 if _habit(stream) != "none" and label in phase.classes[: len(phase.classes) // 2] else 0.0
    return stream.planted_cue.share if label in phase.cue_classes else getattr(stream.planted_cue, "share_nsc", 0.0)


def _configured_cue(stream: Stream, phase: Phase) -> Cue:
    """The cue that training should paint in a phase, by the cue's own settings."""
    if stream.phase_cues:
        return stream.cue_of(phase.name)
    cue = stream.planted_cue
    if phase is stream.phases[-1] or _habit(stream) != "other":
        return cue
    return cue.other()  # type: ignore[attr-defined,no-any-return]


def _habit(stream: Stream) -> str:
    return getattr(stream.planted_cue, "habit", "none")


def _is_in_images(stream: Stream) -> bool:
    """Whether the cue is part of the original images, so that nothing is painted and no clean images exist."""
    return any(pair.clean == pair.patched for pair in stream.pairs)


def _nothing_painted(stream: Stream) -> Check:
    """For a cue in the original images: nothing may be painted; boxes can only be counted."""
    presentation = Presentation(replace(stream, crop_padding=0))
    painted, seen = 0, []
    for phase in stream.phases:
        painted += int(_painted_in_training(presentation, phase).sum())
        boxes = stream.planted_cue.region(phase.train.index, *phase.train.images.shape[-2:]).flatten(1).any(dim=1)
        cue_class = torch.isin(phase.train.labels, torch.tensor(phase.cue_classes, dtype=torch.long))
        seen.append(
            f"{phase.name}: boxes for {int(boxes[cue_class].sum())} of {int(cue_class.sum())} training images of the cue "
            f"classes, for {int(boxes[~cue_class].sum())} of {int((~cue_class).sum())} others"
        )
    detail = f"painted on {painted} training images; {'; '.join(seen)}; image content was not checked"
    return Check("nothing is painted on images that already have the cue", painted == 0, detail)


def _painted_in_training(presentation: Presentation, phase: Phase) -> Tensor:
    """Which inputs the training pipeline paints, found on two uniform canvases: a cue cannot match both."""
    painted = torch.zeros(len(phase.train), dtype=torch.bool)
    for canvas in presentation.stream.modality.canvases(phase.train.images):
        painted |= (_in_training(presentation, phase, canvas) != canvas).flatten(1).any(dim=1)
    return painted


def _paints(presentation: Presentation, phase: Phase, cue: Cue, rows: Tensor) -> bool:
    """Whether training paints exactly this cue on the given rows, on both canvases."""
    if not bool(rows.any()):
        return True
    index = phase.train.index[rows]
    for canvas in presentation.stream.modality.canvases(phase.train.images):
        shown = _in_training(presentation, phase, canvas)[rows]
        if not torch.equal(shown, cue.paint(canvas[rows], index, generator(0, "proof-cue", phase.name))):
            return False
    return True


def _in_training(presentation: Presentation, phase: Phase, canvas: Tensor) -> Tensor:
    """What training would show if every input of the phase were a canvas."""
    train = phase.train
    return presentation.training_pixels(
        ImageSet(canvas, train.labels, train.index, train.has_cue),
        generator(0, "proof", phase.name),
        generator(0, "proof-cue", phase.name),
    )


def mask_covers_patch(stream: Stream) -> Check:
    """Each masked image is the patched image with exactly the cue's region covered."""
    problems, seen = [], []
    for pair in stream.pairs:
        cue, patched = stream.cue_of(stream.split(pair.patched).phase), stream.split(pair.patched).images
        region = cue.region(patched.index, *patched.images.shape[-2:])
        if pair.clean is not None:
            clean = stream.split(pair.clean).images
            if not torch.equal(clean.index, patched.index) or not torch.equal(clean.labels, patched.labels):
                problems.append(f"{pair.patched} does not hold the images of {pair.clean} in the same order")
                continue
            if not torch.equal(patched.images, cue.paint(clean.images, clean.index)):
                problems.append(f"{pair.patched} is not {pair.clean} with the cue painted on")
        elif unpainted := int((~stream.modality.may_be_painted(cue, patched.images, patched.index)).sum()):
            problems.append(f"{unpainted} of {len(patched)} images of {pair.patched} do not have the cue painted on")
        given = pair.clean == pair.patched  # the boxes were given: painting shows nothing
        if not given and (
            misplaced := int((_where_painted(stream, cue, patched) != region).flatten(1).any(dim=1).sum())
        ):
            problems.append(
                f"the region to cover is not where the cue is painted in {misplaced} of {len(patched)} images"
            )
        if pair.masked is None:
            continue
        to_cover = (
            region if stream.found_region is None else stream.found_region(patched.index, *patched.images.shape[-2:])
        )
        masked = stream.split(pair.masked).images
        if not torch.equal(patched.index, masked.index) or not torch.equal(patched.labels, masked.labels):
            problems.append(f"{pair.masked} does not hold the images of {pair.patched} in the same order")
            continue
        changed = (patched.images != masked.images).any(dim=1, keepdim=True)
        outside = int((changed & ~to_cover).flatten(1).any(dim=1).sum())
        if outside:
            problems.append(f"the mask changes pixels outside the cue in {outside} of {len(masked)} images")
        if not torch.equal(masked.images, cover(str(stream.cover), patched.images, to_cover, patched.index)):
            problems.append(f"{pair.masked} is not {pair.patched} with the cue's region covered ({stream.cover})")
        untouched = int((~(changed & to_cover).flatten(1).any(dim=1)).sum())
        if untouched:
            problems.append(f"the mask changes nothing in {untouched} of {len(masked)} images")
        seen.append(
            f"{len(masked)} image pairs: the mask ({stream.cover}) covers exactly {_described(stream, region, to_cover, given)}"
        )
    name = "the mask covers exactly the cue, on the same image"
    if stream.found_region is not None:
        name = "the mask covers exactly the boxes that an audit found, on the same image"
    if not problems and not seen:
        return Check(name, None, "not checked: no split shows the cue covered")
    return Check(name, not problems, "; ".join(problems or seen))


def _described(stream: Stream, cue: Tensor, covered: Tensor, given: bool) -> str:
    """What is covered, and how much of the cue that is."""
    area = covered.flatten(1).sum(dim=1).float().mean().item()
    if given:
        whose = "given" if stream.found_region is None else "found"
        return f"the {whose} boxes' {area:.0f} pixels (not checked: whether the cue lies in them)"
    if stream.found_region is None:
        return f"the cue's {area:.0f} pixels"
    share = (cue & covered).flatten(1).sum().item() / max(cue.flatten(1).sum().item(), 1)
    return f"the found boxes' {area:.0f} pixels, which hold {100 * share:.0f} % of the planted cue"


def cue_elsewhere(stream: Stream) -> Check:
    """The displaced cue does not touch its usual place; both are taken from the pixels that painting changes."""
    problems, seen = [], []
    for pair in stream.pairs:
        if pair.elsewhere is None or pair.clean is None:
            continue
        clean, moved = stream.split(pair.clean).images, stream.split(pair.elsewhere).images
        if not torch.equal(clean.index, moved.index) or not torch.equal(clean.labels, moved.labels):
            problems.append(f"{pair.elsewhere} does not hold the images of {pair.clean} in the same order")
            continue
        cue = stream.cue_of(stream.split(pair.clean).phase)
        displaced = cue.elsewhere()
        usual, other = (_where_painted(stream, one, clean) for one in (cue, displaced))
        area = usual.flatten(1).sum(dim=1)
        outside = ((moved.images != clean.images) & ~other).flatten(1).any(dim=1)
        for wrong, problem in (
            ((usual & other).flatten(1).any(dim=1), "the cue touches its usual place"),
            (other.flatten(1).sum(dim=1) != area, "the cue is not as large as at its usual place"),
            (outside, "pixels change outside the cue"),
        ):
            if count := int(wrong.sum()):
                problems.append(f"{problem} in {count} of {len(moved)} images of {pair.elsewhere}")
        if not torch.equal(moved.images, displaced.paint(clean.images, clean.index)):
            problems.append(f"{pair.elsewhere} is not {pair.clean} with the cue painted at its other place")
        seen.append(f"{len(moved)} images: the cue's {area.float().mean():.0f} pixels do not overlap its usual place")
    name = "the displaced cue is present and clear of its usual place"
    if not problems and not seen:
        return Check(name, None, "not checked: no split shows the cue displaced")
    return Check(name, not problems, "; ".join(problems or seen))


def _where_painted(stream: Stream, cue: Cue, images: ImageSet) -> Tensor:
    """The places that painting changes, found on two uniform canvases: bool [N, 1, H, W]."""
    changed = torch.zeros(len(images), 1, *images.images.shape[-2:], dtype=torch.bool)
    for canvas in stream.modality.canvases(images.images):
        changed |= (cue.paint(canvas, images.index) != canvas).any(dim=1, keepdim=True)
    return changed
