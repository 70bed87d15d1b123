"""The whole demo in a fresh folder, including training and report, and whether its verdicts depend on seeds and kernels."""

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
from einstellung.diagnoses.reporting import diagnosis_of, evidence_of, score_evidence
from einstellung.results.config import build_config, read_preset
from einstellung.results.folder import ResultsFolder

LIMIT = 180
RUN = ("run", "--preset", "demo", "--sweep", "cue.habit=none,same")
HABITS = ("none", "same")
OTHER_SEEDS = (range(1, 9), range(9, 17), range(17, 25))

Words = Mapping[tuple[str, str], str]


def measure(short: bool) -> dict[str, Any]:
    assert not short, "the demo has one length"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "demo"
        begin = time.perf_counter()
        first = _sweep(("demo",), out)
        took = time.perf_counter() - begin
        statuses = [json.loads(path.read_text()) for path in out.rglob("status.json")]
        others = other_seeds(kept_runs() or Path(folder) / "seeds")
        others["torch's kernels"] = words(_sweep((*RUN, "--set", "training.kernels=torch"), Path(folder) / "torch"))
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


def kept_runs() -> Path | None:
    """The folder in which runs with other seeds are kept between calls, if the environment names one."""
    return Path(folder) if (folder := os.environ.get("EINSTELLUNG_DEMO_RUNS")) else None


def other_seeds(folder: Path) -> dict[str, Words]:
    """The verdicts for each set of seeds, from one study of all seeds per history."""
    seeds = [seed for some in OTHER_SEEDS for seed in some]
    methods = build_config(read_preset("demo")).methods
    cards = {}
    for habit in HABITS:
        out = folder / f"demo-{habit}"
        arguments = ("run", "--preset", "demo", "--set", f"cue.habit={habit}", "--seeds", ",".join(map(str, seeds)))
        _sweep(arguments, out)
        results = ResultsFolder(out)
        evidence, config = evidence_of(results), results.config()
        diagnosis = diagnosis_of(config, evidence.timeline.splits)
        for some in OTHER_SEEDS:
            own = evidence.only(methods, tuple(some))  # a kept folder may hold other runs
            cards[habit, some] = score_evidence(diagnosis, own, config.score).card.to_json()
    return {
        f"seeds {some[0]} to {some[-1]}": words(
            {"points": [{"value": habit, "methods": cards[habit, some]["methods"]} for habit in HABITS]}
        )
        for some in OTHER_SEEDS
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
