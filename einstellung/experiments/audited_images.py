"""The images that an audit uses: from a stream, a folder or arrays, with their labels and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from einstellung.classifiers.classifier import Classifier
from einstellung.classifiers.labelled import LabelledFiles, open_picture
from einstellung.classifiers.object_masks import find_mask, prepared_mask
from einstellung.errors import InputError
from einstellung.modalities import IMAGES
from einstellung.probes.audit.audit import FEWEST
from einstellung.probes.audit.windows import mask_of
from einstellung.registry import suggestion
from einstellung.sources.geometry import Box, Geometry
from einstellung.streams import ImageSet, Stream
from einstellung.streams.pixels import as_labels, as_masks, as_pixels

_NOT_TESTED_ON = {"train", "val"}  # parts of the names of splits


@dataclass(frozen=True)
class AuditedImages:
    """uint8 images [N, C, H, W] with their labels; see :class:`~einstellung.results.audit_files.AuditFile` for the names.

    ``stored_sizes``: height and width of the files, which ``geometry`` resized and cropped; None for images used as they are.
    ``objects``: bool [N, 1, H, W], where the place of the object to recognise is known.
    """

    images: Tensor
    labels: Tensor
    class_names: Mapping[int, str]
    image_names: tuple[str | int, ...] = ()
    file_sizes: tuple[int, ...] | None = None
    stored_sizes: tuple[tuple[int, int], ...] | None = None
    geometry: Geometry | None = None
    objects: Tensor | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Tensor) -> AuditedImages:
        places = rows.tolist()
        return replace(
            self,
            images=self.images[rows],
            objects=None if self.objects is None else self.objects[rows],
            labels=self.labels[rows],
            image_names=tuple(self.image_names[place] for place in places) if self.image_names else (),
            file_sizes=None if self.file_sizes is None else tuple(self.file_sizes[place] for place in places),
            stored_sizes=None if self.stored_sizes is None else tuple(self.stored_sizes[place] for place in places),
        )

    @property
    def stored_size(self) -> tuple[int, int] | None:
        """Height and width of the stored images; None where they differ."""
        if self.stored_sizes is None:
            return self.images.shape[-2], self.images.shape[-1]
        return self.stored_sizes[0] if len(set(self.stored_sizes)) == 1 else None

    def stored_box(self, row: int, box: Box | None) -> Box | None:
        """A box of an image, in pixels of its stored file."""
        if box is None or self.stored_sizes is None or self.geometry is None:
            return box
        return self.geometry.stored_box(box, *self.stored_sizes[row])

    def of_classes(self, wanted: Sequence[str]) -> AuditedImages:
        """The images of these classes, given by number or name."""
        present = sorted(set(self.labels.tolist()))
        numbers = {str(label): label for label in present} | {self.class_names[label]: label for label in present}
        for one in wanted:
            if one not in numbers:
                raise InputError(f"--classes names '{one}', but no image has this label: {suggestion(one, numbers)}")
        chosen = torch.tensor(sorted({numbers[one] for one in wanted}))
        return self.take(torch.isin(self.labels, chosen).nonzero().flatten())

    def at_most(self, count: int) -> AuditedImages:
        """About ``count`` evenly spaced images, proportional to class size (but as many per class as an audit needs)."""
        if len(self) <= count:
            return self
        kept = []
        for label in self.labels.unique():
            own = (self.labels == label).nonzero().flatten()
            some = max(min(FEWEST, len(own)), round(count * len(own) / len(self)))
            kept.append(own[torch.linspace(0, len(own) - 1, some).long()])
        return self.take(torch.cat(kept).sort().values)

    def check(self) -> None:
        """Refuse images in which nothing can be found."""
        if not len(self):
            raise InputError("there are no labelled images to audit: give --data and --labels")
        if (present := self.labels.unique()).numel() == 1:
            name = self.class_names[int(present[0])]
            raise InputError(
                f"all {len(self)} images belong to one class ('{name}'): give images of at least two classes"
            )


def images_of_stream(stream: Stream, splits: Sequence[str] = ()) -> AuditedImages:
    """The images of some splits, by default of the last phase's tests; each once, as in the first split that has it.

    By default they have their cue, unchanged: splits are named by their phase, where they are of one, and those of training and
    validation images are left out.
    """
    if stream.modality is not IMAGES:
        raise InputError(
            f"the stream '{stream.name}' holds {stream.modality.words.many}: an audit is for images, on which its windows and "
            "its null were measured"
        )
    known = {split.name: split for split in stream.splits}
    if unknown := [name for name in splits if name not in known]:
        raise InputError(f"--splits names '{unknown[0]}': {suggestion(unknown[0], known)}")
    last = stream.phases[-1].name
    tested = [
        split
        for split in stream.splits
        if split.phase == last and not split.held_out and not _NOT_TESTED_ON & set(split.name.split("_"))
    ]
    own = [known[name] for name in splits] or [one for one in tested if one.name.startswith(f"{last}_")] or tested
    seen: set[int] = set()
    parts = []
    for split in own:
        new = [row for row, index in enumerate(split.images.index.tolist()) if index not in seen]
        seen |= set(split.images.index.tolist())
        if new:
            parts.append(split.images.take(torch.tensor(new)))
    if not parts:
        raise InputError(f"the stream '{stream.name}' has no test images of its last phase, {last}, to audit")
    shown = ImageSet.joined(parts)
    _require_pictures(shown.images, f"the stream '{stream.name}'")
    names = dict(enumerate(stream.class_names))
    objects = None if stream.target_boxes is None else _inside(stream.target_boxes(shown), *shown.images.shape[-2:])
    return AuditedImages(shown.images, shown.labels, names, tuple(shown.index.tolist()), objects=objects)


def _inside(edges: Tensor, height: int, width: int) -> Tensor:
    """bool [N, 1, H, W] of rows of top, left, bottom, right."""
    top, left, bottom, right = edges.unbind(dim=1)
    sizes = torch.stack([top, left, bottom - top, right - left], dim=1).tolist()
    return mask_of(
        [(int(one), int(two), int(three), int(four)) for one, two, three, four in sizes], len(edges), height, width
    )


def is_pictures(images: Tensor) -> bool:
    """Whether inputs are images, not tables or features."""
    return images.dtype == torch.uint8 and images.ndim == 4 and images.shape[1] in (1, 3) and min(images.shape[2:]) > 3


def _require_pictures(images: Tensor, where: str) -> None:
    if not is_pictures(images):
        raise InputError(f"{where} feeds its nets {images.dtype} {list(images.shape[1:])}; only images can be audited")


def images_of_files(files: LabelledFiles, classifier: Classifier, masks: Path | None = None) -> AuditedImages:
    """Image files as a classifier prepares them (resized and cropped), not normalised; ``masks``: folder of object masks."""
    pixels, sizes, objects = [], [], []
    for file, name in zip(files.files, files.relative_names, strict=True):
        picture = open_picture(file)
        pixels.append(classifier.prepare(picture))
        sizes.append((picture.height, picture.width))
        if masks is not None:
            objects.append(prepared_mask(find_mask(masks, name), sizes[-1], classifier))
    return AuditedImages(
        torch.stack(pixels),
        torch.from_numpy(files.labels),
        {label: files.names.get(label, str(label)) for label in sorted(set(files.labels.tolist()))},
        files.relative_names,
        tuple(file.stat().st_size for file in files.files),
        tuple(sizes),
        classifier.preprocessing.geometry,
        torch.stack(objects) if objects else None,
    )


def images_of_arrays(
    images: Any, labels: Any, names: Mapping[int, str] | Sequence[str] | None, objects: Any = None
) -> AuditedImages:
    """Tensors or arrays, [N, C, H, W] or [N, H, W, C], bytes or numbers in 0..1; ``objects``: not 0 where the object is."""
    # one image [C, H, W] must not pass for C grey ones
    pixels = as_pixels(images, without_channels=False)
    classes = as_labels(labels, len(pixels))
    given = dict(enumerate(names)) if isinstance(names, Sequence) else dict(names or {})
    present = sorted(set(classes.tolist()))
    return AuditedImages(
        pixels,
        classes,
        {label: given.get(label, str(label)) for label in present},
        objects=None if objects is None else as_masks(objects, pixels),
    )
