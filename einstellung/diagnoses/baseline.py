"""Which method is the baseline."""

from __future__ import annotations

from collections.abc import Sequence

from einstellung.errors import InputError
from einstellung.registry import suggestion
from einstellung.timeline import Timeline


def alike(name: str, methods: Sequence[str]) -> list[str]:
    """The methods of that name; case matters only where one is written exactly so.

    >>> alike("scratch_t2", ["sgd", "Scratch_T2"]), alike("sgd", ["sgd", "SGD"])
    (['Scratch_T2'], ['sgd'])
    """
    return [name] if name in methods else [method for method in methods if method.lower() == name.lower()]


def resolve_baseline(timeline: Timeline, asked: str | None, default: str) -> str | None:
    """The baseline's name as the timeline spells it (case is ignored); None if only the default is absent.

    A baseline that was asked for by name and is not there is an error: another one would answer another question.
    """
    wanted = asked if asked is not None else default
    found = alike(wanted, timeline.methods)
    if len(found) == 1:
        return found[0]
    if len(found) > 1:
        raise InputError(f"baseline '{wanted}' matches {', '.join(found)}: give the exact name")
    if asked is not None:
        raise InputError(f"no baseline '{asked}' in the timeline: {suggestion(asked, timeline.methods)}")
    return None
