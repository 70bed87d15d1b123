"""The registry of everything that a configuration can name: learners, streams, cues, backbones."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from einstellung.errors import InputError

T = TypeVar("T")


_LONGEST_LIST = 140  # characters


def suggestion(name: str, known: Iterable[str]) -> str:
    """The closest known name as a question, or the list of known names.

    >>> suggestion("derp", ["sgd", "derpp"])
    "did you mean 'derpp'?"
    >>> suggestion("xyz", ["sgd", "derpp"])
    'there are: derpp, sgd'
    """
    known = sorted(known)
    if close := _closest(name.lower().replace("-", "_"), known) or _closest(name, known):
        return "did you mean " + " or ".join(f"'{one}'" for one in close) + "?"
    listed = ", ".join(known)
    if len(listed) > _LONGEST_LIST:
        listed = f"{listed[:_LONGEST_LIST].rpartition(', ')[0]}, …"
    return f"there are: {listed}"


def _closest(name: str, known: list[str]) -> list[str]:
    """The known names that are as similar as the most similar one, up to two.

    >>> _closest("resnet", ["resnet18", "resnet1d", "vit"])
    ['resnet18', 'resnet1d']
    """
    close = difflib.get_close_matches(name, known, n=2, cutoff=0.6)
    ratios = [difflib.SequenceMatcher(None, one, name).ratio() for one in close]
    return sorted(one for one, ratio in zip(close, ratios, strict=True) if ratio == ratios[0])


class Registry(Generic[T]):
    """Maps names to objects, with suggestions for misspelt names and entry points for other packages.

    Another package adds a learner by declaring an entry point in the group ``einstellung.learners``; it is imported when its
    name is first looked up.

    >>> shapes = Registry[int]("shape")
    >>> _ = shapes.add("square", 4)
    >>> shapes["square"]
    4
    >>> shapes["sqare"]
    Traceback (most recent call last):
    einstellung.errors.InputError: unknown shape 'sqare': did you mean 'square'?
    """

    def __init__(self, kind: str, group: str | None = None) -> None:
        self.kind = kind
        self.group = group
        self._entries: dict[str, T] = {}

    def add(self, name: str, entry: T) -> T:
        """Register ``entry``; a name that is already in use is an error."""
        if self._entries.get(name, entry) is not entry:
            raise ValueError(f"two {self.kind}s are named '{name}'")
        self._entries[name] = entry
        return entry

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator form of :meth:`add`."""
        return lambda entry: self.add(name, entry)

    def names(self) -> list[str]:
        return sorted({*self._entries, *self._entry_points()})

    def __getitem__(self, name: str) -> T:
        if name in self._entries:
            return self._entries[name]
        external = self._entry_points()
        if name in external:
            return self.add(name, external[name]())
        raise InputError(f"unknown {self.kind} '{name}': {suggestion(name, self.names())}")

    def __contains__(self, name: str) -> bool:
        return name in self._entries or name in self._entry_points()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def _entry_points(self) -> dict[str, Callable[[], T]]:
        if self.group is None:
            return {}
        return {point.name: point.load for point in entry_points(group=self.group)}
