"""The whole demo in a fresh folder, training, report and all; and whether its words depend on seeds and kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.measuring import row

LIMIT = 180
RUN = ("run", "--preset", "demo", "--sweep", "cue.habit=none,same")
OTHERS = {
    "seeds 1 to 8": (*RUN, "--seeds", "1,2,3,4,5,6,7,8"),
    "seeds 9 to 16": (*RUN, "--seeds", "9,10,11,12,13,14,15,16"),
    "seeds 17 to 24": (*RUN, "--seeds", "17,18,19,20,21,22,23,24"),
    "torch's kernels": (*RUN, "--set", "training.kernels=torch"),
}

Words = Mapping[tuple[str, str], str]


def measure(short: bool) -> dict[str, Any]:
    assert not short, "the demo has one length"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "demo"
        begin = time.perf_counter()
        first = _sweep(("demo",), out)
        took = time.perf_counter() - begin
        statuses = [json.loads(path.read_text()) for path in out.rglob("status.json")]
        others = {name: words(_sweep(arguments, Path(folder) / name)) for name, arguments in OTHERS.items()}
    own = words(first)
    return {
        "rows": [
            row(
                f"`einstellung demo`, 2 learners x 8 seeds x 2 histories, {os.cpu_count()} cores",
                f"{took:.0f} s ({sum(status['seconds'] for status in statuses):.0f} seconds of workers in {len(statuses)} jobs)",
                f"at most {LIMIT} s",
                took <= LIMIT,
                seconds=took,
            ),
            row("what it says", _listed(own), "no target", None),
            *(
                row(
                    f"with {name}", "the same words" if found == own else _listed(found), "the same words", found == own
                )
                for name, found in others.items()
            ),
        ]
    }


def _sweep(arguments: tuple[str, ...], out: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.einstellung_command", *arguments, "--out", str(out), "--json"]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def words(sweep: Mapping[str, Any]) -> Words:
    """The pattern of every method after every history.

    >>> words({"points": [{"value": "same", "methods": {"gpm": {"pattern": "red-flag"}, "scratch_t2": {"pattern": None}}}]})
    {('same', 'gpm'): 'red-flag'}
    """
    return {
        (point["value"], method): record["pattern"]
        for point in sweep["points"]
        for method, record in point["methods"].items()
        if record["pattern"] is not None
    }


def _listed(found: Words) -> str:
    return "; ".join(f"{method}, habit {habit}: {pattern}" for (habit, method), pattern in found.items())
