"""The examples that need a framework run as they stand, at a small size, and end in something to score."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from einstellung.diagnoses.rigidity.score import score
from einstellung.timeline import Timeline

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = ["--seeds", "1", "--epochs", "1", "2", "--train-per-class", "6"]


@pytest.mark.parametrize(
    ("example", "methods"),
    [
        ("avalanche_strategies.py", {"naive", "ewc_online", "replay", "der"}),
        ("lightning_two_phases.py", {"finetune"}),
    ],
)
def test_an_example_ends_in_something_to_score(example, methods, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [example, "--out", str(tmp_path), *SMALL])
    runpy.run_path(str(EXAMPLES / example), run_name="__main__")
    assert capsys.readouterr().out.endswith(f"einstellung score {tmp_path}\n")
    timeline = Timeline.read_many([tmp_path])
    card = score(timeline)
    assert set(card.methods) == {*methods, "scratch_t2"}
    for method in methods:
        assert timeline.phases(method, 1) == ("T1", "T2")
        assert timeline.curve(method, 1, "T2", "T2_shortcut_masked")[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("example", ["avalanche_strategies.py", "lightning_two_phases.py"])
def test_an_example_finds_its_framework_in_a_fresh_process(example):
    shown = subprocess.run([sys.executable, EXAMPLES / example, "--help"], capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert "einstellung score" in shown.stdout
