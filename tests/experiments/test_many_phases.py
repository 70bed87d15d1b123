"""Streams of one or of many phases without a planted cue, learners that work in stages, and both optimisers and schedules."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest
import torch

from einstellung.checks import Check
from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, check_groups, resolve
from einstellung.experiments.estimate import seconds_of
from einstellung.experiments.evaluation_schedule import splits_due
from einstellung.experiments.execution import JobExecution
from einstellung.experiments.plan import plan
from einstellung.experiments.throughput import Throughput
from einstellung.learners import Learner, Stage, Workload, learners
from einstellung.results.config import EvaluationConfig, build_config, merged
from einstellung.streams import EvaluationSplit, ImageSet, Phase, Stream, prove, streams

VALUES = {
    "name": "many",
    "stream": {"name": "noise"},
    "backbone": {"name": "resnet18", "width": 8},
    "training": {
        "epochs": [1, 2, 2],
        "batch_size": 8,
        "precision": "fp32",
        "optimiser": "adam",
        "lr": 0.01,
        "schedule": "cosine",
        "lr_end": 0.001,
    },
    "methods": ["two_stages"],
    "seeds": [3],
}
FILES = ("timeline.csv", "model.safetensors", "model_last.safetensors", "predictions.csv", "predictions_last.csv")


class HalfAtTheEnd(Workload):
    """The second stage goes through half of the images."""

    def share(self, options, sizes, number, stage):
        return 0.5 if stage == "finish" else 1.0


class StoppedError(Exception):
    """Stands for a power cut."""


@pytest.fixture
def named(own_names):
    """A stream of noise without a cue, and a learner that goes through its images and then once more through a few of them."""

    @streams.register("noise")
    def noise(tasks: int = 3, count: int = 16) -> Stream:
        def images(number: int) -> ImageSet:
            pixels = torch.randint(256, (count, 3, 8, 8), generator=torch.Generator().manual_seed(number))
            labels, index = torch.arange(count) % 2, number * 100 + torch.arange(count)
            return ImageSet.without_cue(pixels.to(torch.uint8), labels, index)

        phases = tuple(Phase(f"T{number + 1}", (0, 1), (), images(number)) for number in range(tasks))
        splits = [
            EvaluationSplit(f"{phase.name}_{what}", phase.name, images(50 + 10 * number + place), always=what == "val")
            for number, phase in enumerate(phases)
            for place, what in enumerate(("val", "extra"))
        ]
        return Stream(
            name="noise",
            phases=phases,
            splits=tuple(splits),
            pairs=(),
            cue=None,
            cover=None,
            n_outputs=2,
            class_names=("even", "odd"),
            mean=(0.5,) * 3,
            std=(0.5,) * 3,
            crop_padding=0,
            flip=False,
            checks=(lambda stream: Check("noise is noise", True, "looked at"),),
        )

    @learners.register("two_stages")
    class TwoStages(Learner):
        """Counts how often each stage began, and multiplies the head by 2 at the start of the second."""

        began = ()

        workload = HalfAtTheEnd()

        @classmethod
        def stages(cls, options, sizes, epochs, number):
            return (Stage("train", float(epochs[number])), Stage("finish", 2.0))

        def begin_phase(self, phase):
            super().begin_phase(phase)
            self.current = "none"

        def begin_stage(self, phase, stage):
            self.began = (*self.began, (phase.name, stage.name))
            self.current = stage.name
            if stage.name == "finish":
                with torch.no_grad():
                    self.net.head.weight.mul_(2)

        def batches(self, phase, epoch, size):
            rows = list(super().batches(phase, epoch, size))
            return rows[:1] if self.current == "finish" else rows

        def state_dict(self):
            return {"current": torch.tensor([ord(letter) for letter in self.current])}

        def load_state_dict(self, state):
            self.current = "".join(chr(code) for code in state["current"].tolist())


@pytest.fixture
def config(named):
    return resolve(build_config(VALUES))


def jobs_in(folder, config, on_progress=lambda work, where: None):
    stream = build_stream(config)
    return stream, [JobExecution(job, config, folder, stream, on_progress) for job in plan(config, stream)]


def ran(folder, config):
    stream, jobs = jobs_in(folder, config)
    for job in jobs:
        job.run()
    return stream, jobs[-1]


def test_every_phase_and_every_stage_is_learned(config, tmp_path):
    stream, run = ran(tmp_path, config)
    frame = pd.read_csv(run.folder / "timeline.csv")
    assert list(dict.fromkeys(frame.phase)) == ["T1", "T2", "T3"]
    at = frame[frame.split == frame.phase + "_val"].groupby("phase").epoch.apply(list).to_dict()
    # 16 images in whole epochs, then twice one batch of 8: half an epoch each
    assert at == {"T1": [0, 1, 1.5, 2], "T2": [0, 1, 2, 2.5, 3], "T3": [0, 1, 2, 2.5, 3]}
    assert run.learner.began == (("T2", "train"), ("T2", "finish"), ("T3", "train"), ("T3", "finish"))
    assert run.samples == {"T1": 16 + 16, "T2": 32 + 16, "T3": 32 + 16}
    last = frame[(frame.phase == "T3") & (frame.epoch == 3)]
    assert set(last.split) == {split.name for split in stream.splits}


@pytest.mark.parametrize("where", ["T2 epoch 2", "T2 epoch 3", "T2 epoch 4", "T3 epoch 1", "T3 epoch 4"])
def test_a_run_that_was_stopped_in_any_stage_ends_in_the_same_bytes(config, tmp_path, where):
    _, straight = ran(tmp_path / "straight", config)
    folder = tmp_path / "stopped"
    _, (first, run) = jobs_in(folder, config)
    first.run()

    def stop(words, force=False):
        if where in words:
            raise StoppedError

    run._report = stop
    with pytest.raises(StoppedError):
        run.run()
    _, (_, again) = jobs_in(folder, config)
    again.run()
    for name in FILES:
        assert (again.folder / name).read_bytes() == (straight.folder / name).read_bytes(), name
    assert again.samples == straight.samples


def test_the_rate_falls_along_half_a_wave_in_every_stage(config, tmp_path):
    _, (first, run) = jobs_in(tmp_path, config)
    first.run()
    rates = []
    observe = run.learner.observe
    run.learner.observe = lambda batch: rates.append(run.learner.optimiser.param_groups[0]["lr"]) or observe(batch)
    run.run()
    assert isinstance(run.learner.optimiser, torch.optim.Adam)
    top, half = 0.01, 0.001 + 0.009 * (1 + math.cos(math.pi / 2)) / 2
    a_phase = [top, top, half, half, top, half]  # two steps in each epoch of 'train', one in each of 'finish'
    assert rates == pytest.approx(a_phase + a_phase)


def test_a_stream_of_one_phase_is_one_run_from_random_weights(named, tmp_path):
    values = merged(VALUES, {"stream": {"tasks": 1}, "training": {"epochs": [2]}, "methods": ["sgd", "joint"]})
    config = resolve(build_config(values))
    _, jobs = jobs_in(tmp_path, config)
    assert [(job.job.kind, job.job.needs) for job in jobs] == [("run", None), ("run", None)]
    for job in jobs:
        job.run()
    both = [pd.read_csv(job.folder / "timeline.csv").drop(columns="method") for job in jobs]
    pd.testing.assert_frame_equal(*both)  # with nothing before it, joint training is plain training
    assert json.loads((jobs[0].folder / "status.json").read_text())["first_phase"] is None


def test_an_estimate_counts_the_measurements_of_every_phase(config):
    stream = build_stream(config)
    first, run = plan(config, stream)
    assert (first.work, run.work) == (16 * 1 + 16, 2 * (16 * 2 + 16))  # 'finish': two passes over half of the images
    seconds = seconds_of([first, run], config, stream, Throughput(math.inf, 1.0))
    images = 16 * len(stream.splits)
    assert seconds == {first.folder: (3 + 1) * images, run.folder: 2 * (4 + 1) * images}


@pytest.mark.parametrize("by_itself", [False, True])
def test_work_done_is_work_planned_and_a_run_that_goes_on_counts_what_it_had_done(config, tmp_path, by_itself):
    class Replaying(HalfAtTheEnd):
        def closing_cost(self, options, size):
            return 100.0 + size

        def extra_images_per_step(self, options, sizes, number, stage):
            """As many as a batch, or all 16 images of a phase: a step has the price of two."""
            return 0.0 if by_itself and stage == "finish" else float(min(config.training.batch_size, 16))

    learners["two_stages"].workload = Replaying()
    _, (first, run) = jobs_in(tmp_path, config)
    closed = 2 * (100 + 16)  # T1 and T2; nothing comes after T3
    assert run.job.work == 2 * (2 * 16 * 2 + (1 if by_itself else 2) * 16) + closed
    first.run()

    def stop(words, force=False):
        if "T3 epoch 2" in words:
            raise StoppedError

    run._report = stop
    with pytest.raises(StoppedError):
        run.run()
    on_progress = []
    _, (_, again) = jobs_in(tmp_path, config, lambda work, where: on_progress.append(work))
    again._save = lambda *_: again._report("saved", force=True)
    again.run()
    assert on_progress[0] > closed + 2 * (16 * 2 + 16)  # all of T2, and the first epoch of T3
    assert again._work == run.job.work


def test_with_first_phase_end_other_phases_wait_for_the_end_of_the_first(config):
    stream = build_stream(config)
    settings = EvaluationConfig(first_phase="end", extra_every=2, t1_all_every=3)

    def due(phase, epoch, last=False):
        return splits_due(stream, stream.phase(phase), settings, epoch, last)

    assert due("T1", 1) == ["T1_val"]
    assert due("T1", 2) == ["T1_val", "T1_extra"]
    assert due("T1", 3, last=True) == [split.name for split in stream.splits]
    assert due("T2", 1) == ["T2_val"]
    assert due("T2", 3) == ["T1_val", "T1_extra", "T2_val", "T3_val", "T3_extra"]


def test_a_stream_without_a_cue_takes_none_and_brings_its_own_checks(named):
    config = resolve(build_config(VALUES))
    assert config.cue is None
    assert config.cover is None
    assert resolve(config) == config
    proof = prove(build_stream(config))
    assert [check.name for check in proof.checks] == ["noise is noise"]
    assert "cue" not in proof.facts
    with pytest.raises(InputError, match="cue: the stream 'noise' plants no cue; leave it out"):
        resolve(build_config({**VALUES, "cue": {"name": "patch", "size": 2}}))
    with pytest.raises(InputError, match="cue is null, but the stream 'shapes' needs one"):
        resolve(build_config({"cue": None}))


def test_a_method_that_needs_groups_is_refused_where_nobody_knows_them(named):
    @learners.register("needy")
    class Needy(Learner):
        needs_groups = True

    config = resolve(build_config({**VALUES, "methods": ["needy"]}))
    with pytest.raises(
        InputError, match="needy needs the spurious features of every image, which the stream 'noise' does not provide"
    ):
        check_groups(config, build_stream(config))


def test_features_go_along_with_their_images():
    plain = ImageSet.without_cue(torch.zeros(3, 3, 2, 2, dtype=torch.uint8), torch.arange(3), torch.arange(3))
    known = ImageSet(
        *(getattr(plain, name) for name in ("images", "labels", "index", "has_cue")), torch.tensor([5, 6, 7])
    )
    assert known.take(torch.tensor([2, 0])).spurious().tolist() == [7, 5]
    assert ImageSet.joined([known, known]).spurious().tolist() == [5, 6, 7, 5, 6, 7]
    assert plain.spurious().tolist() == [0, 0, 0]
    assert ImageSet.joined([known, plain]).features is None
