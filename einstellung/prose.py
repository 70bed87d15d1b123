"""Lists as a sentence says them."""

from __future__ import annotations

from collections.abc import Iterable


def join(names: Iterable[str]) -> str:
    """A list as in English prose.

    >>> join(["a"]), join(["a", "b"]), join(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    names = list(names)
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1] if names else "none"
