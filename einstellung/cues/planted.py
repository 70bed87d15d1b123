"""What all planted cues have in common: which training inputs get them, and whether T1 has a habit."""

from __future__ import annotations

from typing import Any, Literal, Protocol, get_args

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.registry import Registry, suggestion

Habit = Literal["none", "same", "other"]


class Cue(Protocol):
    """A cue for batches of stored inputs [N, C, H, W]; ``index`` identifies an input in its data set.

    ``modality`` names the kind of inputs (images unless it has one). A cue may also have ``share_nsc`` and ``habit`` (see
    :class:`~einstellung.cues.patch.PatchCue`); one without them is on no other class and in no other phase. ``habit: other``
    needs a method ``other()`` that returns a different cue.
    """

    share: float

    def paint(self, images: Tensor, index: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """A copy of ``images`` with the cue in each of them."""
        ...

    def region(self, index: Tensor, height: int, width: int) -> Tensor:
        """Where :meth:`paint` without a generator puts the cue: bool [N, 1, H, W]."""
        ...

    def elsewhere(self) -> Cue:
        """The same cue displaced, without overlap with its usual place if there is room."""
        ...


cues: Registry[type[Cue]] = Registry("cue", group="einstellung.cues")


def cues_for(modality: str) -> list[str]:
    """The names of the cues for a kind of inputs.

    >>> cues_for("text")
    ['header', 'style', 'tag', 'tokens']
    """
    return [name for name in cues if modality == getattr(cues[name], "modality", "image")]


def check_shares(cue: Any) -> None:
    """Refuse shares outside 0..1 and unknown habits."""
    for key in ("share", "share_nsc"):
        if not 0 <= getattr(cue, key) <= 1:
            raise InputError(f"cue.{key} is {getattr(cue, key)}: it must lie between 0 and 1")
    if cue.habit not in get_args(Habit):
        raise InputError(f"cue.habit '{cue.habit}' is unknown: {suggestion(str(cue.habit), get_args(Habit))}")
