"""``cover: from-audit``: masked splits cover the boxes that an audit found, as if nobody knew the cue."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from einstellung.cues import cover
from einstellung.cues.covers import FROM_AUDIT
from einstellung.errors import InputError
from einstellung.sources.found_boxes import FoundBoxes, Stored
from einstellung.sources.geometry import Box, scaled_box
from einstellung.streams.boxed import BoxedCue
from einstellung.streams.stream import ImageSet, Stream


def cover_found_boxes(stream: Stream, found: FoundBoxes) -> Stream:
    """The stream with the found boxes covered in its masked splits; results that use them are marked as a proxy."""
    masked = {pair.masked: pair.patched for pair in stream.pairs if pair.masked is not None}
    if not masked:
        raise InputError(
            f"cover: the stream '{stream.name}' has no split with its cue covered, so from-audit has no use"
        )
    boxes: dict[int, Box] = {}
    splits = []
    for split in stream.splits:
        if split.name not in masked:
            splits.append(split)
            continue
        shown = stream.split(masked[split.name]).images
        boxes |= _boxes(stream, shown, found, split.name)
        region = BoxedCue(boxes).region(shown.index, *shown.images.shape[-2:])
        pixels = cover(FROM_AUDIT, shown.images, region, shown.index)
        splits.append(replace(split, images=replace(shown, images=pixels, has_cue=split.images.has_cue)))
    if isinstance(stream.cue, BoxedCue):  # part of the images: nobody knows more about its place than the audit
        training = [phase.train for phase in stream.phases]
        boxes |= {index: box for images in training for index, box in _known(stream, images, found).items()}
        stream = replace(stream, cue=BoxedCue(boxes), phase_cues=dict.fromkeys(stream.phase_cues, BoxedCue(boxes)))
    return replace(
        stream,
        splits=tuple(splits),
        found_region=BoxedCue(boxes).region,
        facts={**stream.facts, "proxy": found.facts()},
    )


def _boxes(stream: Stream, images: ImageSet, found: FoundBoxes, split: str) -> dict[int, Box]:
    """By index, for all images; an error if one has no box."""
    boxes = _known(stream, images, found)
    for index, label in zip(images.index.tolist(), images.labels.tolist(), strict=True):
        if index not in boxes:
            name = stream.class_names[label]
            image = _stored(stream, found, images.images, index).name
            raise InputError(
                f"audit: {found.file} has no box for image {image} of the class '{name}' "
                f"(split {split}), so its cue cannot be covered: give an audit that found a cue in this class"
                + (", of all images (--images)" if found.by_image else "")
            )
    return boxes


def _known(stream: Stream, images: ImageSet, found: FoundBoxes) -> dict[int, Box]:
    """The boxes of the images that have one, in the stream's pixels."""
    height, width = images.images.shape[-2:]
    boxes: dict[int, Box] = {}
    for index, label in zip(images.index.tolist(), images.labels.tolist(), strict=True):
        image = _stored(stream, found, images.images, index)
        if (own := found.box(stream.class_names[label], image)) is not None:
            boxes[index] = scaled_box(own, image.height, image.width, height, width)
    return boxes


def _stored(stream: Stream, found: FoundBoxes, pixels: Tensor, index: int) -> Stored:
    """What the audit was shown: the file behind an image, or the stream's own image."""
    own = Stored(str(index), *pixels.shape[-2:])
    return own if found.geometry is None else stream.files.get(index, own)
