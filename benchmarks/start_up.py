"""How long ``einstellung --help`` takes, beside an interpreter that does nothing."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Any


def measure(repeats: int = 11) -> dict[str, Any]:
    commands = {
        "nothing": [sys.executable, "-c", "pass"],
        "help": [sys.executable, "-m", "benchmarks.einstellung_command", "--help"],
        "torch": [sys.executable, "-c", "import torch"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            begin = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times[name].append(time.perf_counter() - begin)
    middle = {name: statistics.median(values) for name, values in times.items()}
    return {
        "rows": [
            {
                "what": "`einstellung --help`, the whole process",
                "measured": f"{middle['help']:.2f} s (an empty interpreter {middle['nothing']:.2f} s, "
                f"`import torch` alone {middle['torch']:.2f} s; medians of {repeats})",
                "reach": "without importing torch",
            }
        ]
    }
