"""A square patch of one colour: the planted cue of the two-phase protocol."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from einstellung.cues.planted import Cue, Habit, check_shares, cues
from einstellung.errors import InputError
from einstellung.randomness import uniform_by_index
from einstellung.registry import suggestion

CORNERS = ("top-left", "top-right", "bottom-left", "bottom-right")
PLACES = (*CORNERS, "per-index", "random")
__all__ = ["Cue", "Habit", "PatchCue", "cues"]


@cues.register("patch")
@dataclass(frozen=True)
class PatchCue:
    """A ``size`` x ``size`` square of ``colour``.

    ``place`` is a corner, a fixed ``(row, col)`` of its top-left pixel, ``per-index`` (a place determined by the image's
    index), or ``random`` (as ``per-index`` in evaluation, and a new place at every presentation in training, where a
    generator is given). ``opacity`` blends it with the image; ``share`` is the exact share of the cue classes' training images
    that get it, ``share_nsc`` that of T2's other classes (equal shares: the cue carries no information about the label).

    ``habit``: whether a cue predicts labels in T1 too. ``same``: all images of half of T1's classes have this cue; ``other``:
    they have another one, of the inverted colour on the opposite side.

    >>> white = torch.full((1, 3, 32, 32), 255, dtype=torch.uint8)
    >>> painted = PatchCue().paint(white, torch.tensor([0]))
    >>> painted[0, :, 0, 0].tolist(), painted[0, :, 4, 4].tolist()
    ([255, 0, 255], [255, 255, 255])
    """

    size: int = 4
    colour: tuple[int, int, int] = (255, 0, 255)
    place: str | tuple[int, int] = "top-left"
    opacity: float = 1.0
    share: float = 1.0
    share_nsc: float = 0.0
    habit: Habit = "none"

    def __post_init__(self) -> None:
        if isinstance(self.place, list):
            object.__setattr__(self, "place", tuple(self.place))
        object.__setattr__(self, "colour", tuple(self.colour))
        if self.size < 1:
            raise InputError(f"cue.size is {self.size}: it must be at least 1 pixel")
        if len(self.colour) != 3 or any(not 0 <= value <= 255 for value in self.colour):
            raise InputError(f"cue.colour is {list(self.colour)}: give three numbers from 0 to 255")
        if not 0 < self.opacity <= 1:
            raise InputError(f"cue.opacity is {self.opacity}: it must be above 0 and at most 1")
        check_shares(self)
        if isinstance(self.place, str):
            if self.place not in PLACES:
                raise InputError(
                    f"cue.place '{self.place}' is unknown: {suggestion(self.place, PLACES)}, or [row, col]"
                )
        elif len(self.place) != 2 or any(value < 0 for value in self.place):
            raise InputError(f"cue.place is {list(self.place)}: give [row, col] of the top-left pixel, both from 0")

    def paint(self, images: Tensor, index: Tensor, generator: torch.Generator | None = None) -> Tensor:
        height, width = images.shape[-2:]
        rows, cols = self._corner(index, height, width, generator)
        region = _square(rows, cols, self.size, height, width)
        colour = torch.tensor(self.colour, dtype=torch.float32).view(1, 3, 1, 1)
        if self.opacity == 1.0:
            blended = colour.to(torch.uint8).expand_as(images)
        else:
            blended = (
                (images.float() * (1 - self.opacity) + colour * self.opacity).round().clamp(0, 255).to(torch.uint8)
            )
        return torch.where(region, blended, images)

    def region(self, index: Tensor, height: int, width: int) -> Tensor:
        rows, cols = self._corner(index, height, width, None)
        return _square(rows, cols, self.size, height, width)

    def elsewhere(self) -> PatchCue:
        """The same patch mirrored through the centre of the image, e.g. in the opposite corner.

        If that overlaps with the usual place, the patch goes to the farthest corner.

        >>> PatchCue(size=2).elsewhere().region(torch.tensor([0]), 4, 4)[0, 0].int().tolist()
        [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
        """
        return DisplacedPatch(**asdict(self))

    def other(self) -> PatchCue:
        """A clearly different cue: the inverted colour, on the opposite side of the image.

        >>> PatchCue().other().colour
        (0, 255, 0)
        """
        red, green, blue = self.colour
        return DisplacedPatch(**{**asdict(self), "colour": (255 - red, 255 - green, 255 - blue)})

    def _corner(
        self, index: Tensor, height: int, width: int, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        """Row and column of the top-left pixel, per image."""
        last_row, last_col = height - self.size, width - self.size
        if last_row < 0 or last_col < 0:
            raise InputError(f"cue.size {self.size} does not fit into images of {height}x{width}")
        count = len(index)
        if self.place == "random" and generator is not None:
            drawn = torch.rand(2, count, generator=generator, dtype=torch.float64)
            return (drawn[0] * (last_row + 1)).long(), (drawn[1] * (last_col + 1)).long()
        if self.place in ("per-index", "random"):
            return (
                (uniform_by_index(index, salt=1) * (last_row + 1)).long(),
                (uniform_by_index(index, salt=2) * (last_col + 1)).long(),
            )
        if isinstance(self.place, str):
            row = last_row if self.place.startswith("bottom") else 0
            col = last_col if self.place.endswith("right") else 0
        else:
            row, col = self.place
            if row > last_row or col > last_col:
                raise InputError(
                    f"cue.place [{row}, {col}] puts a {self.size}x{self.size} patch outside images of {height}x{width}"
                )
        return torch.full((count,), row), torch.full((count,), col)


class DisplacedPatch(PatchCue):
    """A patch on the opposite side of the image from its ``place``."""

    def _corner(
        self, index: Tensor, height: int, width: int, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        rows, cols = super()._corner(index, height, width, generator)
        last_row, last_col = height - self.size, width - self.size
        touches = ((last_row - 2 * rows).abs() < self.size) & ((last_col - 2 * cols).abs() < self.size)
        return (
            torch.where(touches, _far_end(rows, last_row), last_row - rows),
            torch.where(touches, _far_end(cols, last_col), last_col - cols),
        )


def _far_end(start: Tensor, last: int) -> Tensor:
    return torch.where(2 * start < last, last, 0)


def _square(rows: Tensor, cols: Tensor, size: int, height: int, width: int) -> Tensor:
    y = torch.arange(height).view(1, 1, height, 1)
    x = torch.arange(width).view(1, 1, 1, width)
    rows, cols = rows.view(-1, 1, 1, 1), cols.view(-1, 1, 1, 1)
    return (y >= rows) & (y < rows + size) & (x >= cols) & (x < cols + size)
