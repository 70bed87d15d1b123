"""The pictures of a folder and the rows of their table: what streams of a folder are made from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.files import digest
from einstellung.sources.found_boxes import Stored
from einstellung.sources.geometry import Box, scaled_box
from einstellung.sources.picture_table import PictureRow, read_picture_table
from einstellung.sources.pictures import DecodedPictures, read_pictures
from einstellung.streams.boxed import BoxedCue
from einstellung.streams.planted import HELD_OUT, exact_share
from einstellung.streams.stream import EvaluationSplit, ImageSet, Stream


@dataclass(frozen=True)
class PictureSource:
    """The rows of the table with their decoded pictures; an image's index is its row."""

    rows: list[PictureRow]
    pictures: DecodedPictures
    pixels: Tensor
    size: int

    @classmethod
    def read(cls, path: Path, table: str, size: int, phases: Sequence[str] = ("T1", "T2")) -> PictureSource:
        rows = read_picture_table(path, table, phases)
        pictures = read_pictures([row.file for row in rows], size, [row.place for row in rows])
        source = cls(rows, pictures, torch.from_numpy(pictures.images), size)
        source._check_boxes()
        return source

    def labels(self, phase: str) -> list[str]:
        """The labels of a phase, in alphabetical order."""
        return sorted({row.label for row in self.rows if row.phase == phase})

    def trained_and_held_out(self, names: Sequence[str], phase: str, validation: float) -> tuple[ImageSet, ImageSet]:
        """A phase's training images, and those for validation: the table's, or a share of every label's training images."""
        train, val = self.part(names, phase, "train"), self.part(names, phase, "val")
        if len(val):
            if absent := sorted(set(train.labels.tolist()) - set(val.labels.tolist())):
                raise InputError(
                    f"label '{names[absent[0]]}' of {phase} has no image in split 'val', but others have some: give every "
                    f"label of {phase} some or none, because validation selects the checkpoint"
                )
            return train, val
        held_out = exact_share(train.index, train.labels, validation, HELD_OUT)
        for label in train.labels.unique().tolist():
            own = held_out[train.labels == label]
            if not own.any() or own.all():
                raise InputError(
                    f"stream.validation {validation:g} holds out {int(own.sum())} of {len(own)} training images of "
                    f"'{names[label]}': choose another share, or use split 'val' in the table"
                )
        kept, held = (train.take(rows.nonzero().flatten()) for rows in (~held_out, held_out))
        return kept, held

    def check_duplicates(self, held_out: Iterable[int]) -> None:
        """Refuse an image that occurs under two names in different phases, or in both training and evaluation.

        ``held_out``: the indices of images that validation takes from training.
        """
        held_out = set(held_out)
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

    def groups(self, phase: str = "T2") -> dict[str, list[int]]:
        """Rows of a phase's test images by group; the group's name is converted to a valid split name."""
        found: dict[str, list[int]] = {}
        first_rows: dict[str, PictureRow] = {}
        for number, row in enumerate(self.rows):
            if row.group is None or (row.phase, row.split) != (phase, "test"):
                continue
            name = re.sub(r"[^\w.+-]+", "_", row.group)
            first = first_rows.setdefault(name.lower(), row)
            if first.group != row.group:
                raise InputError(f"{row.place}: group '{row.group}' clashes with '{first.group}': rename one of them")
            found.setdefault(name, []).append(number)
        return found

    def group_splits(self, stream: Stream, phase: str) -> list[EvaluationSplit]:
        """A phase's test images by group, shown as in its normal splits."""
        if not (groups := self.groups(phase)):
            return []
        shown = ImageSet.joined([stream.split(f"{phase}_{part}_normal").images for part in ("shortcut", "nonshortcut")])
        found = []
        for name, numbers in sorted(groups.items()):
            rows = torch.isin(shown.index, torch.tensor(numbers)).nonzero().flatten()
            found.append(EvaluationSplit(f"{phase}_group_{name}", phase, shown.take(rows)))
        return found

    def facts(self, table: str) -> dict[str, object]:
        """Where the images come from, and what their table says of all of them."""
        return {
            "source": f"{len(self.rows)} image files named in {table}",
            "content": digest([self.pictures.sha256, [_content(row) for row in self.rows]], length=64),
            "image_size": f"{self.size}x{self.size}",
        }

    def box_counts(self) -> dict[str, object]:
        boxes = Counter(f"{row.phase} {row.split}" for row in self.rows if row.box is not None)
        return {"boxes": dict(sorted(boxes.items()))} if boxes else {}

    def part(self, names: Sequence[str], phase: str, split: str) -> ImageSet:
        """The images of a phase in a split; ``names``: of the head's outputs, in order."""
        number_of = {name: number for number, name in enumerate(names)}
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
