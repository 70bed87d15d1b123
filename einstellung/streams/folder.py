"""``folder``: the two-phase protocol on a folder of image files, described by a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from einstellung.cues import Cue
from einstellung.cues.covers import FROM_AUDIT
from einstellung.errors import InputError
from einstellung.files import digest
from einstellung.registry import suggestion
from einstellung.sources.found_boxes import Stored
from einstellung.sources.geometry import Box, scaled_box
from einstellung.sources.picture_table import PictureRow, read_picture_table
from einstellung.sources.pictures import DecodedPictures, read_pictures
from einstellung.streams.boxed import BoxedCue, boxed_stream
from einstellung.streams.colours import Colour, check_colours, mean_and_std
from einstellung.streams.planted import HELD_OUT, HeadClasses, TwoPhaseImages, exact_share, planted_stream
from einstellung.streams.stream import EvaluationSplit, ImageSet, Stream, streams


@streams.register("folder")
def folder(
    cue: Cue,
    cover: str = "black",
    *,
    path: str = "",
    table: str = "labels.csv",
    size: int = 32,
    shortcut: tuple[str, ...] = (),
    cue_in_images: bool = False,
    validation: float = 0.1,
    crop_padding: int = 4,
    flip: bool = True,
    mean: Colour | None = None,
    std: Colour | None = None,
) -> Stream:
    """A folder of image files with a table of file, label, phase, split and optionally superclass, group and box.

    Images with a ``shortcut`` label get the planted cue or, with ``cue_in_images``, have one at the boxes in the table.
    """
    if not path:
        raise InputError("stream.path is not set: give the folder that holds the images and the table")
    if not 8 <= size <= 1024:
        raise InputError(f"stream.size is {size}: give a number of pixels from 8 to 1024")
    if not 0 < validation < 1:
        raise InputError(f"stream.validation is {validation}: it must lie between 0 and 1")
    if not 0 <= crop_padding < size:
        raise InputError(f"stream.crop_padding is {crop_padding}: give 0 to {size - 1} for images {size} pixels wide")
    check_colours(mean, std)
    source = _Source.read(Path(path).expanduser(), table, size)
    classes = source.classes(shortcut)
    images = source.images(classes, validation)
    source.check_duplicates(images)
    trained = torch.cat([images.t1_train.images, images.t2_train.images])
    given = mean is not None and std is not None
    mean, std = (mean, std) if mean is not None and std is not None else mean_and_std(trained)
    facts = source.facts(classes, table)
    facts["normalisation"] = {
        "mean": list(mean),
        "std": list(std),
        "from": "the configuration" if given else f"the {len(trained)} training images of both phases",
    }
    settings: dict[str, Any] = {"mean": mean, "std": std, "crop_padding": crop_padding, "flip": flip}
    settings |= {"uneven_classes": True, "files": source.stored()}
    if cue_in_images:
        stream = boxed_stream(
            "folder", images, classes, source.boxes(() if cover == FROM_AUDIT else shortcut), cover, facts, **settings
        )
    else:
        stream = planted_stream("folder", images, classes, cue, cover, facts, **settings)
    return replace(stream, splits=(*stream.splits, *source.extra_splits(classes, stream)))


@dataclass(frozen=True)
class _Source:
    """The rows of the table with their decoded pictures; an image's index is its row."""

    rows: list[PictureRow]
    pictures: DecodedPictures
    pixels: Tensor
    size: int

    @classmethod
    def read(cls, path: Path, table: str, size: int) -> _Source:
        rows = read_picture_table(path, table)
        pictures = read_pictures([row.file for row in rows], size, [row.place for row in rows])
        source = cls(rows, pictures, torch.from_numpy(pictures.images), size)
        source._check_boxes()
        return source

    def classes(self, shortcut: Sequence[str]) -> HeadClasses:
        """The head: T1's labels, then the cue's, then the others, each group in alphabetical order."""
        labels = {phase: sorted({row.label for row in self.rows if row.phase == phase}) for phase in ("T1", "T2")}
        if not shortcut:
            raise InputError("stream.shortcut is empty: name the labels of T2 whose images have the cue")
        for label in shortcut:
            if label not in labels["T2"]:
                raise InputError(
                    f"stream.shortcut names '{label}', which is not a label of T2: {suggestion(label, labels['T2'])}"
                )
        others = [label for label in labels["T2"] if label not in shortcut]
        if not others:
            raise InputError("stream.shortcut holds all labels of T2: leave some without the cue")
        parts = (labels["T1"], sorted(set(shortcut)), others)
        ends = [sum(map(len, parts[:number])) for number in range(4)]
        ranges = [tuple(range(first, last)) for first, last in pairwise(ends)]
        return HeadClasses(ranges[0], ranges[1], ranges[2], tuple(label for part in parts for label in part))

    def images(self, classes: HeadClasses, validation: float) -> TwoPhaseImages:
        t2_train, t2_val = self._part(classes, "T2", "train"), self._part(classes, "T2", "val")
        if len(t2_val):
            if absent := sorted(set(classes.t2) - set(t2_val.labels.tolist())):
                raise InputError(
                    f"label '{classes.names[absent[0]]}' of T2 has no image in split 'val', but others have some: give every "
                    "label of T2 some or none, because validation selects the checkpoint"
                )
        else:
            held_out = exact_share(t2_train.index, t2_train.labels, validation, HELD_OUT)
            for label in classes.t2:
                own = held_out[t2_train.labels == label]
                if not own.any() or own.all():
                    raise InputError(
                        f"stream.validation {validation:g} holds out {int(own.sum())} of {len(own)} training images of "
                        f"'{classes.names[label]}': choose another share, or use split 'val' in the table"
                    )
            t2_train, t2_val = (t2_train.take(rows.nonzero().flatten()) for rows in (~held_out, held_out))
        t2_test = self._part(classes, "T2", "test")
        in_cue_class = torch.isin(t2_test.labels, torch.tensor(classes.sc))
        return TwoPhaseImages(
            t1_train=self._part(classes, "T1", "train"),
            t2_train=t2_train,
            t2_val=t2_val,
            t1_test=self._part(classes, "T1", "test"),
            sc_test=t2_test.take(in_cue_class.nonzero().flatten()),
            nsc_test=t2_test.take((~in_cue_class).nonzero().flatten()),
        )

    def check_duplicates(self, images: TwoPhaseImages) -> None:
        """Refuse an image that occurs under two names in different phases, or in both training and evaluation."""
        held_out = set(images.t2_val.index.tolist())
        first: dict[bytes, int] = {}
        for number, image in enumerate(self.pictures.images):
            other = first.setdefault(image.tobytes(), number)
            row, duplicate = self.rows[number], self.rows[other]
            one, two = ((r.phase, "val" if n in held_out else r.split) for r, n in ((row, number), (duplicate, other)))
            if one != two:
                raise InputError(
                    f"{row.place}: at {self.size}x{self.size} '{row.file.name}' ({' '.join(one)}) is the same picture as "
                    f"'{duplicate.file.name}' ({' '.join(two)}): remove one of them"
                )

    def stored(self) -> dict[int, Stored]:
        """The file of every image, named relative to the folder of all, with its size."""
        sizes = self.pictures.sizes.tolist()
        return {
            number: Stored(row.name, height, width)
            for number, (row, (height, width)) in enumerate(zip(self.rows, sizes, strict=True))
        }

    def boxes(self, shortcut: Sequence[str]) -> BoxedCue:
        """The table's boxes, scaled to the images' size; a test image of a ``shortcut`` label must have one."""
        scaled: dict[int, Box] = {}
        for number, (row, (height, width)) in enumerate(zip(self.rows, self.pictures.sizes.tolist(), strict=True)):
            if row.box is not None:
                scaled[number] = scaled_box(row.box, height, width, self.size, self.size)
            elif row.label in shortcut and row.split == "test":
                raise InputError(
                    f"{row.place}: a test image of the shortcut label '{row.label}' has no box (top, left, height, width), "
                    "so its cue cannot be covered: add one"
                )
        return BoxedCue(scaled)

    def groups(self) -> dict[str, list[int]]:
        """Rows of T2's test images by group; the group's name is converted to a valid split name."""
        found: dict[str, list[int]] = {}
        first_rows: dict[str, PictureRow] = {}
        for number, row in enumerate(self.rows):
            if row.group is None or (row.phase, row.split) != ("T2", "test"):
                continue
            name = re.sub(r"[^\w.+-]+", "_", row.group)
            first = first_rows.setdefault(name.lower(), row)
            if first.group != row.group:
                raise InputError(f"{row.place}: group '{row.group}' clashes with '{first.group}': rename one of them")
            found.setdefault(name, []).append(number)
        return found

    def extra_splits(self, classes: HeadClasses, stream: Stream) -> list[EvaluationSplit]:
        """T1's validation images if the table has some, and T2's test images by group, shown as in the normal splits."""
        t1_val = self._part(classes, "T1", "val")
        extra = [EvaluationSplit("T1_val", "T1", t1_val, held_out=True)] if len(t1_val) else []
        shown = ImageSet.joined([stream.split(f"T2_{part}_normal").images for part in ("shortcut", "nonshortcut")])
        for name, numbers in sorted(self.groups().items()):
            rows = torch.isin(shown.index, torch.tensor(numbers)).nonzero().flatten()
            extra.append(EvaluationSplit(f"T2_group_{name}", "T2", shown.take(rows)))
        return extra

    def facts(self, classes: HeadClasses, table: str) -> dict[str, object]:
        names = classes.names
        superclass = {row.label: row.superclass for row in self.rows if row.superclass is not None}
        parts = {"T1": classes.t1, "SC": classes.sc, "NSC": classes.nsc}
        facts: dict[str, object] = {
            "source": f"{len(self.rows)} image files named in {table}",
            "content": digest([self.pictures.sha256, [_content(row) for row in self.rows]], length=64),
            "image_size": f"{self.size}x{self.size}",
            "classes": {part: [names[label] for label in labels] for part, labels in parts.items()},
        }
        if superclass:
            facts["superclasses"] = {
                part: sorted({superclass[names[label]] for label in labels if names[label] in superclass})
                for part, labels in parts.items()
            }
        if groups := self.groups():
            facts["groups"] = {f"T2_group_{name}": len(numbers) for name, numbers in sorted(groups.items())}
        boxes = Counter(f"{row.phase} {row.split}" for row in self.rows if row.box is not None)
        return facts | ({"boxes": dict(sorted(boxes.items()))} if boxes else {})

    def _part(self, classes: HeadClasses, phase: str, split: str) -> ImageSet:
        number_of = {name: number for number, name in enumerate(classes.names)}
        numbers = [n for n, row in enumerate(self.rows) if (row.phase, row.split) == (phase, split)]
        index = torch.tensor(numbers, dtype=torch.long)
        labels = torch.tensor([number_of[self.rows[number].label] for number in numbers], dtype=torch.long)
        return ImageSet.without_cue(self.pixels[index], labels, index)

    def _check_boxes(self) -> None:
        for row, (height, width) in zip(self.rows, self.pictures.sizes.tolist(), strict=True):
            if row.box is not None:
                top, left, box_height, box_width = row.box
                if top + box_height > height or left + box_width > width:
                    raise InputError(
                        f"{row.place}: the box (top {top}, left {left}, height {box_height}, width {box_width}) exceeds the "
                        f"picture, which is {height} pixels high and {width} wide"
                    )


def _content(row: PictureRow) -> list[object]:
    """What a row contributes to the digest of the data."""
    return [row.label, row.phase, row.split, row.group, list(row.box or ())]
