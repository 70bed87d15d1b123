"""The probes that a study or a command can name."""

from __future__ import annotations

from collections.abc import Sequence

from einstellung.errors import InputError
from einstellung.registry import suggestion

PROBES = ("cka", "calibration", "plasticity", "flips")


def known_probes(names: Sequence[str]) -> tuple[str, ...]:
    """The names, or an error about the first that is unknown or given twice.

    >>> known_probes(["cka", "flips"])
    ('cka', 'flips')
    >>> known_probes(["calibratoin"])
    Traceback (most recent call last):
    einstellung.errors.InputError: unknown probe 'calibratoin': did you mean 'calibration'?
    """
    for name in names:
        if name not in PROBES:
            raise InputError(f"unknown probe '{name}': {suggestion(name, PROBES)}")
        if list(names).count(name) > 1:
            raise InputError(f"probe '{name}' is named twice")
    return tuple(names)
