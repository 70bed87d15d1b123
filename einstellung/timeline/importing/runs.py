"""Method and seed by the names of runs."""

from __future__ import annotations

import re
from pathlib import Path

from einstellung.timeline.importing.options import Pattern

_USUAL = re.compile(r"(?P<method>.+?)[-_ ./]+(?:seed|Seed|SEED)[-_ =]?(?P<seed>-?[0-9]+)")
_PARENTS = 3


def names_above(path: Path) -> tuple[str, ...]:
    """Names of a file and its folders that may be a run's, the closest first.

    >>> names_above(Path("runs/sgd-seed1/tensorboard/events.out"))
    ('events', 'tensorboard', 'sgd-seed1', 'runs')
    """
    name = path.name.split(".")[0]
    return (name, *(parent.name for parent in list(path.absolute().parents)[:_PARENTS] if parent.name))


def method_and_seed(name: str, pattern: str | None) -> dict[str, str]:
    """What a run's name says, by a pattern or in the usual form.

    >>> method_and_seed("er_ace-seed3", None)
    {'method': 'er_ace', 'seed': '3'}
    >>> method_and_seed("3 of sgd", "{seed} of {method}")
    {'seed': '3', 'method': 'sgd'}
    """
    if pattern is not None:
        return Pattern(pattern, "acc").match(name) or {}
    found = _USUAL.fullmatch(name)
    return found.groupdict() if found else {}


def facts_of_names(names: tuple[str, ...], pattern: str | None) -> dict[str, str]:
    """The first of these names that says something."""
    return next((facts for name in names if (facts := method_and_seed(name, pattern))), {})
