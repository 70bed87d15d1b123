"""The whole demo in a fresh folder: 4 learners x 3 seeds, training, report and all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measuring import row

LIMIT = 180


def measure(short: bool) -> dict[str, Any]:
    assert not short, "the demo has one length"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "demo"
        begin = time.perf_counter()
        command = [sys.executable, "-m", "benchmarks.einstellung_command", "demo", "--out", str(out), "--json"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        took = time.perf_counter() - begin
        statuses = [json.loads(path.read_text()) for path in out.glob("*/*/status.json")]
    card = json.loads(done.stdout)
    effect = card["methods"]["scratch_t2"]["delta"]
    low, high = effect["ci95"]
    return {
        "rows": [
            row(
                f"`einstellung demo`, 4 learners x 3 seeds, {os.cpu_count()} cores",
                f"{took:.0f} s ({sum(status['seconds'] for status in statuses):.0f} seconds of workers in {len(statuses)} jobs)",
                f"at most {LIMIT} s",
                took <= LIMIT,
                seconds=took,
            ),
            row(
                "effect of the cue in it: Delta_S, mean over seeds",
                f"{effect['mean']:+.3f} (95 % {low:+.3f} to {high:+.3f})",
                "visible: above 0",
                low > 0,
            ),
        ]
    }
