"""One registry for everything that can be named in a configuration: learners, streams, cues, backbones."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from einstellung.errors import InputError

T = TypeVar("T")


def suggestion(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'derpp'?`` or the list of what there is.

    >>> suggestion("derp", ["sgd", "derpp"])
    "did you mean 'derpp'?"
    >>> suggestion("xyz", ["sgd", "derpp"])
    'there are: derpp, sgd'
    """
    known = sorted(known)
    close = difflib.get_close_matches(name.lower().replace("-", "_"), known, n=1, cutoff=0.6)
    close = close or difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(known)}"


class Registry(Generic[T]):
    """Names to things, with suggestions for a misspelt name and entry points for other packages.

    Another package adds a learner by declaring an entry point in the group ``einstellung.learners``; nothing is imported
    until its name is asked for.

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
        self._things: dict[str, T] = {}

    def add(self, name: str, thing: T) -> T:
        """Register ``thing``; a name taken by something else is an error, never a silent replacement."""
        if self._things.get(name, thing) is not thing:
            raise ValueError(f"two {self.kind}s are named '{name}'")
        self._things[name] = thing
        return thing

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator form of :meth:`add`."""
        return lambda thing: self.add(name, thing)

    def names(self) -> list[str]:
        return sorted({*self._things, *self._from_elsewhere()})

    def __getitem__(self, name: str) -> T:
        if name in self._things:
            return self._things[name]
        elsewhere = self._from_elsewhere()
        if name in elsewhere:
            return self.add(name, elsewhere[name]())
        raise InputError(f"unknown {self.kind} '{name}': {suggestion(name, self.names())}")

    def __contains__(self, name: str) -> bool:
        return name in self._things or name in self._from_elsewhere()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def _from_elsewhere(self) -> dict[str, Callable[[], T]]:
        if self.group is None:
            return {}
        return {point.name: point.load for point in entry_points(group=self.group)}
