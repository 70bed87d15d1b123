"""Runs over three phases that are stopped anywhere end in the same bytes, whatever the method keeps and however it starts."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
import torch

from einstellung.backbones import backbones
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.execution import JobExecution
from einstellung.experiments.plan import plan
from einstellung.results.config import build_config
from einstellung.streams import EvaluationSplit, Stream, streams
from tests.learners.conftest import SmallNet

FILES = ("timeline.csv", "model.safetensors", "model_last.safetensors", "predictions.csv", "predictions_last.csv")
OPTIONS = {
    "ewc": {"e_lambda": 10.0},
    "fromp": {"buffer": 10, "draw": 6, "epochs": 2, "jitter": 1e-3},
    "bgs": {"buffer": 16, "draw": 4, "last_layer_epochs": 2},
    "gdumb": {"buffer": 16},
    "scratch": {},
    "lwf": {},
    "si": {"c": 1.0},
    "agem": {"buffer": 12, "draw": 4},
    "er_ace": {"buffer": 12, "draw": 4},
    "cbp": {"replacement": 0.05, "maturity": 2},
    "l2p": {"pool": 4, "length": 2, "top": 2},
    "sgd-then-l2p": {"l2p": {"pool": 4, "length": 2, "top": 2}},
    "coda_prompt": {"pool": 6, "length": 4, "layers": 1},
    "xder": {"buffer": 12, "draw": 4, "views": 2, "consistency_draw": 4},
    "lws": {"buffer": 24, "draw": 4, "clusters": 2, "early": 0.0},
    "er+erm": {"er": {"buffer": 12, "draw": 4}},
    "derpp+erm": {"derpp": {"buffer": 12, "draw": 4}},
    "erm-then-bgs": {"bgs": {"buffer": 16, "draw": 4, "last_layer_epochs": 2}},
    "bgs-then-er": {"bgs": {"buffer": 16, "draw": 4, "last_layer_epochs": 2}, "er": {"buffer": 12, "draw": 4}},
}
STOPS = {
    "ewc": ("T2 epoch 2", "T3 epoch 1"),
    "fromp": ("T2 epoch 2", "T3 epoch 1", "T3 epoch 2"),
    "bgs": ("T1 epoch 3", "T2 epoch 2", "T2 epoch 3", "T3 epoch 1"),  # the third epoch is that of the last layer
    "gdumb": ("T1 epoch 2", "T2 epoch 2", "T3 epoch 1"),
    "scratch": ("T2 epoch 2", "T3 epoch 1"),
    "lwf": ("T2 epoch 2", "T3 epoch 1"),
    "si": ("T1 epoch 2", "T2 epoch 2", "T3 epoch 1"),
    "agem": ("T2 epoch 2", "T3 epoch 1"),
    "er_ace": ("T1 epoch 2", "T2 epoch 2", "T3 epoch 1"),
    "cbp": ("T1 epoch 2", "T2 epoch 2", "T3 epoch 1"),
    "l2p": ("T1 epoch 2", "T3 epoch 1"),
    "sgd-then-l2p": ("T2 epoch 2", "T3 epoch 1"),
    "coda_prompt": ("T1 epoch 2", "T2 epoch 2", "T3 epoch 1"),
    "xder": ("T1 epoch 2", "T2 epoch 2", "T3 epoch 1"),
    "lws": ("T1 epoch 2", "T2 epoch 1", "T2 epoch 2", "T3 epoch 1"),
    "er+erm": ("T2 epoch 2", "T3 epoch 1"),
    "derpp+erm": ("T2 epoch 2", "T3 epoch 1"),
    "erm-then-bgs": ("T2 epoch 2", "T2 epoch 3", "T3 epoch 1"),
    "bgs-then-er": ("T1 epoch 3", "T2 epoch 2", "T3 epoch 1"),
}
TRANSFORMER = {"name": "vit", "dim": 8, "depth": 1, "heads": 2, "patch": 4, "image": 12}
OWN_CLASSES = {"xder"}  # methods for phases that share no class


class StoppedError(Exception):
    """Stands for a power cut."""


@pytest.fixture
def config(own_names, tasks):
    @streams.register("tasks")
    def three(own_classes: bool = False) -> Stream:
        return stream_of(with_own_classes(tasks) if own_classes else tasks)

    def stream_of(tasks) -> Stream:
        held_out = torch.arange(6)
        splits = tuple(EvaluationSplit(f"{p.name}_val", p.name, p.train.take(held_out), always=True) for p in tasks)
        names = tuple(map(str, sorted({label for task in tasks for label in task.classes})))
        grey = (0.5, 0.5, 0.5)
        return Stream("tasks", tasks, splits, (), None, None, len(names), names, grey, grey, crop_padding=1)

    backbones.add("small", SmallNet)

    def build(method):
        values = {
            "name": "three",
            "stream": {"name": "tasks", "own_classes": method in OWN_CLASSES},
            "backbone": TRANSFORMER if method.endswith(("l2p", "coda_prompt")) else {"name": "small"},
            "training": {
                "epochs": [2, 2, 2],
                "batch_size": 8,
                "precision": "fp32",
                "optimiser": "adam",
                "lr": 0.01,
                "milestones": [1],
            },
            "methods": [method],
            "learners": {method: OPTIONS[method]},
            "seeds": [3],
        }
        return resolve(build_config(values))

    return build


def with_own_classes(tasks):
    """The same images, with two classes of its own in every phase."""
    return tuple(
        replace(
            task, classes=(2 * number, 2 * number + 1), train=replace(task.train, labels=task.train.labels + 2 * number)
        )
        for number, task in enumerate(tasks)
    )


def ran(folder, config, stop=None):
    """All jobs of the study, each begun again where it was stopped at a place of that name; the run, and whether it was."""
    stream = build_stream(config)
    stopped = False
    for job in plan(config, stream):
        execution = JobExecution(job, config, folder, stream, lambda work, where: None)
        tell = execution._report

        def words(where, force=False, tell=tell):
            if stop is not None and stop in where:
                raise StoppedError
            torch.rand(1)  # whoever drew from the global generator would draw something else in a run that goes on
            tell(where, force)

        execution._report = words
        try:
            execution.run()
        except StoppedError:
            stopped = True
            execution = JobExecution(job, config, folder, stream, lambda work, where: None)
            execution.run()
    return execution, stopped


@pytest.mark.parametrize("method", OPTIONS)
def test_a_run_that_was_stopped_anywhere_ends_in_the_same_bytes(config, tmp_path, method):
    config = config(method)
    straight, _ = ran(tmp_path / "straight", config)
    for number, place in enumerate(STOPS[method]):
        again, stopped = ran(tmp_path / str(number), config, place)
        assert stopped, place
        for name in FILES:
            assert (again.folder / name).read_bytes() == (straight.folder / name).read_bytes(), (place, name)
        assert again.samples == straight.samples


def test_a_net_is_measured_after_the_last_layer_too(config, tmp_path):
    run, _ = ran(tmp_path, config("bgs"))
    frame = pd.read_csv(run.folder / "timeline.csv")
    for name in ("T1", "T2", "T3"):
        epochs = frame[(frame.phase == name) & (frame.split == f"{name}_val")].epoch.tolist()
        assert epochs[:3] == [0, 1, 2]
        assert len(epochs) == 4
        assert 2 < epochs[3] < 3
