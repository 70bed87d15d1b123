"""Sweeps: one study per value, first phases shared, one page over all."""

from __future__ import annotations

import json

import pytest
import yaml

from einstellung.errors import InputError
from einstellung.experiments.launcher import Failure
from einstellung.experiments.plan import Job
from einstellung.experiments.study import Outcome
from einstellung.experiments.throughput import Throughput
from einstellung.results.config import build_config
from einstellung.results.folder import ResultsFolder, fingerprint
from einstellung.results.sweep import (
    SHARED_FIRST_PHASES,
    Sweep,
    check_root,
    folder_name,
    parse_sweeps,
    read_sweep,
    with_choices_of_existing,
    write_sweep,
)
from tests.experiments.conftest import SMALL, einstellung, typed


@pytest.mark.parametrize("text", ["cue.size", "=2,4", "seeds=1,2", "cue.size=4", "cue.size=4,4", "cue.size=[2,"])
def test_a_wrong_sweep_is_named(text):
    with pytest.raises(InputError, match="--sweep"):
        Sweep.parse(text)


def test_every_value_becomes_a_study_of_its_own():
    studies = Sweep.parse("cue.place=top-left,[2, 3]").studies(SMALL, "here")
    assert [study.cue.options["place"] for study in studies.values()] == ["top-left", [2, 3]]
    assert list(studies) == ["cue.place=top-left", "cue.place=2-3"]
    assert all(study.stream.options["size"] == 12 for study in studies.values())


def test_a_root_takes_more_values_of_the_same_key_and_refuses_the_rest(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    sizes = Sweep.parse("cue.size=2,4")
    check_root(root, sizes)
    write_sweep(root, sizes)
    write_sweep(root, Sweep.parse("cue.size=4,6"))
    assert set(read_sweep(root).values) == {2, 4, 6}
    with pytest.raises(InputError, match=r"sweep over cue\.size, not cue\.opacity"):
        check_root(root, Sweep.parse("cue.opacity=0.5,1.0"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("hello")
    with pytest.raises(InputError, match="contains other files"):
        check_root(tmp_path / "mine", sizes)


def test_two_sweeps_are_a_study_for_every_pair():
    grid = parse_sweeps(["cue.size=2,4", "cue.opacity=0.5,1.0"])
    studies = grid.studies(SMALL, "here")
    assert [(one.cue.options["size"], one.cue.options["opacity"]) for one in studies.values()] == [
        *((2, 0.5), (2, 1.0), (4, 0.5), (4, 1.0))
    ]
    assert list(studies)[1] == "cue.size=2,cue.opacity=1.0"


def test_a_root_of_two_keys_takes_more_values_of_both_and_refuses_one_key(tmp_path):
    grid = parse_sweeps(["cue.size=2,4", "cue.share=0.5,1"])
    write_sweep(tmp_path, grid)
    more = parse_sweeps(["cue.size=4,6", "cue.share=0.5,0.9"])
    check_root(tmp_path, more)
    write_sweep(tmp_path, more)
    assert set(read_sweep(tmp_path).points.values()) == {(size, share) for size in (2, 4, 6) for share in (0.5, 0.9, 1)}
    for other in (["cue.size=2,4"], ["cue.share=0.5,1", "cue.size=2,4"]):
        with pytest.raises(InputError, match=r"sweep over cue\.size,cue\.share, not"):
            check_root(tmp_path, parse_sweeps(other))


@pytest.mark.parametrize("text", ["sweeps: 3", "sweeps: [{key: a}]", "[]", "3"])
def test_a_damaged_record_is_named(tmp_path, text):
    (tmp_path / "sweep.yaml").write_text(text)
    with pytest.raises(InputError, match="cannot read"):
        read_sweep(tmp_path)


def test_a_shared_first_phase_is_found_from_a_study_that_has_no_folder_yet(tmp_path):
    """What --dry-run asks before a value is added to a sweep."""
    shared = tmp_path / "first_phases" / "sgd-seed1-abc"
    shared.mkdir(parents=True)
    (shared / "state.safetensors").write_bytes(b"weights")
    files = {"state.safetensors": fingerprint(shared / "state.safetensors")}
    (shared / "status.json").write_text(json.dumps({"state": "finished", "key": "k", "files": files}))
    assert ResultsFolder(tmp_path / "cue.size=9").finished(f"{SHARED_FIRST_PHASES}/sgd-seed1-abc", "k")
    assert not ResultsFolder(tmp_path / "cue.size=9").finished(f"{SHARED_FIRST_PHASES}/sgd-seed2-abc", "k")


def test_what_auto_meant_for_a_sweep_it_means_for_a_value_that_is_added(tmp_path):
    values = {"stream": {"name": "shapes"}, "training": {"precision": "auto", "kernels": "auto"}}
    studies = Sweep.parse("cue.size=2,4").studies(values, "here")
    assert with_choices_of_existing(tmp_path, studies) == studies
    begun = studies["cue.size=4"].model_dump(mode="json")
    begun["training"] |= {"precision": "bf16", "kernels": "torch"}
    ResultsFolder(tmp_path / "cue.size=4").write_config(build_config(begun))
    added = with_choices_of_existing(tmp_path, studies)["cue.size=2"]
    assert (added.training.precision, added.training.kernels, added.cue.options["size"]) == ("bf16", "torch", 2)


def test_a_sweep_from_the_command_line(tmp_path, monkeypatch, capsys):
    config = tmp_path / "small.yaml"
    small = {**SMALL, "methods": ["scratch_t2", "sgd"], "training": {**SMALL["training"], "epochs": [1, 1]}}
    config.write_text(yaml.safe_dump(small))
    root = tmp_path / "out"
    words = ("run", config, "--sweep", "cue.size=2,4", "--out", root)
    monkeypatch.setattr("einstellung.experiments.estimate.measure_throughput", lambda *_: Throughput(1.0, 1.0))
    assert typed(monkeypatch, *words, "--dry-run", "--json") == 0
    planned = json.loads(capsys.readouterr().out)
    assert not root.exists()
    studies = planned["studies"]
    assert list(studies) == ["cue.size=2", "cue.size=4"]
    to_do = {name: [job["to_do"] for job in study["first_phases"]] for name, study in studies.items()}
    assert to_do == {"cue.size=2": [True], "cue.size=4": [False]}  # T1 knows no cue: it is trained once

    done = einstellung(*words)
    assert "cue.size=4 (2 of 2)" in done.stderr
    assert len(list((root / "first_phases").iterdir())) == 1
    for value in (2, 4):
        assert (root / folder_name("cue.size", value) / "report.html").exists()
    swept = json.loads((root / "sweep.json").read_text())
    assert swept["key"] == "cue.size"
    page = (root / "sweep.html").read_text()
    assert "cue.size=2/report.html" in page
    for ending in ("svg", "png", "pdf"):
        assert (root / "figures" / f"sweep.{ending}").stat().st_size > 1000

    assert typed(monkeypatch, *words) == 0
    assert capsys.readouterr().err.count("reused 2 finished runs, ran 0") == 2
    (root / "sweep.html").unlink()
    assert typed(monkeypatch, "report", root) == 0
    assert (root / "sweep.html").read_text() == page


def test_a_sweep_whose_runs_all_fail_says_why(small_config, tmp_path, monkeypatch, capsys):
    broken = Failure(Job("run", "sgd", 1, "runs/sgd-seed1", "k", None, 1.0), "it broke", by_input=False)

    def run_study(prepared, out, *_, closing):
        return Outcome(ResultsFolder(out), prepared.config, None, (broken,), 1, 0)

    monkeypatch.setattr("einstellung.experiments.study.run_study", run_study)
    assert typed(monkeypatch, "run", small_config, "--sweep", "cue.size=2,4", "--out", tmp_path / "out") == 1
    assert capsys.readouterr().err.count("sgd seed 1 failed: it broke") == 2
