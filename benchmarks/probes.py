"""What probes add to a study: the same command with and without them, report included, in core-seconds."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measuring import command_core_seconds, in_turn, ratios, row

PROBES = "probes=[cka,calibration,plasticity,flips]"
STUDY = ("--preset", "demo", "--methods", "scratch_t2,sgd,gpm", "--seeds", "42,123,456", "--workers", "1")
MOST = 0.10
REPEATS = 3


def measure(short: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        count = 0

        def run(*options: str) -> float:
            nonlocal count
            count += 1
            out = Path(folder) / str(count)
            command = [
                sys.executable,
                "-m",
                "benchmarks.einstellung_command",
                "run",
                *STUDY,
                *options,
                "--out",
                str(out),
            ]
            return command_core_seconds(command)

        took = in_turn({"with": lambda: run("--set", PROBES), "without": run}, 1 if short else REPEATS)
    return {"rows": [added_row(took["with"], took["without"])]}


def added_row(with_probes: list[float], without: list[float]) -> dict[str, Any]:
    """The added share of core-seconds, repeat by repeat.

    >>> added_row([21.0, 33.0], [20.0, 30.0])["measured"]
    '7.5 % (5.0 to 10.0, 2 times)'
    """
    added = ratios([100 * (one - other) for one, other in zip(with_probes, without, strict=True)], without)
    return row(
        "all four probes at the ends of phases: core-seconds added to a study of 9 runs of the demo's net, report included",
        added.words(1, "%"),
        f"at most {100 * MOST:.0f} %",
        added.median <= 100 * MOST,
        seconds=sorted(without)[len(without) // 2],
    )
