"""The leaderboard: runs are added once, other settings are refused, and the README shows what its timelines say."""

from __future__ import annotations

import pandas as pd
import pytest
import yaml

import einstellung as e
from benchmarks import leaderboard
from einstellung.errors import InputError
from einstellung.results.config import build_config, merged, read_preset

PRESET = read_preset("leaderboard")


def rows(seed: int, acc: float = 0.5) -> pd.DataFrame:
    common = {"method": "sgd", "seed": seed, "phase": "T2", "epoch": [1.0, 2.0], "loss": 1.0, "n": 10}
    return pd.DataFrame({**common, "split": "T2_shortcut_normal", "acc": acc})


RECORD = {
    "data": {"T1": "1f", "T2": "2f"},
    "code_hash": "c0de",
    "packages": {"torch": "2.13.0"},
    "machine": {"processor": "one"},
    "finished": "2026-11-19T07:00:00+00:00",
}


def test_runs_are_added_once_and_never_change(tmp_path):
    assert leaderboard.add(tmp_path, rows(1), RECORD) == ["sgd"]
    assert leaderboard.add(tmp_path, rows(1), RECORD) == []
    assert leaderboard.add(tmp_path, pd.concat([rows(1), rows(2)]), {**RECORD, "code_hash": "new"}) == ["sgd"]
    stored = pd.read_csv(tmp_path / "runs/sgd.timeline.csv")
    assert stored["seed"].tolist() == [1, 1, 2, 2]
    origins = pd.read_csv(tmp_path / "origins.csv")
    assert origins[["seed", "code_hash"]].to_numpy().tolist() == [[1, "c0de"], [2, "new"]]
    with pytest.raises(InputError, match="other numbers"):
        leaderboard.add(tmp_path, rows(2, acc=0.6), RECORD)
    with pytest.raises(InputError, match="other numbers"):
        leaderboard.add(tmp_path, rows(2).iloc[:1].assign(epoch=3.0), RECORD)
    with pytest.raises(InputError, match="other images"):
        leaderboard.add(tmp_path, rows(3), {**RECORD, "data": {"T1": "1f", "T2": "3f"}})
    assert pd.read_csv(tmp_path / "runs/sgd.timeline.csv").equals(stored)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({}, None),
        ({"seeds": [7], "methods": ["sgd"], "name": "mine", "training": {"threads": 2}}, None),
        ({"combinations": {"mine": {"of": "sgd"}}, "methods": ["mine"]}, None),
        ({"training": {"epochs": [15, 21]}}, "training"),
        ({"cue": {"share": 0.5}}, "cue"),
        ({"cue": {"habit": "other"}}, "cue.habit other"),
        ({"backbone": {"width": 16}}, "backbone"),
        ({"learners": {"er": {"buffer": 200}}}, "learners.er"),
        ({"learners": {"gdumb": {"buffer": 200}}}, "learners.gdumb"),
    ],
)
def test_runs_of_other_settings_are_refused(change, named):
    values = merged(PRESET, change)
    config = build_config(values, "mine")
    habit = str(config.cue.options.get("habit", "none"))
    assert leaderboard.differing(config, habit) == named


def test_the_readme_shows_what_the_timelines_say(tmp_path):
    """Ranking and pages are made anew with every change of the scoring, or this fails."""
    readme = (leaderboard.BOARD / "README.md").read_text(encoding="utf-8")
    shown = readme.partition(leaderboard.START)[2].partition(leaderboard.END)[0]
    for habit in leaderboard.HABITS:
        result = e.score(sorted((leaderboard.BOARD / habit / "runs").glob("*.csv")), classes=leaderboard.OUTPUTS)
        for line in leaderboard.ranking(result):
            assert line in shown
        stored = e.load(leaderboard.BOARD / habit / "score.json")
        assert stored.card.methods == result.card.methods


def test_ranks_follow_reliance_and_leave_out_references():
    runs = sorted((leaderboard.BOARD / "none" / "runs").glob("*.csv"))
    frame = e.score(runs, classes=leaderboard.OUTPUTS).timeline
    renamed = frame[frame["method"] == "derpp"].assign(method="joint")  # the largest reliance, but not ranked
    lines = leaderboard.ranking(e.score(pd.concat([frame, renamed]), classes=leaderboard.OUTPUTS))
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")][2:]
    deltas = [float(row[3].replace("−", "-")) for row in cells]
    assert deltas == sorted(deltas, reverse=True)
    ranks = {row[1]: row[0] for row in cells}
    assert ranks["joint"] == ranks["scratch_t2"] == "–"
    ranked = [row[0] for row in cells if row[0] != "–"]
    assert ranked == [str(place) for place in range(1, len(ranked) + 1)]


def test_a_folder_that_is_no_study_is_one_line(tmp_path, capsys):
    assert leaderboard.main([str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.yaml").write_text(yaml.safe_dump({"format": 2, "name": "other"}))
    assert leaderboard.main([str(other)]) == 2
    assert "not that of the preset" in capsys.readouterr().err
