"""Which method is the baseline."""

from __future__ import annotations

from einstellung.errors import InputError
from einstellung.registry import suggestion
from einstellung.timeline import Timeline


def resolve_baseline(timeline: Timeline, asked: str | None, default: str) -> str | None:
    """The baseline's name as the timeline spells it (case is ignored); None if only the default is absent.

    A baseline that was asked for by name and is not there is an error: another one would answer another question.
    """
    wanted = asked if asked is not None else default
    if wanted in timeline.methods:
        return wanted
    alike = [method for method in timeline.methods if method.lower() == wanted.lower()]
    if len(alike) == 1:
        return alike[0]
    if len(alike) > 1:
        raise InputError(f"baseline '{wanted}' may be any of {', '.join(alike)}: write it exactly")
    if asked is not None:
        raise InputError(f"no baseline '{asked}' in the timeline: {suggestion(asked, timeline.methods)}")
    return None
