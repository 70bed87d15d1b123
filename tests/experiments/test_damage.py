"""Damaged, lost and half-written files of a study: each is named, left out of the report, and made again by the same command."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from einstellung.diagnoses.reporting import score_folder
from einstellung.errors import InputError
from einstellung.experiments.execution import JobExecution
from einstellung.experiments.plan import Job, plan
from einstellung.experiments.progress import Display
from einstellung.experiments.study import Outcome, Prepared, jobs_to_do, prepare_study, run_study
from einstellung.folders import FolderGoneError
from einstellung.hashes import fingerprint, is_intact, write_sealed
from einstellung.results.config import build_config
from einstellung.results.examination import damaged_lines
from einstellung.results.family import check_family_root
from einstellung.results.folder import ResultsFolder
from einstellung.results.run_files import LAST_NET
from einstellung.results.sweep import Sweep, check_root
from einstellung.streams import Stream
from einstellung.timeline import Timeline
from einstellung.training.devices import torch_threads

from . import in_process  # noqa: F401 (registers the launcher)
from .conftest import SMALL, results, typed

SWEEP = Sweep("cue.size", (2, 4))
CONFIG = {**SMALL, "methods": ["scratch_t2", "sgd"], "launcher": "in_process"}
SGD = "runs/sgd-seed1"


@dataclass(frozen=True)
class Study:
    """A finished study, and what is needed to run it again without checking everything anew."""

    prepared: Prepared
    folder: Path

    def again(self, out: Path) -> Outcome:
        with ResultsFolder(out).in_use():
            return run_study(self.prepared, out, 1, "a test")

    def to_do(self, out: Path) -> tuple[list[str], list[str]]:
        """The folders of the jobs that would run again, and what is said of damaged files."""
        lines: list[str] = []
        _, todo = jobs_to_do(self.prepared, ResultsFolder(out), "first_phases", lines.append)
        return [job.folder for job in todo], lines

    def job(self, method: str) -> Job:
        return next(job for job in plan(self.prepared.config, self.stream) if (job.method, job.kind) == (method, "run"))

    @property
    def stream(self) -> Stream:
        return self.prepared.stream

    def execution(self, method: str, out: Path) -> JobExecution:
        return JobExecution(self.job(method), self.prepared.config, out, self.stream, lambda work, where: None)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Study:
    folder = tmp_path_factory.mktemp("study") / "out"
    found = Study(prepare_study(build_config(CONFIG)), folder)
    found.again(folder)
    return found


class Mover(Display):
    """Moves or deletes the folder when a job reports its first progress."""

    def __init__(self, folder: Path, to: Path | None) -> None:
        self.folder, self.to = folder, to
        self.shown: list[str | None] = []

    def started(self, job: Job) -> None:
        return

    def advanced(self, job: Job, work: float, where: str) -> None:
        if self.folder.exists():
            shutil.rmtree(self.folder) if self.to is None else self.folder.rename(self.to)

    def ended(self, job: Job, failure: str | None) -> None:
        self.shown.append(failure)


@pytest.mark.parametrize("moved", [True, False])
def test_a_folder_that_is_taken_away_is_not_made_again(moved, made, tmp_path):
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    mover = Mover(out, elsewhere if moved else None)
    with pytest.raises(FolderGoneError, match="out is gone"), ResultsFolder(out).in_use():
        run_study(made.prepared, out, 1, "a test", make_display=lambda jobs: mover)
    assert not out.exists()
    assert mover.shown == []  # one line for the study, not one for every job
    if moved:
        made.again(elsewhere)
        assert results(elsewhere) == results(made.folder)


@pytest.fixture
def copy(made, tmp_path) -> Path:
    shutil.copytree(made.folder, tmp_path / "out")
    return tmp_path / "out"


def flip(file: Path) -> None:
    """One bit in the middle of the file."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def swapped(file: Path) -> None:
    """Another file of the same kind, whole in itself."""
    other = {"sgd": "scratch_t2"}.get(file.parent.name.partition("-")[0])
    source = file.parents[1] / f"{other}-seed1" / file.name if other else file.with_name("proof.json")
    file.write_bytes(source.read_bytes())


DAMAGES = [flip, cut, empty, swapped]
OF_RUNS = ("timeline.csv", "predictions.csv", "predictions_last.csv", "status.json", "model.safetensors", LAST_NET)
OF_STUDY = ("config.yaml", "study.json", "proof.json", "provenance.json", "samples.npz")


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", OF_RUNS)
def test_a_run_with_a_damaged_file_is_to_run_again(made, copy, damage, name):
    damage(copy / SGD / name)
    if damage is swapped and name == "status.json":
        with pytest.raises(InputError, match="was made with other settings"):
            made.to_do(copy)
        return
    folders, lines = made.to_do(copy)
    assert folders == [SGD] or folders[1:] == [SGD]
    assert name in lines[0]
    assert "damaged" in lines[0] or "not valid JSON" in lines[0]


@pytest.mark.parametrize("damage", [flip, cut, empty])
@pytest.mark.parametrize("name", OF_STUDY)
def test_the_same_command_makes_damaged_files_of_the_study_again(made, copy, capsys, damage, name):
    damage(copy / name)
    assert made.again(copy).ran == 0
    assert f"{name} is damaged" in capsys.readouterr().err
    for same in ("config.yaml", "proof.json", "samples.npz"):
        assert (copy / same).read_bytes() == (made.folder / same).read_bytes()
    assert name == "provenance.json" or damaged_lines(ResultsFolder(copy)) == []


@pytest.mark.parametrize("damage", [flip, cut, empty])
def test_a_damaged_first_phase_is_trained_again_where_a_run_needs_it(made, copy, damage):
    state = next(copy.glob("first_phases/*/state.safetensors"))
    damage(state)
    assert made.to_do(copy)[0] == []  # its run is finished
    (copy / SGD / "status.json").unlink()
    folders, lines = made.to_do(copy)
    assert len(folders) == 2
    assert "state.safetensors is damaged or truncated" in lines[0]


def test_everything_that_was_damaged_ends_in_the_same_bytes(made, copy):
    for file in (*copy.glob("first_phases/*/state.safetensors"), copy / SGD / "model.safetensors"):
        flip(file)
    outcome = made.again(copy)
    assert (outcome.ran, outcome.reused, outcome.failures) == (1, 1, ())
    assert results(copy) == results(made.folder)


def test_a_first_phase_that_is_damaged_after_the_check_is_not_used(made, copy):
    """The job itself checks what it begins with: elsewhere and later, the file may be another one."""
    flip(copy / made.job("sgd").needs / "state.safetensors")
    with pytest.raises(InputError, match=r"state\.safetensors is damaged or truncated"):
        made.execution("sgd", copy).run()


def test_large_files_have_a_hash_too(tmp_path):
    file = tmp_path / "state.safetensors"
    file.write_bytes(os.urandom(6_000_000))
    facts = fingerprint(file)
    flip(file)
    assert not is_intact(file, facts)
    assert is_intact(file, {"bytes": 6_000_000, "sha256": None})  # as older versions recorded it


def test_a_damaged_checkpoint_is_given_up_and_the_run_ends_in_the_same_bytes(made, tmp_path, capsys):
    class StoppedError(Exception):
        pass

    def stop(where: str, force: bool = False) -> None:
        if "T2 epoch 3" in where:
            raise StoppedError

    execution = made.execution("scratch_t2", tmp_path)
    execution._report = stop
    with torch_threads(1):  # as a worker computes
        with pytest.raises(StoppedError):
            execution.run()
        flip(tmp_path / made.job("scratch_t2").folder / "checkpoint.safetensors")
        made.execution("scratch_t2", tmp_path).run()
    said = capsys.readouterr().err
    assert "checkpoint.safetensors is damaged" in said
    assert "scratch_t2 seed 1 starts again" in said
    folder = made.job("scratch_t2").folder
    assert results(tmp_path / folder) == results(made.folder / folder)


@pytest.mark.parametrize(("verb", "name"), [("report", f"{SGD}/timeline.csv"), ("score", f"{SGD}/status.json")])
def test_a_damaged_run_is_named_and_left_out(copy, monkeypatch, capsys, verb, name):
    flip(copy / name)
    out = copy.parent / "page"
    words = ["report", copy] if verb == "report" else ["score", copy, "--out", out]
    assert typed(monkeypatch, *words) == 0
    shown = capsys.readouterr()
    for said in (shown.err, shown.out, ((copy if verb == "report" else out) / "report.html").read_text()):
        assert f"{name} is damaged: sgd-seed1 is left out" in said
    card = json.loads(((copy if verb == "report" else out) / "score.json").read_text())
    assert list(card["methods"]) == ["scratch_t2"]


@pytest.mark.parametrize("verb", ["report", "score"])
def test_nothing_left_to_score_is_exit_code_2(copy, monkeypatch, capsys, verb):
    for file in copy.glob("runs/*/timeline.csv"):
        flip(file)
    assert typed(monkeypatch, verb, copy) == 2
    said = capsys.readouterr().err
    assert "timeline.csv is damaged" in said
    assert said.count("einstellung: ") == 1


@pytest.mark.parametrize("damage", [flip, cut, empty])
@pytest.mark.parametrize(
    "name", ["samples.npz", "proof.json", "provenance.json", f"{SGD}/predictions.csv", "config.yaml"]
)
def test_a_study_is_scored_without_a_damaged_file(copy, damage, name):
    damage(copy / name)
    scored = score_folder(ResultsFolder(copy))
    assert [line for line in scored.card.warnings if f"{name} is damaged" in line]
    assert scored.evidence.damaged
    assert set(scored.card.methods) == {"scratch_t2", "sgd"}


def test_a_report_goes_on_without_several_damaged_files(copy, monkeypatch, capsys):
    names = ["samples.npz", "proof.json", f"{SGD}/predictions.csv", "timeline.csv", f"{SGD}/model.safetensors"]
    for name in names:
        flip(copy / name)
    assert typed(monkeypatch, "report", copy, "--json") == 0
    shown = capsys.readouterr()
    page = (copy / "report.html").read_text()
    assert all(f"{name} is damaged" in shown.err and f"{name} is damaged" in page for name in names)
    assert set(json.loads(shown.out)["methods"]) == {"scratch_t2", "sgd"}


def test_python_names_what_is_damaged(copy):
    import einstellung

    flip(copy / SGD / "timeline.csv")
    with pytest.warns(UserWarning, match=r"sgd-seed1/timeline\.csv is damaged"):
        result = einstellung.load(copy)
    assert list(result.card.methods) == ["scratch_t2"]
    with pytest.warns(UserWarning, match=r"sgd-seed1/timeline\.csv is damaged"):
        assert list(einstellung.score(copy).card.methods) == ["scratch_t2"]


def test_a_flipped_number_in_a_stored_card_is_noticed(copy, tmp_path):
    import einstellung

    alone = tmp_path / "alone"
    write_sealed(alone / "score.json", score_folder(ResultsFolder(copy)).to_json())
    assert set(einstellung.load(alone).card.methods) == {"scratch_t2", "sgd"}
    card = json.loads((alone / "score.json").read_text())
    card["tau"] = 0.7
    (alone / "score.json").write_text(json.dumps(card))
    with pytest.raises(InputError, match=r"score\.json is damaged"):
        einstellung.load(alone)


def test_a_folder_without_hashes_is_scored_resumed_and_called_unverified(made, copy, monkeypatch, capsys):
    """As an older version left it: no record of the study, no hash in any record, none of files above 4 MB."""
    (copy / "study.json").unlink()
    for file in copy.rglob("status.json"):
        status = json.loads(file.read_text())
        del status["sha256"]
        status["files"]["timeline.csv" if "runs" in file.parts else "state.safetensors"]["sha256"] = None
        file.write_text(json.dumps(status))
    assert typed(monkeypatch, "score", copy) == 0
    said = capsys.readouterr().err
    assert "could not be verified: an older version recorded no hash" in said
    assert "damaged" not in said
    outcome = made.again(copy)
    assert (outcome.reused, outcome.ran) == (2, 0)
    assert results(copy) == results(made.folder)


@pytest.mark.parametrize("name", ["runs/sgd-seed1", "runs/sgd-seed1/status.json"])
def test_an_absent_run_is_named_and_its_rows_stay(copy, monkeypatch, capsys, name):
    before = (copy / "timeline.csv").read_bytes()
    gone = copy / name
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    assert typed(monkeypatch, "report", copy) == 0
    line = "sgd has no finished run of seed 1, which the configuration lists"
    assert line in " ".join(capsys.readouterr().out.split())
    assert line in (copy / "report.html").read_text()
    assert (copy / "timeline.csv").read_bytes() == before


def test_score_names_absent_runs_too_but_only_those_it_was_asked_for(copy, monkeypatch, capsys):
    shutil.rmtree(copy / SGD)
    assert typed(monkeypatch, "score", copy) == 0
    assert "sgd has no finished run of seed 1" in " ".join(capsys.readouterr().out.split())
    assert typed(monkeypatch, "score", copy, "--methods", "scratch_t2") == 0
    assert "no finished run" not in capsys.readouterr().out


def test_rows_of_an_absent_run_stay_where_the_columns_differ(copy):
    from einstellung.results.merging import merge_timelines

    frame = Timeline.read(copy / "timeline.csv").frame
    Timeline(frame.drop(columns="top5")).write(copy / "timeline.csv")  # as an older version wrote it
    (copy / "study.json").unlink()
    shutil.rmtree(copy / SGD)
    merge_timelines(ResultsFolder(copy))
    after = Timeline.read(copy / "timeline.csv").frame
    assert len(after) == len(frame)
    assert after["acc"].tolist() == frame["acc"].tolist()


def test_the_merged_timeline_is_the_table_of_all_runs(made, tmp_path):
    """Joined as text, byte for byte what parsing and writing gives."""
    frame = Timeline.read_many(sorted(made.folder.glob("runs/*/timeline.csv")))
    assert frame.write(tmp_path / "parsed.csv").read_bytes() == (made.folder / "timeline.csv").read_bytes()


@pytest.mark.parametrize("lost", [["config.yaml"], ["study.json"], ["config.yaml", "study.json"]])
def test_a_lost_configuration_is_made_again(made, copy, lost):
    for name in lost:
        (copy / name).unlink()
    outcome = made.again(copy)
    assert (outcome.reused, outcome.ran) == (2, 0)
    assert (copy / "config.yaml").read_bytes() == (made.folder / "config.yaml").read_bytes()
    assert results(copy) == results(made.folder)


def test_runs_of_other_settings_are_not_adopted_where_the_configuration_is_lost(made, copy):
    for name in ("config.yaml", "study.json"):
        (copy / name).unlink()
    other = plan(_with_rate(made, 0.5).config, made.stream)
    with pytest.raises(InputError, match="was made with other settings"):
        ResultsFolder(copy).finished(SGD, other[-1].key)


def _with_rate(made: Study, lr: float) -> Prepared:
    config = made.prepared.config
    config = config.model_copy(update={"training": config.training.model_copy(update={"lr": lr})})
    return replace(made.prepared, config=config, recorded=config)


def test_a_changed_configuration_is_not_believed(copy):
    text = (copy / "config.yaml").read_text()
    assert "tau: 0.6" in text
    (copy / "config.yaml").write_text(text.replace("tau: 0.6", "tau: 0.9"))
    scored = score_folder(ResultsFolder(copy))
    assert scored.card.tau == 0.6
    assert "config.yaml is damaged: the configuration in study.json is used" in scored.evidence.damaged[0]


def test_a_killed_first_write_of_the_configuration_is_an_empty_folder(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    leftover = out / ".config-a1b2c3_d.writing.yaml"
    leftover.write_text("format: 2\nname: sm")
    (out / ".lock").touch()
    for check in (ResultsFolder(out).check_usable, lambda: check_family_root(out), lambda: check_root(out, SWEEP)):
        check()
    with ResultsFolder(out).in_use():
        assert not leftover.exists()
    (out / "mine.txt").touch()
    with pytest.raises(InputError, match=r"contains other files \(mine\.txt"):
        ResultsFolder(out).check_usable()


def test_what_killed_processes_left_goes(made, copy):
    left = [copy / SGD / ".timeline-a1b2c3_d.writing.csv", copy / "tables/.summary-a1b2c3_d.writing.md"]
    left += [copy / SGD / name for name in ("checkpoint.safetensors", "live.csv")]
    mine = copy / SGD / ".mine.writing.csv"
    for file in [*left, mine]:
        file.parent.mkdir(exist_ok=True)
        file.write_text("half")
    made.again(copy)
    assert not any(file.exists() for file in left)
    assert mine.exists()  # no name of ours


def test_the_second_of_two_configurations_is_refused_however_late_it_comes(made, copy):
    """One process read the folder while it was empty, and was stopped before it took the lock."""
    before = (copy / "config.yaml").read_bytes()
    with pytest.raises(InputError, match=r"training\.lr = 0\.01, not 0\.5"):
        replace(made, prepared=_with_rate(made, 0.5)).again(copy)
    assert (copy / "config.yaml").read_bytes() == before


@pytest.mark.parametrize("words", [["--out"], ["--sweep", "cue.size=2,4", "--out"]])
def test_a_folder_is_locked_before_it_is_read(tmp_path, monkeypatch, words):
    import einstellung.experiments.study as module

    seen = []

    def locked(config, out, **options):
        for folder in {out, out.parent} if "--sweep" in words else {out}:
            with pytest.raises(InputError, match="in use"), ResultsFolder(folder).in_use():
                pass
        seen.append(out)
        raise InputError("enough")

    monkeypatch.setattr(module, "prepare_study", locked)
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(SMALL))
    assert typed(monkeypatch, "run", tmp_path / "small.yaml", *words, tmp_path / "new" / "out") == 2
    assert seen
    assert not (tmp_path / "new").exists()  # refused: nothing is left


ARCHIVES = {
    "empty": lambda file: file.write_bytes(b""),
    "cut": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "a bare array": lambda file: file.write_bytes(_npy()),
    "no archive": lambda file: file.write_bytes(b"PK but no archive"),
    "flipped": flip,
    "objects": lambda file: np.savez(file, patched=np.array([{"a": 1}], dtype=object)),
}


def _npy() -> bytes:
    import io

    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ARCHIVES)
def test_a_damaged_archive_of_an_older_folder_is_left_out_and_made_again(made, copy, kind):
    (copy / "study.json").unlink()  # no hash of it: it must be noticed as it is read
    ARCHIVES[kind](copy / "samples.npz")
    scored = score_folder(ResultsFolder(copy))
    assert any("samples.npz is damaged" in line for line in scored.card.warnings)
    assert scored.evidence.runs.samples is None
    made.again(copy)
    assert (copy / "samples.npz").read_bytes() == (made.folder / "samples.npz").read_bytes()
