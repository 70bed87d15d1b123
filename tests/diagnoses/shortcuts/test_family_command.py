"""A family of several shortcuts from the command line: run in parts, reported again; a mixture and a sweep are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from einstellung.experiments.launchers.local import LocalLauncher
from tests.experiments.conftest import typed
from tests.experiments.in_process import InProcessLauncher

from .reports import table_of

SWITCH = {"name": "composites", "size": 32, "train": 12, "val": 4, "test": 4, "phases": [[0.75, 0.5], [0.5, 0.75]]}


SMALL: dict[str, Any] = {
    "name": "small",
    "stream": SWITCH,
    "backbone": {"name": "resnet18", "width": 8, "stem_stride": 2},
    "training": {"epochs": [1, 1], "batch_size": 12, "precision": "fp32", "milestones": []},
    "evaluation": {"first_phase": "end"},
    "methods": ["erm"],
    "seeds": [1],
}


@pytest.fixture
def alone(monkeypatch):
    """Neither a cache nor other processes, which take seconds to start and have tests of their own."""
    monkeypatch.setenv("EINSTELLUNG_CACHE", "off")
    monkeypatch.setattr(LocalLauncher, "run", InProcessLauncher.run)
    monkeypatch.setattr(LocalLauncher, "warm_up", lambda self, config: None)


def configured(path: Path, **changes: Any) -> Path:
    path.write_text(yaml.safe_dump({**SMALL, **changes}, sort_keys=False))
    return path


def test_a_family_from_the_command_line(tmp_path, quick, alone, monkeypatch, capsys):
    root = tmp_path / "out"
    joined = {"stream": {"phases": [[0.75, 0.5], [0.75, 0.75]]}}
    config = configured(tmp_path / "small.yaml", studies={"switch": {}, "joined": joined})
    run = ("run", config, "--out", root, "--workers", 1)
    assert typed(monkeypatch, *run, "--only", "joined") == 0
    assert "Not conclusive, with fewer than 3 seeds: joined." in capsys.readouterr().out
    assert not (root / "switch").exists()
    assert typed(monkeypatch, *run) == 0
    said = capsys.readouterr()
    printed = said.out
    assert "Not conclusive, with fewer than 3 seeds: switch and joined." in printed
    assert "reused 1 finished run, ran 0" in said.err  # what was run before by itself
    assert f"report: {root / 'family.html'}" in printed
    page = (root / "family.html").read_text(encoding="utf-8")
    assert {row["study"] for row in table_of(root, "last_phase")} == {"switch", "joined"}
    (root / "family.html").unlink()
    assert typed(monkeypatch, "report", root, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["studies"]["switch"]["correlations"] == {"T1": [0.75, 0.5], "T2": [0.5, 0.75]}
    assert (root / "family.html").read_text(encoding="utf-8") == page
    # what was run stores which test images share a co-object, and the report draws them together
    objects = pd.read_csv(root / "switch" / "sources.csv")
    assert shown["studies"]["switch"]["basis"]["co-object"] == {"by": "twins", "why": None}
    assert shown["studies"]["switch"]["image_clusters"] == {
        "by": "source object",
        "clusters": objects["source"].nunique(),
    }


def test_a_mixture_is_refused_before_anything_is_trained(tmp_path, alone, monkeypatch, capsys):
    shapes = {"name": "shapes", "size": 12, "train_per_class": 8, "test_per_class": 2}
    members = {"cues": {"stream": SWITCH}, "index": {"stream": shapes, "methods": ["sgd"]}}
    config = tmp_path / "mixed.yaml"
    config.write_text(yaml.safe_dump({key: SMALL[key] for key in SMALL if key != "stream"} | {"studies": members}))
    run = ("run", config, "--out", tmp_path / "out")
    for verb in (run, (*run, "--dry-run"), ("validate", config)):
        assert typed(monkeypatch, *verb) == 2
        assert "study cues measures several shortcuts, but study index measures " in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_sweep_has_no_page_for_several_shortcuts_and_says_so_at_once(tmp_path, alone, monkeypatch, capsys):
    config, root = configured(tmp_path / "small.yaml"), tmp_path / "out"
    for more in ((), ("--dry-run",)):
        assert typed(monkeypatch, "run", config, "--sweep", "training.lr=0.1,0.01", "--out", root, *more) == 2
        complaint = capsys.readouterr().err
        assert "study training.lr=0.1 measures several shortcuts, a diagnosis that has no page for a sweep" in complaint
    assert not root.exists()
