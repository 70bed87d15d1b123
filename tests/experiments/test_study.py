"""Whole studies: the same bytes whatever happens on the way, failures that stay where they are, honest refusals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest
import torch
import yaml

from einstellung.results.folder import ResultsFolder
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
    assert provenance["packages"]["torch"] == version("torch")
    assert None not in (provenance["finished"], provenance["code_hash"], provenance["data"]["T2_shortcut_masked"])
    assert provenance["command"].startswith("einstellung run ")
    assert all(check["passed"] for check in json.loads((finished / "proof.json").read_text())["checks"])


def test_the_timeline_of_a_study(finished):
    frame = Timeline.read(finished / "timeline.csv").frame
    sgd = frame[(frame.method == "sgd") & (frame.seed == 1)]
    assert sorted(sgd[sgd.phase == "T2"].epoch.unique()) == [0, 1, 2, 3]
    assert sorted(sgd[sgd.phase == "T1"].epoch.unique()) == [0, 1]
    assert set(sgd[sgd.phase == "T1"].split) == {"T1_all"}
    assert sgd[sgd.phase == "T2"].split.nunique() == 8
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
    assert "reused 4 finished runs, ran 0" in done.stderr
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
    from einstellung.experiments.assembly import build_stream, resolve
    from einstellung.experiments.execution import JobExecution
    from einstellung.experiments.plan import plan
    from einstellung.results.config import build_config, read_config

    config = resolve(build_config(read_config(small_config)))
    stream = build_stream(config)
    job = next(job for job in plan(config, stream) if job.method == "scratch_t2" and job.seed == 1)

    class StoppedError(Exception):
        pass

    def stop(work: float, where: str) -> None:
        if "epoch 3" in where:
            raise StoppedError

    execution = JobExecution(job, config, tmp_path, stream, stop)
    execution._reported_at = -1e9
    execution._report = lambda where, force=False: stop(0, where)
    with pytest.raises(StoppedError):
        execution.run()
    places: list[str] = []
    again = JobExecution(job, config, tmp_path, stream, lambda work, where: None)
    again._report = lambda where, force=False: places.append(where)
    again.run()
    assert set(places[:-1]) == {"T2 epoch 3/3"}
    assert places[-1] == "saving"
    assert again.samples["T2"] == 3 * len(stream.phases[1].train)


def test_a_failed_run_leaves_the_others_alone(small_config, tmp_path):
    """An exploding penalty is ewc_on's own affair."""
    out = tmp_path / "out"
    done = einstellung("run", small_config, "--out", out, "--set", "learners.ewc_on.e_lambda=1e30", expect=1)
    assert "einstellung: ewc_on seed 1 failed: FloatingPointError" in done.stderr
    assert json.loads((out / "runs/ewc_on-seed1/status.json").read_text())["state"] == "failed"
    card = json.loads((out / "score.json").read_text())
    assert set(card["methods"]) == {"scratch_t2", "sgd", "derpp"}
    for _ in ("after the run", "after a new report"):
        assert "ewc_on-seed1 failed" in (out / "report.html").read_text()
        einstellung("report", out)


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
    assert "scratch_t2 seed 1 failed: its process was killed by signal 9" in done.stderr
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
        (["--set", "learners.derpp.alpha=0.9"], "learners.derpp.alpha = 0.1, not 0.9"),
        (["--methods", "sgd", "--set", "learners.derpp.alpha=0.9"], "learners.derpp.alpha = 0.1, not 0.9"),
        (["--set", "cue.share=0.5"], "cue.share = 1.0, not 0.5"),
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


def test_a_finished_run_that_lost_a_file_is_run_again(small_config, tmp_path):
    out = tmp_path / "out"
    study(small_config, out, methods=["scratch_t2"])
    before = results(out)
    (out / "runs/scratch_t2-seed1/model.safetensors").unlink()
    outcome = study(small_config, out, methods=["scratch_t2"])
    assert (outcome.reused, outcome.ran) == (0, 1)
    assert results(out) == before


def test_the_folder_holds_the_resolved_configuration(finished):
    config = ResultsFolder(finished).config()
    shown = {"size": 4, "colour": [255, 0, 255], "place": "top-left", "opacity": 1.0}
    assert config.cue.options == {**shown, "share": 1.0, "share_nsc": 0.0, "habit": "none"}
    assert config.learners["derpp"] == {
        "buffer": 20,
        "alpha": 0.1,
        "beta": 0.5,
        "draw": 4,
        "replay": "within",
        "joined": False,
    }
    assert config.stream.options["validation"] == 0.1
    assert config.training.milestones == (35, 45)


def test_a_default_written_out_is_the_same_study(finished):
    assert study(finished.parent / "small.yaml", finished, cue={"place": "top-left"}).ran == 0


def test_score_does_not_write_into_a_study(finished):
    done = einstellung("score", finished, "--out", finished, expect=2)
    assert "is the results folder of a study" in done.stderr


def test_the_baselines_job_never_touches_a_t1_image(small_config, tmp_path, monkeypatch):
    """The job as a worker runs it, with every batch that reaches the learner watched."""
    from einstellung.experiments.assembly import build_stream, resolve
    from einstellung.experiments.execution import JobExecution
    from einstellung.experiments.plan import plan
    from einstellung.learners import Learner
    from einstellung.results.config import build_config, read_config

    config = resolve(build_config(read_config(small_config)))
    stream = build_stream(config)
    seen: dict[str, set[bytes]] = {}
    observe = Learner.observe

    def watched(self, batch):
        seen.setdefault(type(self).__name__, set()).update(image.numpy().tobytes() for image in batch.raw.images)
        return observe(self, batch)

    monkeypatch.setattr(Learner, "observe", watched)
    for job in plan(config, stream):
        if job.method in ("scratch_t2", "sgd"):
            JobExecution(job, config, tmp_path, stream, lambda work, where: None).run()
    t1 = {image.numpy().tobytes() for image in stream.phases[0].train.images}
    assert not seen["ScratchT2"] & t1
    assert seen["FineTuning"] >= t1  # the same watch does see T1 where it is trained on
    status = json.loads((tmp_path / "runs/scratch_t2-seed1/status.json").read_text())
    assert status["real_samples"]["T1"] == 0


FLAWS = {
    "shared image": lambda s: _with_t2(s, images=_first_of_t1(s)),
    "cue left out": lambda s: _with_t2(s, has_cue=torch.zeros_like(s.phases[1].train.has_cue)),
    "labels of the other phase": lambda s: _with_t2(s, labels=s.phases[1].train.labels - 24),
    "mask beside the patch": lambda s: replace(
        s, splits=tuple(_shifted(split) if split.name == "T2_shortcut_masked" else split for split in s.splits)
    ),
}


def _with_t2(stream, **changes):
    t1, t2 = stream.phases
    return replace(stream, phases=(t1, replace(t2, train=replace(t2.train, **changes))))


def _first_of_t1(stream):
    images = stream.phases[1].train.images.clone()
    images[0] = stream.phases[0].train.images[0]
    return images


def _shifted(split):
    return replace(split, images=replace(split.images, images=split.images.images.roll(5, dims=-1)))


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_broken_stream_stops_the_run_before_it_writes_anything(small_config, tmp_path, monkeypatch, capsys, flaw):
    """Through the command itself, with the stream that everybody uses broken on purpose."""
    from einstellung import cli
    from einstellung.experiments import study as module

    whole = module.build_stream
    monkeypatch.setattr(module, "build_stream", lambda config: FLAWS[flaw](whole(config)))
    monkeypatch.setattr(sys, "argv", ["einstellung", "run", str(small_config), "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    assert "fails its checks" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_strangers_folder_is_left_alone(small_config, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("chapter 1")
    done = einstellung("run", small_config, "--out", tmp_path / "mine", expect=2)
    assert "contains other files (thesis.tex" in done.stderr
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
    chosen = json.loads((out / "runs/sgd-seed1/status.json").read_text())["chosen_epoch"]
    assert rows[rows.split == "T1_all"].epoch.tolist() == sorted({0, 2, 3, chosen})  # all of the chosen one is known
    assert set(rows[rows.epoch == chosen].split) == set(rows[rows.epoch == 0].split)
    dense, plain = (folder / "runs/sgd-seed1/model_last.safetensors" for folder in (out, finished))
    assert dense.read_bytes() == plain.read_bytes()  # measuring more often trains the very same net
