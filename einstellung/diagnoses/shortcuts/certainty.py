"""What is certain: three seeds, the 95 % interval on its side, and p at most .05 after Holm's correction over methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from einstellung.diagnoses.wording import counted
from einstellung.metrics.statistics import holm

LEAST_SEEDS = 3
ALPHA = 0.05

K = TypeVar("K")


def why_uncertain(n: int, p_holm: float | None) -> str | None:
    """Why seeds and test do not suffice; None where they do.

    >>> why_uncertain(2, 0.001), why_uncertain(5, 0.16), why_uncertain(5, 0.01)
    ('2 seeds, at least 3 needed', 'p = 0.160 after Holm', None)
    """
    if n < LEAST_SEEDS:
        return f"{counted(n, 'seed')}, at least {LEAST_SEEDS} needed"
    if p_holm is None:
        return "no test: no variation between seeds"
    return f"p = {p_holm:.3f} after Holm" if p_holm > ALPHA else None


def holm_over(p_values: Mapping[K, float | None]) -> dict[K, float | None]:
    """Holm's correction over the methods of one question.

    >>> holm_over({"a": 0.01, "b": None, "c": 0.04})
    {'a': 0.02, 'b': None, 'c': 0.04}
    """
    return dict(zip(p_values, holm(list(p_values.values())), strict=True))
