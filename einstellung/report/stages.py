"""How far the writing of a report is: whoever waits for it may listen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int], object]  # what is done, its number from 1, and how many there are

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call ``listener`` at every stage within this block.

    >>> with listening(lambda *stage: print(*stage)):
    ...     announce("figure", 1, 12)
    figure 1 12
    >>> announce("figure", 2, 12)
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def announce(what: str, number: int = 1, total: int = 1) -> None:
    """Say what begins now; without a listener, nothing."""
    if (listener := _listener.get()) is not None:
        listener(what, number, total)
