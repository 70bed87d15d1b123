"""The same comparison as :mod:`benchmarks.study` for the narrow net of the preset paper-fast, in wall time on all cores."""

from __future__ import annotations

from typing import Any

from benchmarks.comparison import Comparison
from benchmarks.study import compare, usable_stream
from einstellung.experiments.machine import usable_cores

# Superclasses: so that a few hundred steps end well above chance.
_EASIER = {"stream": {"labels": "superclass"}, "training": {"lr": 0.02}}
SHORT = Comparison("paper-fast", "wall", None, 12, 2, (2, 2), ((42,),), steps=8, repeats=5, changes=_EASIER)
LONG = Comparison(
    "paper-fast", "wall", 3.0, 50, 10, (4, 6), ((42, 123), (456, 789)), steps=20, repeats=9, changes=_EASIER
)


def measure(short: bool) -> dict[str, Any]:
    return compare(SHORT if short else LONG, usable_stream(), usable_cores())
