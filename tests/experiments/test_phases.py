"""Studies of many phases from end to end: the preset, a run stopped between phases, what is measured when, bad settings."""

from __future__ import annotations

import pandas as pd
import pytest
import torch
from click.testing import CliRunner

import einstellung as e
from einstellung.cli import cli
from einstellung.diagnoses.reporting import report_study, score_folder, score_sweep
from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.attention_log import check_attention
from einstellung.experiments.evaluation_schedule import splits_due
from einstellung.experiments.execution import JobExecution
from einstellung.experiments.plan import plan
from einstellung.experiments.study import prepare_study, run_study
from einstellung.gating import gate
from einstellung.results.config import (
    AttentionConfig,
    EvaluationConfig,
    build_config,
    merged,
    read_preset,
    to_yaml,
    with_assignments,
)
from einstellung.results.folder import ResultsFolder
from einstellung.results.sweep import Sweep, write_sweep

from . import in_process  # noqa: F401 (registers a launcher)

TINY = {
    "name": "tiny",
    "stream": {"size": 12, "train_per_class": 6, "test_per_class": 2, "validation": 0.34},
    "backbone": {"width": 4},
    "training": {"epochs": 2, "batch_size": 16},
    "seeds": [1],
    "launcher": "in_process",
}
PRESET = "phases-shapes"
FILES = ("timeline.csv", "model.safetensors", "model_last.safetensors", "predictions.csv", "predictions_last.csv")


def values(**changes):
    return merged(merged(read_preset(PRESET), TINY), changes)


def trained(config, folder):
    """Run a study without its report, whose figures take longer than its nets."""
    run_study(prepare_study(config, folder), folder, 1, "a test")


@pytest.fixture(scope="module")
def config():
    return resolve(build_config(values()))


@pytest.fixture(scope="module")
def stream(config):
    return build_stream(config)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("phases") / "study"
    trained(build_config(values()), folder)
    report_study(ResultsFolder(folder))
    return folder, e.load(folder)


def test_the_preset_runs_is_scored_and_reported(study):
    folder, result = study
    card = result.card
    assert card.baseline == "scratch"
    assert (card.phases.shown, list(card.phases.records)) == ("T4", ["T2", "T4"])
    assert list(card.phases.records["T2"].methods) == ["scratch", "er", "scratch_pair", "sgd"]
    assert card.phases.cues["T3"] is None
    assert card.per_image is not None  # predictions are of the last phase, under its own names
    assert not any("baseline" in warning for warning in card.warnings)
    assert "Phase by phase" in (folder / "report.html").read_text()
    assert (folder / "figures" / "phases.png").exists()


def test_a_finished_study_is_resumed_without_work_and_scored_alike(study):
    folder, result = study
    before = {path: path.stat().st_mtime_ns for path in folder.glob("runs/*/status.json")}
    trained(build_config(values()), folder)
    assert {path: path.stat().st_mtime_ns for path in folder.glob("runs/*/status.json")} == before
    assert score_folder(ResultsFolder(folder)).card == result.card


def test_another_phase_is_chosen_by_the_score_or_the_command(study):
    folder, _ = study
    logs = [str(path) for path in sorted(folder.glob("runs/*/timeline.csv"))]
    assert e.score(logs, phase="T2").card.phases.shown == "T2"
    done = CliRunner().invoke(cli, ["score", *logs, "--phase", "T2"])
    assert "Phase by phase (T2 above)" in " ".join(done.output.split())
    with pytest.raises(InputError, match="phase is 'T9', which has no cue"):
        e.score(logs, phase="T9")


def test_the_gate_reads_the_last_phase_with_a_cue(study):
    folder, _ = study
    found = gate(folder, folder, baseline=folder, method=("sgd", "er"))
    assert set(found.accuracy) == {"cue", "covered", "clean"}
    assert found.baseline is not None


def jobs_in(folder, config):
    stream = build_stream(config)
    return [JobExecution(job, config, folder, stream, lambda work, where: None) for job in plan(config, stream)]


@pytest.mark.parametrize(
    ("method", "where"), [("er", "closing T2"), ("scratch_pair", "closing T3"), ("scratch_pair", "T4 epoch 4")]
)
def test_a_run_stopped_between_or_within_phases_ends_in_the_same_bytes(tmp_path, method, where):
    config = resolve(build_config(values(methods=[method], seeds=[1])))
    straight = jobs_in(tmp_path / "straight", config)
    for job in straight:
        job.run()
    first, run = jobs_in(tmp_path / "stopped", config)
    first.run()

    class StoppedError(Exception):
        pass

    def stop(words, force=False):
        if where in words:
            raise StoppedError

    run._report = stop
    with pytest.raises(StoppedError):
        run.run()
    again = jobs_in(tmp_path / "stopped", config)[-1]
    again.run()
    for name in FILES:
        assert (again.folder / name).read_bytes() == (straight[-1].folder / name).read_bytes(), name
    assert again.samples == straight[-1].samples
    assert again._work == pytest.approx(straight[-1]._work) == pytest.approx(straight[-1].job.work)


def test_what_scratch_pair_trained_on(study):
    """Every later phase: the one before and its own, 2 epochs each; only its own count, and only they are measured."""
    folder, _ = study
    frame = pd.read_csv(folder / "runs" / "scratch_pair-seed1" / "timeline.csv")
    own = frame[(frame["phase"] == "T3") & (frame["split"] == "T3_val")]
    assert own["epoch"].tolist() == [0, 1, 2]
    status = ResultsFolder(folder).read_if_whole(folder / "runs" / "scratch_pair-seed1" / "status.json")
    images = 6 * 4
    assert status["real_samples"] == {"T1": 4 * images, "T2": 4 * images, "T3": 4 * images, "T4": 2 * images}


def test_of_other_phases_only_their_test_images_are_measured_until_the_end(stream):
    def due(phase, epoch, last=False, **settings):
        return set(splits_due(stream, stream.phase(phase), EvaluationConfig(**settings), epoch, last))

    own = {split.name for split in stream.splits if split.phase == "T4"}
    assert due("T4", 1) == own | {"T1_all", "T2_all", "T3_all"}
    assert due("T4", 3, t1_all_every=2, extra_every=2) == {
        *("T4_shortcut_normal", "T4_shortcut_masked", "T4_nonshortcut_normal", "T4_val")
    }
    assert due("T4", 2, last=True) == {split.name for split in stream.splits}
    assert due("T1", 1, first_phase="own") == {"T1_all", "T1_val"}
    assert "T2_shortcut_normal" not in due("T1", 1, first_phase="end")


def test_two_phases_have_no_such_key_and_a_resolved_configuration_is_read_again(config):
    assert "phases" not in to_yaml(resolve(build_config(read_preset("demo"))))
    assert resolve(build_config(config.model_dump(mode="json"))) == config
    assert config.training.epochs == (2, 2, 2, 2)


def test_every_phase_belongs_to_the_key_of_a_run(config, stream):
    changed = with_assignments(values(), ["stream.phases.1.cue.share=0.5"])
    other = resolve(build_config(changed))
    assert [job.key for job in plan(config, stream)] != [job.key for job in plan(other, build_stream(other))]


def test_wrong_settings_of_phases_are_one_line(stream):
    with pytest.raises(InputError, match=r"training\.epochs has 3 entries, but the stream 'shapes' has 4 phases"):
        build_stream(resolve(build_config(values(training={"epochs": [1, 1, 1]}))))
    with pytest.raises(InputError, match="phases has 4 entries, counted from 0: there is none with the number 7"):
        with_assignments(values(), ["stream.phases.7.cue=null"])
    with pytest.raises(InputError, match="probes compare the nets of T2 with those of T1"):
        e.run(values(probes=["cka"]), out="never")
    with pytest.raises(InputError, match="attention is measured in T2"):
        check_attention(AttentionConfig(), stream, torch.nn.Identity(), torch.zeros(1), 2)


def test_a_sweep_over_an_earlier_cue_shows_the_habit(tmp_path):
    """Two arms by ``--sweep stream.phases.1.cue``: with the cue in T2 and without; the same nets until T2."""
    sweep = Sweep.parse("stream.phases.1.cue=null,{share: 1.0}")
    score = {"tau": 1e-6, "smoothing": "none"}
    easy = {"training": {"epochs": [1, 1, 1, 3], "lr": 0.1}, "score": score, "methods": ["scratch", "sgd"]}
    studies = sweep.studies(values(seeds=[1, 2], **easy), "test")
    for name, one in studies.items():
        trained(one, tmp_path / name)
    write_sweep(tmp_path, sweep)
    with_cue = next(name for name in studies if "share" in name)
    habit = score_sweep(tmp_path).studies[with_cue].card.phases.records["T4"].methods["sgd"].habit
    assert habit.phases == ("T2",)
    assert habit.effect.n > 0
    alone = score_folder(ResultsFolder(tmp_path / with_cue)).card
    assert alone.phases.records["T4"].methods["sgd"].habit == habit
