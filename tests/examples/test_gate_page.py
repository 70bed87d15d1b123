"""``docs/gate.md``: its code runs, its commands are accepted, its figures are the benchmark's."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from einstellung.cli.gate import gate

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/gate.md").read_text(encoding="utf-8")


def test_the_python_block_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    count = 400
    given = {
        "names": [f"image {place}" for place in range(count)],
        "labels": [place % 2 for place in range(count)],
        "with_cue": [1] * count,
        "with_cue_covered": [0] * count,
        "old_model": lambda images: [place % 2 for place in range(len(images))],
        "new_model": lambda images: [place % 2 if images[0] else 0 for place in range(len(images))],
    }
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(block, given)
    assert given["result"].rise == 0.5
    assert (tmp_path / "gate/gate.html").exists()


def test_every_command_has_options_that_there_are():
    text = PAGE.replace("\\\n", " ")
    commands = re.findall(r"^    (einstellung gate .*)$", text, flags=re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        context = gate.make_context("gate", shlex.split(command)[2:])  # an unknown option would raise
        assert context.params["before"]


def test_the_figures_are_those_of_the_benchmark():
    rows = json.loads((ROOT / "benchmarks/results.json").read_text())["gate"]["long"]["rows"]
    cells = [re.split(r"\s*\|\s*", line.strip("| ")) for line in PAGE.splitlines() if line.startswith("| 0.")]
    nulls = [row for row in rows if row["what"].startswith("false failures")]
    assert len(nulls) == 15
    for row, found in zip(nulls, cells, strict=False):
        verdicts, coverage = row["verdicts"], row["coverage"]
        expected = [
            f"{verdicts['fail']:.1%}",
            f"{verdicts['pass']:.1%}",
            *(f"{value:.3f}" for value in coverage.values()),
        ]
        assert found[2:] == expected
        assert f"n = {found[1]}," in row["what"]
    for row in rows:
        if row["what"].startswith("rise of 0.05"):
            assert f"{row['verdicts']['fail']:.1%}" in PAGE
    assert rows[0]["measured"] in PAGE


def test_no_line_is_longer_than_140():
    assert max(map(len, PAGE.splitlines())) <= 140
