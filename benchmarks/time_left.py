"""Log a line for every finished piece of a long measurement, with the estimated time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable

from einstellung.experiments.progress import describe_duration


class TimeLeft:
    """Pieces by their weights: how much longer one takes than another, roughly.

    >>> clock = iter([0.0, 30.0]).__next__
    >>> TimeLeft([1, 1, 3], clock).after(1)
    '2 min 00 s'
    """

    def __init__(self, weights: Iterable[float], clock: Callable[[], float] = time.monotonic) -> None:
        self._total = sum(weights)
        self._done = 0.0
        self._clock = clock
        self._begin = clock()

    def after(self, weight: float) -> str:
        """The estimated time left at the current pace, after a piece of this weight."""
        self._done += weight
        return describe_duration((self._clock() - self._begin) * (self._total - self._done) / self._done)

    def log(self, weight: float, what: str) -> None:
        print(f"  {what}; about {self.after(weight)} left", file=sys.stderr, flush=True)
