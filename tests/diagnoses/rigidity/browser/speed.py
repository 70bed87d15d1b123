"""How long the browser's scoring takes: ``python -m tests.diagnoses.rigidity.browser.speed``.

A study of 20 methods with 5 seeds, 50 epochs and all splits, scored 300 times with other settings each.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.rigidity.browser_data import payload, script
from einstellung.timeline import KNOWN_SPLITS, Timeline

from .node import NODE, scored

TIMING = """
const [script, data] = process.argv.slice(1).map((file) => require("fs").readFileSync(file, "utf8"));
require("vm").runInThisContext(script);
const timed = (work) => {
  const start = performance.now();
  work();
  return performance.now() - start;
};
let scorer;
const created = timed(() => { scorer = createScorer(JSON.parse(data)); });
const call = (_, i) => timed(() => scorer.score({ tau: 0.3 + (i % 60) / 100, window: 1 + (i % 5) }));
const times = Array.from({ length: 300 }, call);
const median = (some) => [...some].sort((a, b) => a - b)[50].toFixed(1);
console.log(`created in ${created.toFixed(0)} ms; a score takes ${median(times.slice(0, 100))} ms (median of the first 100), ` +
  `${median(times.slice(200))} ms after 200`);
"""


def large_log(methods: int = 20, seeds: int = 5, epochs: int = 50) -> Timeline:
    rng = np.random.default_rng(0)
    at = np.arange(epochs + 1.0)
    parts = []
    for method in ["scratch_t2", *(f"method_{number}" for number in range(1, methods))]:
        for seed in range(1, seeds + 1):
            for phase in ["T2"] if method == "scratch_t2" else ["T1", "T2"]:
                for split in KNOWN_SPLITS:
                    level, rate = rng.uniform(0.3, 0.9), rng.uniform(0.1, 0.4)
                    acc = np.clip(level * (1 - np.exp(-rate * at)) + rng.normal(0, 0.01, len(at)), 0, 1)
                    key = {"method": method, "seed": seed, "phase": phase, "epoch": at, "split": split}
                    parts.append(
                        pd.DataFrame({**key, "acc": acc, "loss": 1 - acc, "n": 500, "acc_task": acc, "acc_within": acc})
                    )
    return Timeline(pd.concat(parts))


if __name__ == "__main__":
    evidence = Evidence(large_log())
    text = json.dumps(payload(evidence, scored(evidence, {})), allow_nan=False)
    print(
        f"{len(evidence.timeline.frame)} rows, {len(text) / 1e6:.2f} MB of data, {len(script().encode()) / 1e3:.1f} kB of script"
    )
    with tempfile.TemporaryDirectory() as folder:
        (code := Path(folder) / "script.js").write_text(script(), encoding="utf-8")
        (data := Path(folder) / "data.json").write_text(text, encoding="utf-8")
        subprocess.run([str(NODE), "-e", TIMING, str(code), str(data)], check=True)
