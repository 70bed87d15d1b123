"""The time of ``einstellung --help``, compared with an empty interpreter."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

from benchmarks.measuring import Spread, in_turn, row, wall_seconds

COMMANDS = {
    "nothing": [sys.executable, "-c", "pass"],
    "help": [sys.executable, "-m", "benchmarks.einstellung_command", "--help"],
    "torch": [sys.executable, "-c", "import torch"],
}
IMPORTS_TORCH = "import sys; from einstellung.cli import main; sys.exit('torch' in sys.modules)"


def measure(short: bool) -> dict[str, Any]:
    clocks = {name: partial(wall_seconds, partial(_run, command)) for name, command in COMMANDS.items()}
    times = in_turn(clocks, 4 if short else 11)
    middle = {name: Spread.of(values).median for name, values in times.items()}
    without = subprocess.run([sys.executable, "-c", IMPORTS_TORCH]).returncode == 0
    return {
        "rows": [
            row(
                "`einstellung --help`, the whole process",
                f"{Spread.of(times['help']).words(2, 's')}; an empty interpreter {middle['nothing']:.2f} s, `import torch` "
                f"alone {middle['torch']:.2f} s",
                "without importing torch",
                without,
            )
        ],
        "seconds": times,
    }


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)
