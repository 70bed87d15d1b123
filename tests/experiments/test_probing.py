"""Probes of a small real study: what is measured, that training does not notice, what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from einstellung.diagnoses.reporting import score_folder
from einstellung.errors import InputError
from einstellung.experiments.probing import probe_folder
from einstellung.experiments.study import prepare_study, run_study
from einstellung.hashes import read_sealed, write_sealed
from einstellung.results.config import build_config, merged
from einstellung.results.folder import ResultsFolder
from einstellung.results.probe_files import read_probe
from einstellung.results.probe_names import PROBES

from . import in_process  # noqa: F401 (registers a launcher)
from .conftest import SMALL, recorded_again, results, typed

TINY = merged(
    SMALL,
    {
        "stream": {"size": 8, "test_per_class": 4, "t1": [0, 1], "t2": [8, 9], "shortcut": [8]},
        "training": {"epochs": [1, 1], "kernels": "torch"},
        "methods": ["scratch_t2", "sgd", "derpp"],
        "seeds": [1, 2, 3],
        "launcher": "in_process",
    },
)


def run(out: Path, **changes: object) -> Path:
    prepared = prepare_study(build_config(merged(TINY, changes)), out)
    with ResultsFolder(out).in_use():
        assert not run_study(prepared, out, 1, "a test").failures
    return out


@pytest.fixture(scope="module")
def unprobed(tmp_path_factory) -> Path:
    return run(tmp_path_factory.mktemp("probing") / "unprobed")


@pytest.fixture(scope="module")
def probed(tmp_path_factory) -> Path:
    """The same study, with probes in its configuration."""
    return run(tmp_path_factory.mktemp("probing") / "probed", probes=list(PROBES))


@pytest.fixture
def copy(unprobed, tmp_path) -> Path:
    return shutil.copytree(unprobed, tmp_path / "study")


def readings(folder: Path, probe: str, method: str, seed: int) -> list:
    return list(read_probe(folder, probe).readings((method, seed)))


def test_training_does_not_notice_probes(unprobed, probed):
    """The same bytes of nets, timelines and predictions, and the same keys, so that either folder's runs can be reused."""
    assert results(unprobed) == results(probed)
    keys = [
        {path.parent.name: json.loads(path.read_text())["key"] for path in folder.rglob("status.json")}
        for folder in (unprobed, probed)
    ]
    assert keys[0] == keys[1]
    assert len(keys[0]) == 9 + 6
    assert not (unprobed / "probes").exists()


def test_a_finished_study_gets_its_probes_without_training(copy):
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*.safetensors")}
    prepared = prepare_study(build_config(merged(TINY, {"probes": "flips"})), copy)
    with ResultsFolder(copy).in_use():
        outcome = run_study(prepared, copy, 1, "a test")
    assert (outcome.ran, outcome.reused) == (0, 9)
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*.safetensors")} == before
    assert [path.name for path in (copy / "probes").iterdir()] == ["flips.json"]


def test_the_command_measures_what_the_configuration_does(probed, copy):
    probe_folder(ResultsFolder(copy), (), copy, lambda _: None)
    for name in PROBES:
        assert (copy / f"probes/{name}.json").read_bytes() == (probed / f"probes/{name}.json").read_bytes()


def test_probes_of_the_same_nets_are_measured_once(copy, monkeypatch):
    probe_folder(ResultsFolder(copy), ("flips",), copy, lambda _: None)
    said: list[str] = []
    probe_folder(ResultsFolder(copy), ("flips",), copy, said.append)
    assert said == []
    recorded_again(copy / "runs/sgd-seed1", key="another")
    probe_folder(ResultsFolder(copy), ("flips",), copy, said.append)
    assert len(said) == 9


def test_which_comparisons_a_run_has(probed):
    sgd = {(one.change, one.split) for one in readings(probed, "cka", "sgd", 1)}
    scratch = {(one.change, one.split) for one in readings(probed, "cka", "scratch_t2", 1)}
    cue = {("cue", "T2_shortcut_normal"), ("cue", "T2_test")}
    assert scratch == cue
    assert sgd == cue | {("T1", "T1_all"), ("T1", "T2_shortcut_normal"), ("baseline", "T2_shortcut_normal")}
    layers = [one.layer for one in readings(probed, "cka", "sgd", 1) if one.change == "baseline"]
    assert layers == ["stage 1", "stage 2", "stage 3", "stage 4", "features"]
    file = read_probe(probed, "cka")
    assert [pair.seeds for pair in file.null] == [(1, 2), (2, 3)]
    assert {one.change for pair in file.null for one in pair.readings} == {"baseline"}
    assert file.notes == ()
    assert {one.net for one in readings(probed, "plasticity", "scratch_t2", 1)} == {"fresh", "T2"}
    assert {one.net for one in readings(probed, "plasticity", "sgd", 1)} == {"fresh", "T1", "T2"}


def test_flips_are_those_of_the_stored_predictions(probed):
    """Counted again from predictions.csv, by pandas."""

    def right(method: str, split: str) -> pd.Series:
        frame = pd.read_csv(probed / f"runs/{method}-seed2/predictions.csv")
        own = frame[frame["split"] == split].set_index("index")
        return own["label"] == own["prediction"]

    found = {(one.change, one.split): one for one in readings(probed, "flips", "sgd", 2)}
    for split in ("T2_shortcut_normal", "T2_shortcut_masked"):
        before, after = right("scratch_t2", split), right("sgd", split)
        one = found["baseline", split]
        assert (one.negative, one.positive) == ((before & ~after).mean(), (~before & after).mean())
    by_cue = (right("sgd", "T2_nonshortcut_normal") & ~right("sgd", "T2_nonshortcut_patched")).mean()
    assert found["cue", "T2_nonshortcut_patched"].negative == by_cue


def test_accuracies_and_t1_agree_with_the_timeline(probed):
    """The nets that are probed are those that the timeline was measured on: at the chosen epoch, and at the end of T1."""
    status = json.loads((probed / "runs/derpp-seed3/status.json").read_text())
    timeline = pd.read_csv(probed / "runs/derpp-seed3/timeline.csv")
    rows = timeline[(timeline.phase == "T2") & (timeline.epoch == status["chosen_epoch"])].set_index("split")
    for one in readings(probed, "calibration", "derpp", 3):
        assert one.accuracy == pytest.approx(rows.loc[one.split, "acc"], abs=1e-9)  # classes are of equal size
        assert sum(group.n for group in one.bins) == one.n
    t1 = next(one for one in readings(probed, "flips", "derpp", 3) if one.change == "T1")
    end = timeline[(timeline.phase == "T1") & (timeline.split == "T1_all")].iloc[-1]["acc"]
    assert t1.negative - t1.positive == pytest.approx(end - rows.loc["T1_all", "acc"], abs=1e-9)


def test_gradient_norms_differ_between_nets_and_repeat_themselves(probed):
    norms = {one.net: one.gradient_norm for one in readings(probed, "plasticity", "sgd", 1)}
    assert norms["T2"] is None
    assert norms["T1"] > 0
    assert norms["T1"] != norms["fresh"]
    other = {one.net: one.gradient_norm for one in readings(probed, "plasticity", "derpp", 1)}
    assert other["fresh"] == norms["fresh"]  # the same seed starts from the same net


def test_a_deleted_first_phase_is_named_and_left_out(copy):
    shutil.rmtree(copy / "first_phases")
    found = probe_folder(ResultsFolder(copy), ("flips",), copy, lambda _: None)["flips"]
    assert "the net after T1 is not stored any more for sgd seed 1" in found.notes[0]
    assert {one.change for run in found.runs for one in run.readings} == {"baseline", "cue"}


def test_the_command_prints_json_and_leaves_the_folder_alone(copy, tmp_path, monkeypatch, capsys):
    before = contents(copy)
    out = tmp_path / "report"
    assert typed(monkeypatch, "probe", copy, "--probes", "flips,cka", "--out", out, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert list(shown["probes"]) == ["flips", "cka"]
    assert {(line["method"], line["probe"]) for line in shown["corroboration"]["lines"]} == {
        (method, probe) for method in ("sgd", "derpp") for probe in ("cka", "flips", "placement", "salience")
    }
    assert contents(copy) == before
    assert (out / "report.html").exists()
    assert json.loads((out / "score.json").read_text())["corroboration"] == shown["corroboration"]


def test_a_single_seed_has_no_intervals_and_says_so(copy):
    for folder in copy.glob("runs/*-seed[23]"):
        shutil.rmtree(folder)
    probe_folder(ResultsFolder(copy), ("flips",), copy, lambda _: None)
    scored = score_folder(ResultsFolder(copy))
    found = scored.card.corroboration
    assert found.notes == ("one seed: no intervals over seeds, and no baseline of another seed to compare with",)
    assert {line.speaks for line in found.lines} == {"neither"}
    assert all("n = 1: no interval" in line.text for line in found.lines if line.probe != "salience")
    assert all("not measured; run: einstellung run " in line.text for line in found.lines if line.probe == "salience")
    shown = " ".join(one.text for one in scored.diagnosis.overview(scored.card).paragraphs)
    assert "Too few seeds to judge certainty (n = 1; at least 3 needed)" in shown


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


def refused(folder: Path, monkeypatch, capsys, *words: object) -> str:
    """The one line that a command ends with; nothing in the folder has changed."""
    files = contents(folder)
    assert typed(monkeypatch, "probe", folder, *words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert contents(folder) == files
    return captured.err.strip().splitlines()[-1]


def test_what_is_refused_leaves_nothing_behind(copy, tmp_path, monkeypatch, capsys):
    assert "did you mean 'calibration'?" in refused(copy, monkeypatch, capsys, "--probes", "calibratio")
    assert "is named twice" in refused(copy, monkeypatch, capsys, "--probes", "cka,cka")
    assert "no such folder" in refused(tmp_path / "nowhere", monkeypatch, capsys)
    assert not (tmp_path / "nowhere").exists()
    logs = tmp_path / "logs"
    logs.mkdir()
    shutil.copyfile(copy / "timeline.csv", logs / "timeline.csv")
    assert "probes need stored nets, which log files do not have" in refused(logs, monkeypatch, capsys)
    assert not (logs / ".lock").exists()
    (copy / "runs/sgd-seed2/model.safetensors").write_bytes(b"cut short")
    assert "is damaged or truncated" in refused(copy, monkeypatch, capsys)
    for file in copy.rglob("model.safetensors"):
        file.unlink()
    assert "has no stored nets (runs/*/model.safetensors) of finished runs" in refused(copy, monkeypatch, capsys)


def test_other_data_are_refused(copy):
    record = read_sealed(copy / "provenance.json")
    write_sealed(copy / "provenance.json", {**record, "data": dict.fromkeys(record["data"], "0" * 16)})
    with pytest.raises(InputError, match="the data differ from those checked"):
        probe_folder(ResultsFolder(copy), ("flips",), copy, lambda _: None)
    assert not (copy / "probes").exists()


def test_a_folder_of_another_diagnosis_is_refused(copy, monkeypatch, capsys):
    results = ResultsFolder(copy)
    results.write_config(results.config().model_copy(update={"diagnosis": "guide", "score": {}}))
    assert "which has no probe 'cka'" in refused(copy, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("probes", "message"),
    [(["ckaa"], "probes: unknown probe 'ckaa': did you mean 'cka'?"), (["cka", "cka"], "named twice")],
)
def test_a_configuration_names_known_probes_once(probes, message):
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        build_config({"probes": probes})


def test_cka_of_equal_nets_is_one(copy):
    """With the baseline's own net in place of sgd's, nothing differs."""
    for name in ("model.safetensors", "predictions.csv"):
        shutil.copyfile(copy / f"runs/scratch_t2-seed1/{name}", copy / f"runs/sgd-seed1/{name}")
    recorded_again(copy / "runs/sgd-seed1")
    found = probe_folder(ResultsFolder(copy), ("cka", "flips"), copy, lambda _: None)
    same = [one.value for one in found["cka"].readings(("sgd", 1)) if one.change == "baseline"]
    np.testing.assert_allclose(same, 1, atol=1e-9)
    other = [one.value for one in found["cka"].readings(("derpp", 1)) if one.change == "baseline"]
    assert max(other) < 0.999
    assert all(one.negative == 0 for one in found["flips"].readings(("sgd", 1)) if one.change == "baseline")
