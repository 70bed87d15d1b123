"""Whole studies: the same bytes whatever happens on the way, failures that stay where they are, honest refusals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from einstellung.experiments.folder import ResultsFolder
from einstellung.timeline import Timeline

from .conftest import SMALL, einstellung, results, study


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole study with one worker."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "small.yaml").write_text(yaml.safe_dump(SMALL))
    einstellung("run", folder / "small.yaml", "--out", folder / "out", "--workers", 1)
    return folder / "out"


def test_what_a_results_folder_holds(finished):
    names = {str(path.relative_to(finished)) for path in finished.rglob("*") if path.is_file()}
    assert {"config.yaml", "proof.json", "provenance.json", "timeline.csv", "score.json", "report.html"} <= names
    for run in ("sgd-seed1", "derpp-seed1", "scratch_t2-seed1"):
        for file in ("timeline.csv", "model.safetensors", "model_last.safetensors", "predictions.csv", "status.json"):
            assert f"runs/{run}/{file}" in names
    assert not any("checkpoint" in name or ".writing" in name for name in names)
    provenance = json.loads((finished / "provenance.json").read_text())
    assert provenance["packages"]["torch"].startswith("2.13")
    assert None not in (provenance["finished"], provenance["code_hash"], provenance["data"]["T2_shortcut_masked"])
    assert provenance["command"].startswith("einstellung run ")
    assert all(check["passed"] for check in json.loads((finished / "proof.json").read_text())["checks"])


def test_the_timeline_of_a_study(finished):
    frame = Timeline.read(finished / "timeline.csv").frame
    sgd = frame[(frame.method == "sgd") & (frame.seed == 1)]
    assert sorted(sgd[sgd.phase == "T2"].epoch.unique()) == [0, 1, 2, 3]
    assert sorted(sgd[sgd.phase == "T1"].epoch.unique()) == [0, 1]
    assert set(sgd[sgd.phase == "T1"].split) == {"T1_all"}
    assert sgd[sgd.phase == "T2"].split.nunique() == 7
    assert set(frame[frame.method == "scratch_t2"].phase) == {"T2"}
    status = json.loads((finished / "runs/scratch_t2-seed1/status.json").read_text())
    assert status["real_samples"] == {"T1": 0, "T2": 3 * 12 * 7}


def test_sgd_and_ewc_share_t1_and_part_in_t2(finished):
    frame = Timeline.read(finished / "timeline.csv").frame.set_index("method")
    t1 = frame[frame.phase == "T1"].reset_index()
    sgd, ewc = (t1[t1.method == name].drop(columns="method").reset_index(drop=True) for name in ("sgd", "ewc_on"))
    assert sgd.equals(ewc)
    models = {name: (finished / f"runs/{name}-seed1/model_last.safetensors").read_bytes() for name in ("sgd", "ewc_on")}
    assert models["sgd"] != models["ewc_on"]


def test_predictions_agree_with_the_timeline(finished):
    import pandas as pd

    for run in ("sgd-seed1", "scratch_t2-seed1"):
        said = pd.read_csv(finished / "runs" / run / "predictions.csv")
        frame = Timeline.read(finished / "runs" / run / "timeline.csv").frame
        epoch = json.loads((finished / "runs" / run / "status.json").read_text())["chosen_epoch"]
        rows = frame[(frame.phase == "T2") & (frame.epoch == epoch)].set_index("split")
        for split, part in said.groupby("split"):
            per_class = (part.label == part.prediction).groupby(part.label).mean()
            assert per_class.mean() == pytest.approx(rows.loc[split, "acc"])
        best = frame[(frame.phase == "T2") & (frame.split == "T2_val") & (frame.epoch > 0)]
        assert epoch == best.loc[best.acc.idxmax(), "epoch"]


def test_two_workers_give_the_same_bytes(finished, small_config, tmp_path):
    outcome = study(small_config, tmp_path / "out", workers=2)
    assert not outcome.failures
    assert results(tmp_path / "out") == results(finished)


def test_a_second_run_trains_nothing(finished):
    before = {path: path.stat().st_mtime_ns for path in finished.glob("runs/*/*")}
    done = einstellung("run", finished.parent / "small.yaml", "--out", finished, "--json")
    assert "4 finished runs were reused, 0 were run" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in finished.glob("runs/*/*")} == before
    assert json.loads(done.stdout)["methods"]["sgd"]["n_seeds"] == 1


def test_killed_in_the_middle_of_phase_two_and_run_again(finished, small_config, tmp_path):
    """kill -9 while a T2 checkpoint lies there; the second run goes on from it and ends in the same bytes."""
    out = tmp_path / "out"
    command = [sys.executable, "-c", "from einstellung.cli import main; main()", "run", str(small_config)]
    process = subprocess.Popen([*command, "--out", str(out), "--workers", "1"], stderr=subprocess.DEVNULL)
    checkpoint = out / "runs/derpp-seed1/checkpoint.safetensors"
    deadline = time.monotonic() + 120
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert checkpoint.exists(), "the study ended before it could be killed in phase 2"
    assert not (out / "runs/derpp-seed1/status.json").exists()
    outcome = study(small_config, out)
    assert not outcome.failures
    assert outcome.ran + outcome.reused == 4
    assert results(out) == results(finished)


def test_an_epoch_is_not_trained_twice_after_a_kill(small_config, tmp_path):
    """Resuming starts after the last whole epoch: the sample counter of the checkpoint goes on, not from nothing."""
    from einstellung.experiments.assembly import build_stream
    from einstellung.experiments.config import build_config, read_config
    from einstellung.experiments.execution import JobExecution
    from einstellung.experiments.plan import plan

    config = build_config(read_config(small_config))
    stream = build_stream(config)
    job = next(job for job in plan(config, stream) if job.method == "scratch_t2" and job.seed == 1)

    class StoppedError(Exception):
        pass

    def stop(work: float, where: str) -> None:
        if "epoch 3" in where:
            raise StoppedError

    execution = JobExecution(job, config, tmp_path, stream, stop)
    execution._heard = -1e9
    execution._tell = lambda where, force=False: stop(0, where)
    with pytest.raises(StoppedError):
        execution.run()
    places: list[str] = []
    again = JobExecution(job, config, tmp_path, stream, lambda work, where: None)
    again._tell = lambda where, force=False: places.append(where)
    again.run()
    assert set(places) == {"T2 epoch 3/3"}
    assert again.samples["T2"] == 3 * len(stream.phases[1].train)


def test_a_failed_run_leaves_the_others_alone(small_config, tmp_path):
    """An exploding penalty is ewc_on's own affair."""
    out = tmp_path / "out"
    done = einstellung("run", small_config, "--out", out, "--set", "learners.ewc_on.e_lambda=1e30", expect=1)
    assert "einstellung: ewc_on seed 1 failed: FloatingPointError" in done.stderr
    assert json.loads((out / "runs/ewc_on-seed1/status.json").read_text())["state"] == "failed"
    card = json.loads((out / "score.json").read_text())
    assert set(card["methods"]) == {"scratch_t2", "sgd", "derpp"}
    assert "ewc_on seed 1" in (out / "report.html").read_text()


def test_a_worker_that_is_killed_is_named(small_config, tmp_path):
    """Memory ran out, say: the process is gone without a word; the study goes on and says which run it was."""
    plugin = tmp_path / "sitecustomize.py"
    plugin.write_text(
        "import os, signal\n"
        "import einstellung.experiments.execution as execution\n"
        "inner = execution.execute\n"
        "def execute(job, *rest):\n"
        "    if job.method == 'scratch_t2':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    inner(job, *rest)\n"
        "execution.execute = execute\n"
    )
    out = tmp_path / "out"
    words = ("run", small_config, "--out", out, "--seeds", 1, "--methods", "scratch_t2,sgd")
    done = einstellung(*words, expect=1, PYTHONPATH=f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    assert "scratch_t2 seed 1 failed: its process was ended by signal 9" in done.stderr
    assert json.loads((out / "runs/sgd-seed1/status.json").read_text())["state"] == "finished"
    mended = study(small_config, out, seeds=[1], methods=["scratch_t2", "sgd"])
    assert (mended.reused, mended.ran, mended.failures) == (1, 1, ())


def test_seeds_and_methods_can_be_added_to_a_folder(small_config, tmp_path):
    out = tmp_path / "out"
    study(small_config, out, seeds=[1], methods=["scratch_t2"])
    outcome = study(small_config, out, seeds=[2], methods=["sgd"])
    assert (outcome.reused, outcome.ran) == (0, 1)  # what was asked for, and no more
    assert outcome.timeline.runs == (("scratch_t2", 1), ("sgd", 2))
    assert ResultsFolder(out).config().methods == ("scratch_t2", "sgd")
    assert ResultsFolder(out).config().seeds == (1, 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "training.lr=0.5"], "training.lr = 0.01, not 0.5; choose another --out"),
        (["--set", "learners.derpp.alpha=0.9"], "learners.derpp.alpha = None, not 0.9"),
        (["--set", "cue.share=0.5"], "cue.share = None, not 0.5"),
    ],
)
def test_a_folder_does_not_mix_two_studies(finished, words, message):
    done = einstellung("run", finished.parent / "small.yaml", "--out", finished, *words, expect=2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_in_use_is_refused(finished):
    with ResultsFolder(finished).in_use():
        for words in (["run", finished.parent / "small.yaml", "--out", finished], ["report", finished]):
            done = einstellung(*words, expect=2)
            assert "is in use by another einstellung process" in done.stderr
            assert done.stderr.count("\n") == 1


def test_a_checkpoint_that_is_cut_short_stops_the_study_before_it_starts(finished, small_config, tmp_path):
    out = tmp_path / "out"
    study(small_config, out, seeds=[1], methods=["sgd", "scratch_t2"])
    state = next(out.glob("first_phases/*/state.safetensors"))
    state.write_bytes(state.read_bytes()[:-100])
    before = results(out)
    done = einstellung("run", small_config, "--out", out, "--seeds", 1, "--methods", "ewc_on", expect=2)
    assert "state.safetensors is damaged or cut short" in done.stderr
    assert done.stderr.count("\n") == 1
    assert results(out) == before


def test_a_strangers_folder_is_left_alone(small_config, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("chapter 1")
    done = einstellung("run", small_config, "--out", tmp_path / "mine", expect=2)
    assert "holds other files (thesis.tex" in done.stderr
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == ["thesis.tex"]


def test_a_failed_proof_stops_the_run(small_config, tmp_path):
    """A validation share that rounds to no image at all."""
    done = einstellung("run", small_config, "--out", tmp_path / "out", "--set", "stream.validation=0.001", expect=2)
    assert done.stderr.count("\n") == 1
    assert "T2_val of T2 is empty" in done.stderr
    assert not (tmp_path / "out").exists()


def test_measurements_within_an_epoch(finished, small_config, tmp_path):
    out = tmp_path / "out"
    evaluation = {"every_steps": 4, "t1_all_every": 2}
    study(small_config, out, seeds=[1], methods=["scratch_t2", "sgd"], evaluation=evaluation)
    frame = Timeline.read(out / "timeline.csv").frame
    rows = frame[(frame.method == "sgd") & (frame.phase == "T2")]
    patched = rows[rows.split == "T2_shortcut_normal"].epoch.tolist()
    assert patched[:4] == pytest.approx([0, 32 / 84, 64 / 84, 1], abs=1e-6)
    assert len(patched) == 10
    assert rows[rows.split == "T1_all"].epoch.tolist() == [0, 2, 3]
    dense, plain = (folder / "runs/sgd-seed1/model_last.safetensors" for folder in (out, finished))
    assert dense.read_bytes() == plain.read_bytes()  # measuring more often trains the very same net
