"""Jobs of every kind of learner: what they leave behind, and that stopping in between changes nothing of it."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.execution import JobExecution
from einstellung.experiments.plan import plan
from einstellung.results.config import build_config, merged

from .conftest import SMALL

CHANGE = {
    "stream": {"train_per_class": 6, "t1": [0, 1], "t2": [8, 10], "shortcut": [8]},
    "training": {"milestones": [[], [2]]},
    "evaluation": {"t1_all_every": 5, "extra_every": 5},
    "methods": ["gpm", "dgr", "interleaved", "joint"],
    "learners": {"gpm": {"samples": 16}, "dgr": {"z": 4, "generator_epochs": 1}},
}
PREDICTIONS = ("predictions.csv", "predictions_last.csv")
RUN_FILES = ("timeline.csv", "model.safetensors", "model_last.safetensors", *PREDICTIONS, "pictures.npz")


class StoppedError(Exception):
    """Stands for a power cut."""


@pytest.fixture(scope="module")
def config():
    return resolve(build_config(merged(SMALL, CHANGE)))


@pytest.fixture(scope="module")
def stream(config):
    return build_stream(config)


@pytest.fixture(scope="module")
def make_job(config, stream, tmp_path_factory):
    """Jobs beside the one first phase that these methods start from."""
    folder = tmp_path_factory.mktemp("jobs")
    jobs = plan(config, stream)
    (first,) = (job for job in jobs if job.kind == "first_phase")
    JobExecution(first, config, folder, stream, lambda work, where: None).run()

    def build(method):
        job = next(job for job in jobs if job.kind == "run" and job.method == method)
        return JobExecution(job, config, folder, stream, lambda work, where: None)

    return build


@pytest.fixture(scope="module")
def straight(make_job):
    """Every run without a break, with the learning rates of its steps."""
    done = {}
    for method in CHANGE["methods"]:
        job = make_job(method)
        rates = []
        observe = job.learner.observe

        def watched(batch, job=job, rates=rates, observe=observe):
            rates.append((job.learner.optimiser.param_groups[0]["lr"], len(batch.labels)))
            return observe(batch)

        job.learner.observe = watched
        job.run()
        done[method] = SimpleNamespace(job=job, rates=rates, files=contents(job.folder), status=status(job.folder))
    return done


def contents(folder):
    return {name: (folder / name).read_bytes() for name in RUN_FILES if (folder / name).exists()}


def status(folder):
    return json.loads((folder / "status.json").read_text())


def table(run, name):
    return pd.read_csv(io.BytesIO(run.files[name]))


@pytest.mark.parametrize("method", CHANGE["methods"])
def test_a_run_that_was_stopped_ends_in_the_same_bytes(make_job, straight, method):
    def stop(where, force=False):
        if "T2 epoch 2" in where:
            raise StoppedError

    stopped = make_job(method)
    for name in straight[method].files:
        (stopped.folder / name).unlink()
    stopped._report = stop
    with pytest.raises(StoppedError):
        stopped.run()
    again = make_job(method)
    again.run()
    assert contents(again.folder) == straight[method].files
    assert again.samples == straight[method].job.samples


@pytest.mark.parametrize("file", PREDICTIONS)
@pytest.mark.parametrize("method", ["interleaved", "gpm"])
def test_the_chosen_checkpoint_and_the_last_are_known_on_every_split(straight, stream, method, file):
    """Whatever was due at that epoch: predictions and rows of all splits, and each accuracy that of the predictions."""
    run = straight[method]
    frame, said = table(run, "timeline.csv"), table(run, file)
    epoch = run.status["chosen_epoch"] if file == "predictions.csv" else frame[frame.phase == "T2"].epoch.max()
    rows = frame[(frame.phase == "T2") & (frame.epoch == epoch)].set_index("split")
    assert set(said.split) == set(rows.index) == {split.name for split in stream.splits}
    for split, part in said.groupby("split"):
        right = (part.label == part.prediction).groupby(part.label).mean()
        assert right.mean() == pytest.approx(rows.acc[split])
        assert part["index"].tolist() == stream.split(split).images.index.tolist()
    in_time = frame[frame.phase == "T2"].epoch
    assert in_time.is_monotonic_increasing


def test_joint_spends_the_budget_of_both_phases(straight, stream):
    """1 x T1 + 3 x T2 images in two passes, the second cut short; the rate falls after two thirds of the way: one pass."""
    run, sizes = straight["joint"], [len(phase.train) for phase in stream.phases]
    budget = sizes[0] + 3 * sizes[1]
    assert sum(sizes) < budget < 2 * sum(sizes)
    images = {rate: sum(count for other, count in run.rates if other == rate) for rate, _ in run.rates}
    assert images == pytest.approx({0.01: sum(sizes), 0.001: budget - sum(sizes)})
    assert sum(run.status["real_samples"].values()) == budget
    frame = table(run, "timeline.csv")
    epochs = frame[frame.split == "T2_shortcut_normal"].epoch.tolist()
    assert epochs == pytest.approx([0, 1, run.status["real_samples"]["T2"] / sizes[1]], abs=1e-6)
    assert set(frame.phase) == {"T2"}


def test_every_phase_follows_its_own_milestones(straight, stream):
    """None in T1; in T2 the rate falls after its second epoch."""
    size = len(stream.phases[1].train)
    images = {rate: sum(count for other, count in straight["gpm"].rates if other == rate) for rate in (0.01, 0.001)}
    assert sorted({rate for rate, _ in straight["gpm"].rates}) == pytest.approx([0.001, 0.01])
    assert images[0.01] == 2 * size


def test_interleaved_counts_both_phases_and_only_t2_for_the_epoch(straight, stream):
    size = len(stream.phases[1].train)
    assert straight["interleaved"].status["real_samples"] == {"T1": 3 * size, "T2": 3 * size}
    frame = table(straight["interleaved"], "timeline.csv")
    assert frame[frame.split == "T2_val"].epoch.tolist() == [0, 1, 2, 3]


def test_what_a_generator_draws_is_kept(straight):
    assert [method for method, run in straight.items() if "pictures.npz" in run.status["files"]] == ["dgr"]
    with np.load(io.BytesIO(straight["dgr"].files["pictures.npz"]), allow_pickle=False) as pictures:
        assert pictures["generated"].shape == (64, 12, 12, 3)
        assert pictures["generated"].dtype == np.uint8
