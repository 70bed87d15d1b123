"""``python -m benchmarks [VERB ...]`` (``VERBS`` below): measure, and renew the tables in ``RESULTS.md``."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch starts

from benchmarks import attention, demo, memory, pipeline, score, start_up, step
from einstellung.experiments.provenance import code_hash, provenance
from einstellung.files import write_json, write_text

HERE = Path(__file__).parent
VERBS: dict[str, Callable[[], dict[str, Any]]] = {
    "step": step.measure,
    "pipeline": pipeline.measure,
    "memory": memory.measure,
    "attention": attention.measure,
    "score": score.measure,
    "start-up": start_up.measure,
    "demo": demo.measure,
}


def main(chosen: Sequence[str]) -> None:
    unknown = [verb for verb in chosen if verb not in VERBS]
    if unknown:
        sys.exit(f"benchmarks: unknown verb '{unknown[0]}'; there are: {', '.join(VERBS)}")
    file = HERE / "results.json"
    results: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    for verb in chosen or VERBS:
        print(f"measuring {verb} ...", file=sys.stderr, flush=True)
        results[verb] = {
            **VERBS[verb](),
            "command": f"python -m benchmarks {verb}",
            "measured": datetime.now(UTC).isoformat(timespec="minutes"),
            "code_hash": code_hash(),
            "machine": provenance("", {})["machine"],
        }
    write_json(file, results)
    write_text(HERE / "RESULTS.md", table(results))
    print((HERE / "RESULTS.md").read_text())


def table(results: dict[str, Any]) -> str:
    lines = [
        "# Benchmark results",
        "",
        "Renewed by `make bench`. Timings on shared machines are noisy: ratios were measured within one run, interleaved and",
        "repeated, and stand with their spread.",
    ]
    for verb, result in results.items():
        machine = result["machine"]
        lines += [
            "",
            f"## {verb}",
            "",
            f"`{result['command']}`, {result['measured']}, {machine['processor']}, {machine['cores']} cores, "
            f"Python {machine['python']}, code {result['code_hash']}",
            "",
            "| what | measured | to reach |",
            "| --- | --- | --- |",
            *(f"| {row['what']} | {row['measured']} | {row['reach']} |" for row in result["rows"]),
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(sys.argv[1:])
