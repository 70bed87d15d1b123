"""``einstellung score --json`` on 1,000 runs x 50 epochs x 6 splits, as a user types it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measuring import Spread, row, wall_seconds

SPLITS = (
    "T1_all",
    "T2_shortcut_normal",
    "T2_shortcut_masked",
    "T2_nonshortcut_normal",
    "T2_val",
    "T2_shortcut_clean",
)
STUDIES = ((10, 100), (4, 250))  # methods, seeds
LIMIT = 3.0


def measure(short: bool) -> dict[str, Any]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for methods, seeds in STUDIES:
            path = Path(folder) / f"{methods}x{seeds}" / "timeline.csv"
            path.parent.mkdir()
            frame = timeline(methods, seeds)
            frame.to_csv(path, index=False)
            command = [sys.executable, "-m", "benchmarks.einstellung_command", "score", str(path), "--json"]
            times = [wall_seconds(partial(_run, command)) for _ in range(2 if short else 7)]
            took = Spread.of(times)
            rows.append(
                row(
                    f"`einstellung score --json`, {methods} methods x {seeds} seeds, {len(frame):,} rows",
                    took.words(2, "s"),
                    f"at most {LIMIT:g} s",
                    took.median <= LIMIT,
                    seconds=times,
                )
            )
    return {"rows": rows}


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)


def timeline(methods: int, seeds: int, epochs: int = 50) -> pd.DataFrame:
    """Curves that rise at another speed for every method, with noise."""
    draws = np.random.default_rng(0)
    names = ["scratch_t2", *(f"method_{number}" for number in range(1, methods))]
    grid = pd.MultiIndex.from_product(
        [names, range(seeds), range(1, epochs + 1), SPLITS], names=["method", "seed", "epoch", "split"]
    )
    frame = grid.to_frame(index=False)
    speed = frame.method.map({name: 8 + 2 * number for number, name in enumerate(names)})
    acc = 0.85 * (1 - np.exp(-frame.epoch / speed)) + draws.normal(0, 0.01, len(frame))
    return frame.assign(phase="T2", acc=acc.clip(0, 1).round(4), loss=1.0, n=500)
