"""The images that an audit looks at: of a stream, of a folder, or as arrays, with their labels and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from einstellung.classifiers.classifier import Classifier
from einstellung.classifiers.labelled import LabelledFiles, open_picture
from einstellung.errors import InputError
from einstellung.probes.audit.audit import FEWEST
from einstellung.registry import suggestion
from einstellung.streams import ImageSet, Stream

_NOT_TESTED_ON = {"train", "val"}  # parts of the names of splits


@dataclass(frozen=True)
class AuditedImages:
    """uint8 images [N, C, H, W] with their labels; see :class:`~einstellung.results.audit_files.AuditFile` for the names."""

    images: Tensor
    labels: Tensor
    class_names: Mapping[int, str]
    image_names: tuple[str | int, ...] = ()
    file_sizes: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Tensor) -> AuditedImages:
        places = rows.tolist()
        return replace(
            self,
            images=self.images[rows],
            labels=self.labels[rows],
            image_names=tuple(self.image_names[place] for place in places) if self.image_names else (),
            file_sizes=None if self.file_sizes is None else tuple(self.file_sizes[place] for place in places),
        )

    def of_classes(self, wanted: Sequence[str]) -> AuditedImages:
        """The images of some classes, given by number or by name."""
        present = sorted(set(self.labels.tolist()))
        numbers = {str(label): label for label in present} | {self.class_names[label]: label for label in present}
        for one in wanted:
            if one not in numbers:
                raise InputError(
                    f"--classes names '{one}', which no image is labelled with: {suggestion(one, numbers)}"
                )
        chosen = torch.tensor(sorted({numbers[one] for one in wanted}))
        return self.take(torch.isin(self.labels, chosen).nonzero().flatten())

    def at_most(self, count: int) -> AuditedImages:
        """About ``count`` of the images, of every class its share (or as many as an audit needs), at equal distances."""
        if len(self) <= count:
            return self
        kept = []
        for label in self.labels.unique():
            own = (self.labels == label).nonzero().flatten()
            some = max(min(FEWEST, len(own)), round(count * len(own) / len(self)))
            kept.append(own[torch.linspace(0, len(own) - 1, some).long()])
        return self.take(torch.cat(kept).sort().values)

    def check(self) -> None:
        """Refuse images that nothing can be found in."""
        if not len(self):
            raise InputError("there are no labelled images to audit: give some with --data and --labels")
        if (present := self.labels.unique()).numel() == 1:
            name = self.class_names[int(present[0])]
            raise InputError(
                f"all {len(self)} images are of one class ('{name}'): a cue tells classes apart, give images of two or more"
            )


def images_of_stream(stream: Stream) -> AuditedImages:
    """The test images of the last phase, each once, as the first of its splits shows it: with its cue, not changed.

    Splits are named by their phase, where they are of one; splits of training and validation images are left out.
    """
    last = stream.phases[-1].name
    tested = [
        split
        for split in stream.splits
        if split.phase == last and not split.held_out and not _NOT_TESTED_ON & set(split.name.split("_"))
    ]
    own = [split for split in tested if split.name.startswith(f"{last}_")] or tested
    seen: set[int] = set()
    parts = []
    for split in own:
        new = [row for row, index in enumerate(split.images.index.tolist()) if index not in seen]
        seen |= set(split.images.index.tolist())
        if new:
            parts.append(split.images.take(torch.tensor(new)))
    if not parts:
        raise InputError(f"the stream '{stream.name}' has no test images of its last phase, {last}: nothing to audit")
    shown = ImageSet.joined(parts)
    _require_pictures(shown.images, f"the stream '{stream.name}'")
    names = dict(enumerate(stream.class_names))
    return AuditedImages(shown.images, shown.labels, names, tuple(shown.index.tolist()))


def is_pictures(images: Tensor) -> bool:
    """Whether inputs are images, not tables or features."""
    return images.dtype == torch.uint8 and images.ndim == 4 and images.shape[1] in (1, 3) and min(images.shape[2:]) > 3


def _require_pictures(images: Tensor, where: str) -> None:
    if not is_pictures(images):
        raise InputError(f"{where} gives nets {images.dtype} {list(images.shape[1:])}, which are no images to audit")


def images_of_files(files: LabelledFiles, classifier: Classifier) -> AuditedImages:
    """Picture files as a classifier prepares them (resized and cropped), not normalised."""
    pixels = torch.stack([classifier.prepare(open_picture(file)) for file in files.files])
    names = {label: files.names.get(label, str(label)) for label in sorted(set(files.labels.tolist()))}
    root = files.files[0].parent
    named = [file.name if file.parent == root else f"{file.parent.name}/{file.name}" for file in files.files]
    sizes = tuple(file.stat().st_size for file in files.files)
    return AuditedImages(pixels, torch.from_numpy(files.labels), names, tuple(named), sizes)


def images_of_arrays(images: Any, labels: Any, names: Mapping[int, str] | Sequence[str] | None) -> AuditedImages:
    """Tensors or arrays, [N, C, H, W] or [N, H, W, C], bytes or numbers in 0..1."""
    pixels = torch.as_tensor(np.asarray(images) if not isinstance(images, Tensor) else images.detach().cpu())
    if pixels.ndim != 4 or not {pixels.shape[1], pixels.shape[3]} & {1, 3}:
        raise InputError(f"images are {list(pixels.shape)}: give [N, C, H, W] or [N, H, W, C] with 1 or 3 channels")
    if pixels.shape[1] not in (1, 3):
        pixels = pixels.permute(0, 3, 1, 2)
    if pixels.is_floating_point():
        if not bool(torch.isfinite(pixels).all()) or float(pixels.min()) < 0 or float(pixels.max()) > 1:
            raise InputError("images are floats outside 0..1 (normalised already?): give bytes, or numbers from 0 to 1")
        pixels = (pixels * 255).round()
    elif pixels.dtype != torch.uint8 and (int(pixels.min()) < 0 or int(pixels.max()) > 255):
        raise InputError("images are whole numbers outside 0..255: give bytes, or numbers from 0 to 1")
    if labels is None:
        raise InputError("labels are missing: give the class number of every image")
    classes = torch.as_tensor(np.asarray(labels) if not isinstance(labels, Tensor) else labels.detach().cpu())
    if classes.is_floating_point() or classes.shape != (len(pixels),) or (len(classes) and int(classes.min()) < 0):
        raise InputError(
            f"labels are {classes.dtype} {list(classes.shape)}: give one class number for each of {len(pixels)} images"
        )
    given = dict(enumerate(names)) if isinstance(names, Sequence) else dict(names or {})
    present = sorted(set(classes.tolist()))
    return AuditedImages(
        pixels.to(torch.uint8).contiguous(), classes.long(), {label: given.get(label, str(label)) for label in present}
    )
