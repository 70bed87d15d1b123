"""Scaling with workers, threads and seeds.

Workers are processes that train at the same time, each with its own net; timing starts when all are ready, and none stops
before all are timed. The cost per seed is that of small studies through our launcher, everything included.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.comparison import counted
from benchmarks.measuring import ratios, row
from benchmarks.sides import asked
from benchmarks.time_left import TimeLeft
from einstellung.experiments.assembly import resolve
from einstellung.experiments.machine import usable_cores
from einstellung.experiments.throughput import WorkerPool
from einstellung.results.config import build_config, merged, read_preset

Arrangement = tuple[int, int]  # workers, threads of each
ONE: Arrangement = (1, 1)
NARROW: tuple[Arrangement, ...] = (ONE, (2, 1), (4, 1), (1, 2))
WIDE: tuple[Arrangement, ...] = ((1, 2), (2, 1))
SEEDS = (1, 2, 4, 8)
_STARTING = 6  # what a study costs whatever its seeds, in seeds of the small study, roughly


def measure(short: bool) -> dict[str, Any]:
    cores = usable_cores()
    narrow = throughputs("paper-fast", NARROW, repeats=3 if short else 9, budget=0.5 if short else 3.0)
    wide = throughputs("paper", WIDE, repeats=2 if short else 5, budget=1.2 if short else 10.0)
    small = (6, (1, 1)) if short else (40, (3, 4))
    seeds = costs_by_seeds(*small, repeats=1 if short else 3, cores=cores)
    return {
        "rows": [
            *(_worker_row(narrow, arrangement, cores) for arrangement in NARROW if arrangement != ONE),
            _wide_row(wide, cores),
            *(_seeds_row(number, found, cores) for number, found in seeds.items()),
        ],
        "images_per_second": {
            width: {_words(arrangement): rates for arrangement, rates in found.items()}
            for width, found in (("narrow", narrow), ("width 64", wide))
        },
        "seeds": {str(number): found for number, found in seeds.items()},
    }


def throughputs(
    preset: str, arrangements: Sequence[Arrangement], repeats: int, budget: float
) -> dict[Arrangement, list[float]]:
    """Training images per second of all workers together, ``repeats`` times in turn, each for about ``budget`` seconds."""
    config = resolve(build_config(merged(read_preset(preset), {"stream": _images(20, 4), "methods": ["sgd"]})))
    rates: dict[Arrangement, list[float]] = {arrangement: [] for arrangement in arrangements}
    with WorkerPool(config) as pool:
        for repeat in range(repeats):
            print(f"  {preset}: {repeat + 1} of {repeats}", file=sys.stderr, flush=True)
            first = repeat % len(arrangements)
            for workers, threads in (*arrangements[first:], *arrangements[:first]):
                rate = pool.measure(threads, workers, budget).throughput.training
                rates[workers, threads].append(workers * rate)
    return rates


def costs_by_seeds(
    per_class: int, epochs: tuple[int, int], repeats: int, cores: int
) -> dict[int, dict[str, list[float]]]:
    """Wall and core-seconds of small studies per seed, by number of seeds; upwards and downwards in turn."""
    values = merged(
        read_preset("paper-fast"),
        {
            "stream": _images(per_class, 2),
            "training": {"epochs": list(epochs), "milestones": [], "threads": 1},
            "methods": ["scratch_t2", "sgd", "ewc_on"],
            # few images make a coarse Fisher information; a weak penalty costs as much as a strong one and stays finite
            "learners": {"ewc_on": {"fisher_images": 16, "e_lambda": 0.01}},
        },
    )
    found: dict[int, dict[str, list[float]]] = {number: {"wall": [], "core": []} for number in SEEDS}
    left = TimeLeft(_STARTING + number for number in SEEDS for _ in range(repeats))
    for repeat in range(repeats):
        for number in SEEDS if repeat % 2 == 0 else reversed(SEEDS):
            with tempfile.TemporaryDirectory() as place:
                some = merged(values, {"seeds": list(range(1, number + 1))})
                cost = asked("study", values=some, out=str(Path(place) / "study"), workers=cores)
            left.log(_STARTING + number, f"a study with {counted(number, 'seed')}: {cost['wall']:.1f} s")
            for clock, seconds in cost.items():
                found[number][clock].append(seconds / number)
    return found


def _images(per_class: int, test_per_class: int) -> dict[str, Any]:
    """Drawn images of CIFAR's size: no data set is needed, and loading one is not part of the measurement."""
    return {"name": "shapes", "train_per_class": per_class, "test_per_class": test_per_class}


def _worker_row(rates: dict[Arrangement, list[float]], arrangement: Arrangement, cores: int) -> dict[str, Any]:
    gain = ratios(rates[arrangement], rates[ONE])
    aimed = arrangement == (2, 1)
    return row(
        f"ResNet-18 width 8, batches of 32, {cores} cores: training images per second, {_words(arrangement)} / {_words(ONE)}",
        f"{gain.words()}; {median(rates[arrangement]):,.0f} / {median(rates[ONE]):,.0f} images/s",
        "at least 1.8" if aimed else "no target",
        gain.median >= 1.8 if aimed and cores >= 2 else None,
    )


def _wide_row(rates: dict[Arrangement, list[float]], cores: int) -> dict[str, Any]:
    one, two = WIDE
    return row(
        f"ResNet-18 width 64, batches of 32, {cores} cores: training images per second, {_words(two)} / {_words(one)}",
        f"{ratios(rates[two], rates[one]).words()}; {median(rates[two]):,.0f} / {median(rates[one]):,.0f} images/s",
    )


def _seeds_row(number: int, costs: dict[str, list[float]], cores: int) -> dict[str, Any]:
    return row(
        f"a small study (width 8, 3 methods) with {counted(number, 'seed')} on {cores} cores: cost per seed",
        f"{median(costs['wall']):.1f} s, {median(costs['core']):.1f} core-seconds "
        f"(wall {min(costs['wall']):.1f} to {max(costs['wall']):.1f}, {len(costs['wall'])} times)",
    )


def _words(arrangement: Arrangement) -> str:
    """
    >>> _words((2, 1))
    '2 workers x 1 thread'
    """
    workers, threads = arrangement
    return f"{counted(workers, 'worker')} x {counted(threads, 'thread')}"
