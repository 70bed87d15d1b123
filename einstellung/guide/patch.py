"""The guide's patch injector: a magenta square at a place determined by the image's index."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from einstellung.cues import PatchCue
from einstellung.errors import InputError

Image = TypeVar("Image")


class MagentaPatchInjector:
    """Paints the patch into one image: the same index always gives the same place.

    It is the cue ``patch`` with ``place: per-index``, so it paints what a study with that cue paints.

    >>> image = np.zeros((32, 32, 3), dtype=np.uint8)
    >>> painted = MagentaPatchInjector().apply_patch(image, index=7)
    >>> int((painted == [255, 0, 255]).all(axis=-1).sum()), int(image.sum())
    (16, 0)
    """

    def __init__(self, patch_size: int = 4, patch_color: tuple[int, int, int] = (255, 0, 255)) -> None:
        self.cue = PatchCue(size=patch_size, colour=patch_color, place="per-index")

    def apply_patch(self, img: Image, index: int) -> Image:
        """A copy with the patch: a PIL image, a uint8 array [H, W, 3] or a uint8 tensor [3, H, W], the same kind back."""
        if isinstance(img, Tensor):
            return self._painted(img, index)  # type: ignore[return-value]
        if isinstance(img, np.ndarray):
            return self._array(img, index)  # type: ignore[return-value]
        return self._picture(img, index)  # type: ignore[no-any-return]

    def _painted(self, image: Tensor, index: int) -> Tensor:
        if image.dtype != torch.uint8 or image.ndim != 3 or image.shape[0] != 3:
            raise InputError(
                f"a tensor of {image.dtype} {list(image.shape)} was given: the patch is painted before normalisation, into "
                "uint8 [3, H, W]"
            )
        if isinstance(index, bool) or int(index) != index or index < 0:
            raise InputError(f"the index is {index!r}: give the image's number in its data set, from 0")
        return self.cue.paint(image.unsqueeze(0), torch.tensor([int(index)]))[0]

    def _array(self, image: np.ndarray[Any, Any], index: int) -> np.ndarray[Any, Any]:
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[-1] != 3:
            raise InputError(f"an array of {image.dtype} {list(image.shape)} was given: give uint8 [H, W, 3]")
        painted = self._painted(torch.from_numpy(np.array(image)).permute(2, 0, 1), index)
        return np.ascontiguousarray(painted.permute(1, 2, 0).numpy())

    def _picture(self, image: Any, index: int) -> Any:
        from PIL import Image as Pillow

        if not isinstance(image, Pillow.Image):
            raise InputError(f"a {type(image).__name__} was given: give a PIL image, an array or a tensor")
        if image.mode != "RGB":
            raise InputError(f"a PIL image of mode {image.mode} was given: convert it with .convert('RGB')")
        return Pillow.fromarray(self._array(np.asarray(image), index))
