"""From a picture to a net's input: resize, centre crop, normalise.

Resizing and cropping produce bytes and normalisation starts from bytes, so that a watermark can be painted in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from einstellung.errors import InputError
from einstellung.sources.geometry import Geometry

_FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
Three = tuple[float, float, float]


@dataclass(frozen=True)
class Preprocessing:
    """``resize``: the shorter side before the crop of ``size`` x ``size``; ``mean`` and ``std`` for pixels in 0..1.

    ``squash``: resize both sides to ``resize``, whatever the aspect ratio.
    """

    size: int
    resize: int
    mean: Three
    std: Three
    interpolation: str = "bicubic"
    squash: bool = False

    def prepare(self, picture: Image.Image) -> Tensor:
        """uint8 [3, size, size].

        >>> one = Preprocessing(2, 4, (0, 0, 0), (1, 1, 1))
        >>> tuple(one.prepare(Image.new("RGB", (8, 16))).shape)
        (3, 2, 2)
        """
        width, height = picture.size
        resized = self.geometry.resized(height, width)[::-1]
        picture = picture.convert("RGB")
        if resized != picture.size:
            picture = picture.resize(resized, _FILTERS[self.interpolation])
        left, top = ((side - self.size) // 2 for side in resized)
        cropped = picture.crop((left, top, left + self.size, top + self.size))
        return torch.from_numpy(np.array(cropped).transpose(2, 0, 1).copy())

    @property
    def geometry(self) -> Geometry:
        return Geometry(self.size, self.resize, self.squash)

    def normalised(self, images: Tensor) -> Tensor:
        """uint8 [N, 3, H, W] as floats: (x / 255 - mean) / std."""
        mean, std = (torch.tensor(values).reshape(3, 1, 1) for values in (self.mean, self.std))
        return (images.float() / 255 - mean) / std

    def facts(self) -> dict[str, Any]:
        """The settings as plain values; ``squash`` only if it is set, so that digests of other nets do not change."""
        settings = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return settings if self.squash else {name: value for name, value in settings.items() if name != "squash"}


def preprocessing_from(settings: Mapping[str, Any], where: str) -> Preprocessing:
    """Preprocessing from a dictionary of settings; ``where`` prefixes error messages.

    >>> preprocessing_from({"size": 224, "mean": [0.5] * 3, "std": [0.5] * 3}, "mine").resize
    256
    """
    if unknown := sorted(settings.keys() - set(Preprocessing.__dataclass_fields__)):
        names = ", ".join(Preprocessing.__dataclass_fields__)
        raise InputError(f"{where}: preprocessing has no '{unknown[0]}'; it has {names}")
    try:
        size = int(settings["size"])
        resize = int(settings.get("resize", size * 256 // 224))
        mean, std = (_three(settings[name]) for name in ("mean", "std"))
    except KeyError as error:
        raise InputError(f"{where}: preprocessing lacks {error}; it needs size, mean and std") from None
    except (TypeError, ValueError):
        raise InputError(
            f"{where}: preprocessing needs whole numbers for size and resize, three numbers each for mean and std"
        ) from None
    interpolation = settings.get("interpolation", "bicubic")
    if interpolation not in _FILTERS:
        raise InputError(f"{where}: interpolation is '{interpolation}': give one of {', '.join(_FILTERS)}")
    if not 1 <= size <= resize or not min(std) > 0:
        raise InputError(
            f"{where}: preprocessing needs 1 <= size <= resize and std above 0, not {size}, {resize}, {std}"
        )
    if not isinstance(squash := settings.get("squash", False), bool):
        raise InputError(f"{where}: squash is {squash!r}: give True or False")
    return Preprocessing(size, resize, mean, std, interpolation, squash)


def _three(values: Any) -> Three:
    first, second, third = (float(value) for value in values)
    return first, second, third
