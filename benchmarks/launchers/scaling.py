"""Launchers: the overhead of a job, and 1, 2 and 4 workers, by launcher.

Every launcher runs the same jobs in turn, from the first submission to the merged timeline. Ray's cluster is started before; the
workers of all launchers start inside. Each side of the overhead runs one job at a time.
"""

from __future__ import annotations

import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.launchers.constants import measure_constants
from benchmarks.launchers.silent import Silent
from benchmarks.measuring import ratios, row
from einstellung.experiments.study import prepare_study, run_study
from einstellung.results.config import build_config, merged
from einstellung.results.folder import ResultsFolder

WORKERS = (1, 2, 4)
BASE = {
    "name": "launchers",
    "stream": {"name": "shapes", "size": 12, "train_per_class": 40, "test_per_class": 2},
    "backbone": {"name": "resnet18", "width": 8},
    "training": {"batch_size": 8, "precision": "fp32", "kernels": "torch", "milestones": [], "threads": 1},
    "methods": ["scratch_t2"],
}
LAUNCHERS: dict[str, dict[str, Any]] = {
    "local": {"name": "local"},
    "Ray": {"name": "ray"},
    "Ray, results and data sent": {"name": "ray", "results": "driver", "data": "send"},
    "SLURM (submitit's local executor)": {"name": "slurm", "cluster": "local"},
}


def measure(short: bool = False) -> dict[str, Any]:
    missing = [package for package in ("ray", "submitit") if find_spec(package) is None]
    if missing:
        return {
            "rows": [
                row("launchers", f"not measured: {', '.join(missing)} is not installed (make test-launchers has it)")
            ]
        }
    return {"rows": _overheads(epochs=20, repeats=3) + _scaling(epochs=5, repeats=2) + measure_constants()}


def _overheads(epochs: int, repeats: int) -> list[dict[str, Any]]:
    """Whole jobs, one at a time: what each launcher takes, as a multiple of the local one in the same repeat."""
    seconds: dict[str, list[float]] = {name: [] for name in LAUNCHERS}
    names = list(LAUNCHERS)
    _timed("Ray", 1, 1, 1)  # starts its cluster
    for repeat in range(repeats):
        first = repeat % len(names)
        for name in (*names[first:], *names[:first]):
            seconds[name].append(_timed(name, 1, epochs, 2) / 2)
            print(f"  {name}: {seconds[name][-1]:.1f} s a job", file=sys.stderr, flush=True)
    length = median(seconds["local"])
    rows = []
    for name in names[1:]:
        found = ratios(seconds[name], seconds["local"])
        aimed = name.startswith("Ray")
        rows.append(
            row(
                f"wall time of 2 jobs of {length:.0f} s, one at a time, {name} / local",
                found.words(),
                "at most 1.10" if aimed else "no target",
                found.median <= 1.10 if aimed else None,
            )
        )
    return rows


def _scaling(epochs: int, repeats: int) -> list[dict[str, Any]]:
    """Four jobs with 1, 2 and 4 workers."""
    seconds: dict[tuple[str, int], list[float]] = {(name, count): [] for name in LAUNCHERS for count in WORKERS}
    for _ in range(repeats):
        for name, count in seconds:
            seconds[name, count].append(_timed(name, count, epochs, 4))
            print(f"  {name}, {count} workers: {seconds[name, count][-1]:.1f} s", file=sys.stderr, flush=True)
    return [
        row(
            f"4 jobs, {name}: speed-up with 2 and 4 workers over 1 (two cores)",
            "; ".join(
                f"{count}: {ratios(seconds[name, 1], seconds[name, count]).words()}" for count in WORKERS if count > 1
            ),
        )
        for name in LAUNCHERS
    ]


def _timed(name: str, workers: int, epochs: int, jobs: int) -> float:
    """Seconds for this many jobs, from the first submission to the last result."""
    values = merged(BASE, {"launcher": LAUNCHERS[name], "seeds": list(range(1, jobs + 1))})
    values = merged(values, {"training": {"epochs": [1, epochs]}})
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "study"
        prepared = prepare_study(build_config(values), out, about_to_run=True)
        with ResultsFolder(out).in_use():
            begin = time.perf_counter()
            run_study(prepared, out, workers, "a benchmark", make_display=lambda jobs: Silent())
            return time.perf_counter() - begin
