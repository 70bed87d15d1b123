"""Stand-ins: synthetic inputs of the right shape, for data that a plan does not need to have.

A dry run needs the sizes and shapes of a study's data, not their content. While :func:`stand_ins` is active, a source that would
have to be downloaded, rendered or computed first may be replaced by synthetic inputs, and says so with :func:`assume`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_assumptions: ContextVar[list[str] | None] = ContextVar("assumptions", default=None)


@contextmanager
def stand_ins() -> Iterator[list[str]]:
    """Allow stand-ins within this block; the list collects what was assumed.

    >>> with stand_ins() as assumptions:
    ...     assume("images of 32x32"), assume("images of 32x32")
    (True, True)
    >>> assumptions, assume("nothing outside of a plan")
    (['images of 32x32'], False)
    """
    assumptions: list[str] = []
    token = _assumptions.set(assumptions)
    try:
        yield assumptions
    finally:
        _assumptions.reset(token)


def assume(what: str) -> bool:
    """Record an assumption, once; False where stand-ins are not allowed, so that the real data are needed."""
    assumptions = _assumptions.get()
    if assumptions is None:
        return False
    if what not in assumptions:
        assumptions.append(what)
    return True
