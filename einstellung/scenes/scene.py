"""Scenes as arrays: objects with their layout, and the jitter of camera and lamps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from einstellung.scenes.attributes import Codes

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scenes:
    """N scenes of K objects each.

    ``attributes`` [N, K, 4] are codes (:mod:`einstellung.scenes.attributes`), ``position`` [N, K, 2] the centres on the ground,
    ``rotation`` [N, K] angles about the vertical axis in radians, ``camera`` [N, 3] and ``lamps`` [N, 3, 3] (key, fill, back)
    offsets from their default positions.
    """

    attributes: Codes
    position: Floats
    rotation: Floats
    camera: Floats
    lamps: Floats

    def __len__(self) -> int:
        return len(self.attributes)

    def take(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_] | slice) -> Scenes:
        """Select scenes by row."""
        return Scenes(*(getattr(self, name)[rows] for name in Scenes.__dataclass_fields__))

    @staticmethod
    def joined(parts: Sequence[Scenes]) -> Scenes:
        """Concatenate several sets of scenes."""
        return Scenes(*(np.concatenate([getattr(one, name) for one in parts]) for name in Scenes.__dataclass_fields__))
