"""Texture augmentation, TXT Aug (Geirhos et al., 2019).

With probability p an image is shown as a stylised copy of itself, with the same shape and a texture that is independent of the
class: loss = CE(f(x~), y).
Needs: the type of shortcut, and stylised copies. They come from the stream, where that can change an image's texture, or
from ``folder``: one picture for every training image, named by the image's identity (for a folder of pictures its place in
the table, for CIFAR-100 its place in the file, both from 0): 0.png, 1.jpg. Differs from the Whac-A-Mole paper's code in that
half of the images are drawn in every epoch rather than taken from two concatenated sets, which gives the same share.
The method draws a copy's crop and flip itself; a copy has the planted cue where its image has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.learner import learners, option
from einstellung.learners.mitigation.augmented import ReplacingLearner, require_share
from einstellung.sources.pictures import read_pictures
from einstellung.streams.stream import ImageSet, Intervention, Phase

TEXTURE = "texture"


@dataclass(frozen=True)
class TXTAugOptions:
    folder: str | None = option(None, "null: the stream itself changes the texture")
    p: float = option(0.5, "the Whac-A-Mole paper's code: as many stylised images as others")

    def __post_init__(self) -> None:
        require_share("txt_aug", self, "p")


@dataclass(frozen=True)
class StylisedCopies:
    """Copies of images by their identities, as an intervention on texture."""

    identities: Tensor
    pixels: Tensor

    @classmethod
    def read(cls, files: dict[int, Path], phases: Sequence[Phase]) -> StylisedCopies:
        """The copies of all training images of some phases, at the size that these have."""
        identities = torch.unique(torch.cat([phase.train.index for phase in phases]))
        chosen = [files[identity] for identity in identities.tolist()]
        places = [f"learners.txt_aug.folder {file.parent}" for file in chosen]
        size = phases[0].train.images.shape[-1]
        return cls(identities, torch.from_numpy(read_pictures(chosen, size, places).images))

    def swapped(self, images: ImageSet, draws: torch.Generator) -> ImageSet:
        return replace(images, images=self.pixels[torch.searchsorted(self.identities, images.index)])


@learners.register("txt_aug")
class TextureAugmentation(ReplacingLearner):
    """Trains on images and stylised copies of them."""

    Options: ClassVar[type] = TXTAugOptions
    method: ClassVar[str] = "txt_aug"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        stream = self.context.presentation.stream
        self._texture: Intervention | None = stream.interventions.get(TEXTURE)
        self._files: dict[int, Path] | None = None
        if self.options.folder is not None:
            self._files = named_by_identity(Path(self.options.folder).expanduser(), stream.phases)
        elif self._texture is None:
            raise InputError(
                f"txt_aug needs stylised copies, but the stream '{stream.name}' cannot change an image's texture: give a "
                "folder of them as learners.txt_aug.folder, or remove the method"
            )

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        if self._files is not None:  # of earlier phases too: replay may bring their images back
            self._texture = StylisedCopies.read(self._files, (*self.context.earlier(phase), phase))

    def replaced(self, images: ImageSet) -> Tensor:
        assert self._texture is not None, "begin_phase comes before observe"
        swapped = self._texture.swapped(images, self.draws)
        return self.context.presentation.training(swapped, self.augmentation, self.cue)


def named_by_identity(folder: Path, phases: Sequence[Phase]) -> dict[int, Path]:
    """The file of every training image's copy; missing, duplicate and ambiguous ones are errors."""
    if not folder.is_dir():
        raise InputError(f"learners.txt_aug.folder is '{folder}': there is no such folder")
    files: dict[int, Path] = {}
    for file in sorted(folder.iterdir()):
        if file.is_file() and file.stem.isdecimal():
            first = files.setdefault(int(file.stem), file)
            if first != file:
                raise InputError(
                    f"learners.txt_aug.folder {folder}: '{first.name}' and '{file.name}' are copies of one image; keep one"
                )
    seen: dict[int, Tensor] = {}
    for phase in phases:
        for identity, image in zip(phase.train.index.tolist(), phase.train.images, strict=True):
            if not torch.equal(seen.setdefault(identity, image), image):
                raise InputError(
                    f"txt_aug: two images of the stream have the identity {identity}, so file names cannot distinguish them"
                )
    if missing := sorted(seen.keys() - files.keys()):
        raise InputError(
            f"learners.txt_aug.folder {folder} has no copy of {len(missing)} of {len(seen)} training images: '{missing[0]}.png' "
            "is the first; files are named by an image's identity"
        )
    return files
