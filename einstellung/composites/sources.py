"""The sources of composites: targets and co-objects (cut-outs) and backgrounds, with two labels each.

Value v of a background or an object is common for class v of the targets. The alphabetically first label of a kind is value 0,
unless another one is in ``FIRST_LABELS`` or is given: ``urban`` is 0 and ``country`` 1, as in UrbanCars.
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
    """One source image.

    ``load`` returns [H, W, 4] for targets and objects, [H, W, 3] for backgrounds; ``digest`` identifies the content.
    """

    name: str
    kind: str
    value: int
    split: str
    load: Callable[[], Pixels]
    digest: Callable[[], str]


@dataclass(frozen=True)
class SourceSet:
    """All source images, the two labels of each kind (value 0, value 1), and ``words`` that describe their origin."""

    words: str
    labels: Mapping[str, tuple[str, str]]
    items: tuple[Source, ...]

    @cached_property
    def by_kind(self) -> Mapping[str, tuple[Source, ...]]:
        """Sorted by name, independent of the order on disk."""
        ordered = sorted(self.items, key=lambda source: source.name)
        return {kind: tuple(source for source in ordered if source.kind == kind) for kind in KINDS}

    def numbers(self, kind: str, split: str, value: int) -> npt.NDArray[np.int64]:
        """The indices in :attr:`by_kind` of the sources of a split with a value."""
        found = [n for n, source in enumerate(self.by_kind[kind]) if source.split == split and source.value == value]
        return np.array(found, dtype=np.int64)

    def words_of(self, kind: str, value: int) -> str:
        """A label with its kind.

        >>> SourceSet("", {"target": ("cat", "dog")}, ()).words_of("target", 1)
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
        raise InputError(f"{where}: composites need two labels of each kind, found {len(labels)} ({there})")
    for names in (first, FIRST_LABELS):
        wanted = [label for label in labels if label in names]
        if len(wanted) == 2:
            raise InputError(f"{where}: '{wanted[0]}' and '{wanted[1]}' cannot both come first")
        if wanted:
            return wanted[0], next(label for label in labels if label != wanted[0])
    return labels[0], labels[1]


def check_first_labels(first: Sequence[str], labels: Mapping[str, tuple[str, str]]) -> None:
    """Refuse a first label that does not exist."""
    known = sorted({label for pair in labels.values() for label in pair})
    for name in first:
        if name not in known:
            raise InputError(f"first_labels has '{name}', which is not a label: give one of {', '.join(known)}")
