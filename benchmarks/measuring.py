"""Measure workloads in core-seconds: several times, alternating with what they are compared with, reported with their spread.

Shared machines are noisy and slow down for minutes at a time. So a ratio is taken within one repeat, where both sides met the
same conditions, and reported as the median with its spread over repeats.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Spread:
    """Of several values: the middle one, the lowest, the highest, and how many there were.

    >>> Spread.of([1.0, 4.0, 2.0]).words(1, "s")
    '2.0 s (1.0 to 4.0, 3 times)'
    >>> Spread.of([1.0]).words(1)
    '1.0 (once)'
    """

    median: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values), len(values))

    def words(self, digits: int = 2, unit: str = "") -> str:
        """The value as text: ``1.83 (1.79 to 1.88, 7 times)``."""
        middle = f"{self.median:,.{digits}f}{' ' if unit else ''}{unit}"
        if self.n == 1:
            return f"{middle} (once)"
        return f"{middle} ({self.low:,.{digits}f} to {self.high:,.{digits}f}, {self.n} times)"


def in_turn(measured: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    """The value returned by each workload, ``repeats`` times, alternating: every repeat starts with another one."""
    names = list(measured)
    found: dict[str, list[float]] = {name: [] for name in names}
    for repeat in range(repeats):
        first = repeat % len(names)
        for name in names[first:] + names[:first]:
            found[name].append(measured[name]())
    return found


def interleaved(works: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Core-seconds of each work, ``repeats`` times, in turn.

    Each is called once before as a warm-up: the first calls select and compile kernels.
    """
    for work in works.values():
        work()
    return in_turn({name: partial(own_core_seconds, work) for name, work in works.items()}, repeats)


def own_core_seconds(work: Callable[[], object]) -> float:
    """Core-seconds of this process alone, on a finer clock."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def core_seconds(work: Callable[[], object]) -> float:
    """Core-seconds of this process and of those of its children that ended meanwhile."""
    begin = _used()
    work()
    return _used() - begin


def command_core_seconds(command: Sequence[str]) -> float:
    """Core-seconds of a command and of every process below it; raises if it fails.

    Workers of a study are children of a fork server that outlives the command, so another process adopts and waits for them.
    """
    waiting = [sys.executable, "-m", "benchmarks.wait_for_all", *command]
    return core_seconds(lambda: subprocess.run(waiting, check=True, capture_output=True))


def peak_memory() -> int:
    """Peak memory of this process in bytes, since its program started.

    >>> 2**20 < peak_memory() < 2**36
    True
    """
    status = Path("/proc/self/status")
    if status.exists():  # the usual count begins with what the process that started this one held
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def wall_seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def ratios(numerator: Sequence[float], denominator: Sequence[float]) -> Spread:
    """The spread of the ratios taken repeat by repeat.

    >>> ratios([2.0, 9.0], [1.0, 3.0])
    Spread(median=2.5, low=2.0, high=3.0, n=2)
    """
    return Spread.of([one / other for one, other in zip(numerator, denominator, strict=True)])


def row(what: str, measured: str, reach: str = "no target", reached: bool | None = None, **data: Any) -> dict[str, Any]:
    """One line of the table; ``data`` stands beside it in the JSON. ``reached`` None: nothing to reach, or not
    here; ``undecided`` among the data says why not, if it is not the machine.
    """
    return {"what": what, "measured": measured, "reach": reach, "reached": reached, **data}


def _used() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)
