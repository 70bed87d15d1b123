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


def measure() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "demo"
        begin = time.perf_counter()
        command = [sys.executable, "-m", "benchmarks.einstellung_command", "demo", "--out", str(out), "--json"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        took = time.perf_counter() - begin
        statuses = [json.loads(path.read_text()) for path in out.glob("*/*/status.json")]
    card = json.loads(done.stdout)
    baseline = card["methods"]["scratch_t2"]["delta"]
    return {
        "rows": [
            {
                "what": f"`einstellung demo`, 4 learners x 3 seeds, {os.cpu_count()} cores",
                "measured": f"{took:.0f} s ({sum(status['seconds'] for status in statuses):.0f} core-seconds in "
                f"{len(statuses)} jobs)",
                "reach": "at most 180 s",
            },
            {
                "what": "effect of the cue in it: Delta_S, mean over seeds",
                "measured": f"{baseline['mean']:+.3f} (95 % {baseline['ci95'][0]:+.3f} to {baseline['ci95'][1]:+.3f})",
                "reach": "visible",
            },
        ]
    }
