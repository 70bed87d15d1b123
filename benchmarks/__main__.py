"""``python -m benchmarks [VERB ...] [--short]``: measure, and update the tables in ``RESULTS.md``.

Without a verb, all are run; ``--short`` skips those without a short form.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch starts

from benchmarks.peers.places import remember_places
from benchmarks.table import as_markdown
from einstellung.errors import InputError
from einstellung.files import write_json, write_text
from einstellung.registry import suggestion
from einstellung.results.provenance import code_hash, provenance

HERE = Path(__file__).parent
VERBS = {
    "step": "benchmarks.step",
    "kernels": "benchmarks.kernels",
    "study": "benchmarks.study",
    "study-narrow": "benchmarks.study_narrow",
    "scaling": "benchmarks.scaling",
    "launchers": "benchmarks.launchers.scaling",
    "pipeline": "benchmarks.pipeline",
    "memory": "benchmarks.memory",
    "modalities": "benchmarks.modalities",
    "render": "benchmarks.render",
    "concon-render": "benchmarks.concon_render",
    "score": "benchmarks.score",
    "large": "benchmarks.large",
    "gate": "benchmarks.gate",
    "start-up": "benchmarks.start_up",
    "attention": "benchmarks.attention",
    "probes": "benchmarks.probes",
    "verdicts": "benchmarks.verdicts",
    "demo": "benchmarks.demo",
    "audit": "benchmarks.audit",
}
LONG_ONLY = ("launchers", "verdicts", "demo", "audit")
PLACES = {
    "mammoth": ("FOLDER", "a checkout of Mammoth to compare with"),
    "mammoth-python": ("PYTHON", "an interpreter with Mammoth's packages"),
    "avalanche-python": ("PYTHON", "an interpreter with avalanche-lib"),
}


def main(words: Sequence[str]) -> int:
    """Returns the exit code: 2, after a one-line message, for bad input."""
    options = parser().parse_args(words)
    try:
        verbs = chosen(options.verbs, options.short)
        remember_places(options.mammoth, options.mammoth_python, options.avalanche_python)
    except InputError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    results = read_results(HERE / "results.json")
    form = "short" if options.short else "long"
    for verb in verbs:
        print(f"measuring {verb} ...", file=sys.stderr, flush=True)
        results.setdefault(verb, {})[form] = {**measured(verb, options.short), "command": command(verb, options)}
        # after each verb, so that results survive an interruption of a later one
        results = {name: results[name] for name in VERBS if name in results}
        write_json(HERE / "results.json", results)
        write_text(HERE / "RESULTS.md", as_markdown(results))
    print(as_markdown({verb: {form: results[verb][form]} for verb in verbs}))
    return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure, and update benchmarks/RESULTS.md."
    )
    made.add_argument("verbs", metavar="VERB", nargs="*", help=f"one of {', '.join(VERBS)}; none: all of them")
    made.add_argument("--short", action="store_true", help="fewer repeats and sizes: all verbs in ten minutes")
    for name, (word, what) in PLACES.items():
        made.add_argument(f"--{name}", metavar=word, type=Path, help=what)
    return made


def chosen(verbs: Sequence[str], short: bool) -> list[str]:
    """The verbs to measure, in the order of the table.

    >>> chosen(["score", "step"], short=True)
    ['step', 'score']
    """
    for verb in verbs:
        if verb not in VERBS:
            raise InputError(f"unknown verb '{verb}': {suggestion(verb, list(VERBS))}")
        if short and verb in LONG_ONLY:
            raise InputError(f"'{verb}' has no short form: omit --short")
    wanted = verbs or [verb for verb in VERBS if not (short and verb in LONG_ONLY)]
    return [verb for verb in VERBS if verb in wanted]


def measured(verb: str, short: bool) -> dict[str, Any]:
    begin = time.perf_counter()
    found: dict[str, Any] = import_module(VERBS[verb]).measure(short)
    return {
        **found,
        "measured": datetime.now(UTC).isoformat(timespec="minutes"),
        "took": round(time.perf_counter() - begin, 1),
        "code_hash": code_hash(),
        "machine": provenance("", {})["machine"],
    }


def command(verb: str, options: argparse.Namespace) -> str:
    """The command to repeat the measurement, without paths on this machine.

    >>> command("step", parser().parse_args(["step", "score", "--short", "--mammoth", "/home/me/mammoth"]))
    'python -m benchmarks step --short --mammoth FOLDER'
    """
    places = {name: getattr(options, name.replace("-", "_")) for name in PLACES}
    given = [f"--{name} {PLACES[name][0]}" for name, place in places.items() if place is not None]
    return " ".join(["python -m benchmarks", verb, *(["--short"] if options.short else []), *given])


def read_results(file: Path) -> dict[str, dict[str, Any]]:
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
