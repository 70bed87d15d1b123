"""The browser's card is Python's, on random logs and settings. ``python -m tests.diagnoses.rigidity.browser.test_random_logs 17``
prints how both differ on log 17."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from einstellung.diagnoses.contract import Evidence
from einstellung.errors import InputError

from .node import ask, differences, in_browser, in_python, needs_node, scored, shown, study
from .random_logs import random_log

LOGS = 1000


def compared(seeds: list[int], folder: Path) -> tuple[dict[int, list[str]], list[dict[str, Any]]]:
    """The differences by log, and every result of Python's."""
    requests, expected = [], []
    for seed in seeds:
        log = random_log(seed)
        evidence = Evidence(log.timeline, log.proof)
        try:
            own, card = log.own, scored(evidence, log.own)
        except InputError:
            own, card = {}, scored(evidence, {})
        chosen = {
            "methods": log.methods and ",".join(log.methods),
            "seeds": log.seeds and ",".join(map(str, log.seeds)),
        }
        other = log.other | {key: text for key, text in chosen.items() if text}
        requests.append(study(evidence, card, [{}, in_browser(other)]))
        expected.append([shown(card), in_python(evidence, own | other)])
    answers = ask(folder, requests)
    found = {
        seed: list(differences(results, answer["scores"]))
        for seed, results, answer in zip(seeds, expected, answers, strict=True)
    }
    return found, [result for results in expected for result in results]


@needs_node
def test_the_browser_says_what_python_says(tmp_path: Path) -> None:
    found, results = compared(list(range(LOGS)), tmp_path)
    assert {seed: wrong for seed, wrong in found.items() if wrong} == {}
    _every_kind_occurred(results)


def _every_kind_occurred(results: list[dict[str, Any]]) -> None:
    """The logs are worth something only if they reach every pattern, every certainty, and what is undefined."""
    cards = [result["card"] for result in results if "card" in result]
    records = [record for card in cards for record in card["methods"].values()]
    seen = Counter(record["pattern"] for record in records) + Counter(record["certainty"] for record in records)
    wanted = [
        "red-flag",
        "saturated",
        "cue-harmful",
        "shared-shortcut",
        "benign-avoidance",
        "benign-transfer",
        "ambiguous",
    ]
    rare = {name: seen[name] for name in [*wanted, "holds", "leans", "too few seeds"] if seen[name] < 5}
    assert rare == {}
    assert sum("error" in result for result in results) > 20
    for what in ("censored", "delta_paired", "SFR_rel_within", "groups", "task_incremental", "high_rigidity_certainty"):
        assert sum(bool(record["AD"][what] if what == "censored" else record[what]) for record in records) > 5, what
    for name in {check["name"] for card in cards for check in card["checks"]}:
        outcomes = {check["passed"] for card in cards for check in card["checks"] if check["name"] == name}
        assert outcomes == {True, False, None} or name == "split names are recognised", name


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as where:
        wrong, _ = compared([int(seed) for seed in sys.argv[1:]] or list(range(LOGS)), Path(where))
    for log, lines in wrong.items():
        for line in lines:
            print(log, line)
