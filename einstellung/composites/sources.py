"""The three sources of composites: targets and co-objects (cut-outs), and backgrounds, of two labels each.

Value v of a background or an object goes with class v of the targets. Which label is value 0 is the alphabetically first one of
its kind, but for those in ``FIRST_LABELS`` and those that are named instead: ``urban`` is 0 and ``country`` 1, as in UrbanCars.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError

TARGET, BACKGROUND, OBJECT = KINDS = ("target", "background", "object")
SPLITS = ("train", "val", "test")
FIRST_LABELS = ("urban",)

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Source:
    """One picture that composites are made of.

    ``load`` gives [H, W, 4] for targets and objects, [H, W, 3] for backgrounds; ``digest`` stands for what is in it.
    """

    name: str
    kind: str
    value: int
    split: str
    load: Callable[[], Pixels]
    digest: Callable[[], str]


@dataclass(frozen=True)
class Sources:
    """All pictures there are, the labels of each kind (of value 0 and of value 1), and in words where they come from."""

    words: str
    labels: Mapping[str, tuple[str, str]]
    items: tuple[Source, ...]

    @cached_property
    def by_kind(self) -> Mapping[str, tuple[Source, ...]]:
        """In the order of their names, whatever order a disk has them in."""
        ordered = sorted(self.items, key=lambda source: source.name)
        return {kind: tuple(source for source in ordered if source.kind == kind) for kind in KINDS}

    def numbers(self, kind: str, split: str, value: int) -> npt.NDArray[np.int64]:
        """Which pictures of a kind (by their place in :attr:`by_kind`) belong to a split and have a value."""
        found = [n for n, source in enumerate(self.by_kind[kind]) if source.split == split and source.value == value]
        return np.array(found, dtype=np.int64)

    def words_of(self, kind: str, value: int) -> str:
        """A label with its kind.

        >>> Sources("", {"target": ("cat", "dog")}, ()).words_of("target", 1)
        'dog targets'
        """
        return f"{self.labels[kind][value]} {kind}s"


def ordered_labels(found: Sequence[str], first: Sequence[str], where: str) -> tuple[str, str]:
    """The two labels of a kind, that of value 0 first.

    >>> ordered_labels(["country", "urban"], (), "backgrounds")
    ('urban', 'country')
    >>> ordered_labels(["cat", "dog"], ("dog",), "targets")
    ('dog', 'cat')
    """
    labels = sorted(set(found))
    if len(labels) != 2:
        there = ", ".join(labels[:5]) or "none"
        raise InputError(f"{where}: composites have two labels of each kind, here are {len(labels)} ({there})")
    for names in (first, FIRST_LABELS):
        wanted = [label for label in labels if label in names]
        if len(wanted) == 2:
            raise InputError(f"{where}: '{wanted[0]}' and '{wanted[1]}' cannot both come first")
        if wanted:
            return wanted[0], next(label for label in labels if label != wanted[0])
    return labels[0], labels[1]


def check_first(first: Sequence[str], labels: Mapping[str, tuple[str, str]]) -> None:
    """Refuse a name among those that should come first which is no label at all."""
    known = sorted({label for pair in labels.values() for label in pair})
    for name in first:
        if name not in known:
            raise InputError(f"first_labels names '{name}', which is no label here: there are {', '.join(known)}")
