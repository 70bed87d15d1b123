"""What probes add to a study, in core-seconds, report included.

A study is run, then the same command is repeated on copies of its folder, with and without probes: finished runs are reused, so
the difference is what probes add. Training twice would compare two minutes that differ by more than that on a busy machine.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring import Spread, command_core_seconds, in_turn, ratios, row

PROBES = "probes=[cka,calibration,plasticity,flips]"
STUDY = ("--preset", "demo", "--methods", "scratch_t2,sgd,gpm", "--seeds", "42,123,456", "--workers", "1")
MOST = 0.10
REPEATS = 3


def measure(short: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "study"

        def run(*options: str, out: Path = study) -> float:
            command = [sys.executable, "-m", "benchmarks.einstellung_command", "run", *STUDY, *options]
            return command_core_seconds([*command, "--out", str(out)])

        def again(*options: str) -> float:
            copy = Path(folder) / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(study, copy)
            return run(*options, out=copy)

        def anew() -> float:
            shutil.rmtree(study, ignore_errors=True)
            return run()

        repeats = 1 if short else REPEATS
        took = in_turn({"study": anew, "with": lambda: again("--set", PROBES), "without": again}, repeats)
    return {"rows": [added_row(took["with"], took["without"], took["study"])]}


def added_row(with_probes: Sequence[float], without: Sequence[float], study: Sequence[float]) -> dict[str, Any]:
    """The added share of the study's core-seconds, repeat by repeat.

    >>> added_row([10.0, 11.0], [9.0, 8.0], [20.0, 30.0])["measured"]
    '7.5 % (5.0 to 10.0, 2 times); 2.0 core-seconds'
    """
    extra = [one - other for one, other in zip(with_probes, without, strict=True)]
    added, seconds = ratios([100 * one for one in extra], study), Spread.of(extra)
    return row(
        "all four probes at the ends of phases: core-seconds added to a study of 9 runs of the demo's net, report included",
        f"{added.words(1, '%')}; {seconds.median:.1f} core-seconds",
        f"at most {100 * MOST:.0f} %",
        added.median <= 100 * MOST,
        seconds=Spread.of(study).median,
        added_seconds=seconds.median,
    )
