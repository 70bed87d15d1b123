"""A net that begins a phase as it ended the last one is not measured once more; any other is."""

from __future__ import annotations

import math

import pandas as pd
import pytest
import torch
from torch import nn

from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.estimate import seconds_of
from einstellung.experiments.evaluation_cache import EvaluationCache, is_determined_by_state
from einstellung.experiments.execution import JobExecution
from einstellung.experiments.plan import plan
from einstellung.experiments.throughput import Throughput
from einstellung.results.config import build_config, merged

VALUES = {
    "stream": {"name": "concon", "input_modality": "attributes", "train": 16, "val": 4, "test": 8},
    "backbone": {"name": "set_transformer"},
    "training": {"epochs": [1, 2, 1], "batch_size": 8, "precision": "fp32", "optimiser": "adam", "lr": 0.001},
    "evaluation": {"first_phase": "end"},
    "methods": ["naive"],
    "seeds": [3],
}


class Foreign(nn.Linear):
    """A layer of somebody else's: who knows what it does besides."""


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))


def test_the_same_net_is_known_and_no_other():
    cache, one = EvaluationCache(), net()
    assert cache.lookup(one) == {}
    cache.store(one, [{"split": "a", "acc": 0.5}])
    assert cache.lookup(one) == {"a": {"split": "a", "acc": 0.5}} == cache.lookup(net())
    with torch.no_grad():
        one[0].bias[1] += 1e-7
    assert cache.lookup(one) == {}
    other = net()
    other[1].running_mean += 1  # no parameter, but what it says depends on it
    assert cache.lookup(other) == {}
    assert cache.lookup(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))) == {}
    assert cache.lookup(nn.Sequential(*net(), nn.ReLU())) == {}  # the same numbers
    assert cache.lookup(net().double()) == {}


def test_nothing_is_known_of_a_net_that_may_hold_more_than_numbers():
    plain, watched, foreign = net(), net(), nn.Sequential(Foreign(3, 2))
    watched[0].register_forward_hook(lambda *_: None)
    cache = EvaluationCache()
    for one, is_plain in ((plain, True), (watched, False), (foreign, False)):
        assert is_determined_by_state(one) is is_plain
        cache.store(one, [{"split": "a"}])
        assert bool(cache.lookup(one)) is is_plain


def test_an_accelerated_net_is_one_of_our_backbones():
    from einstellung.backbones import build_backbone
    from einstellung.training.acceleration import accelerate

    assert is_determined_by_state(accelerate(build_backbone("resnet18", {"width": 8}, 6, seed=1)))


def ran(folder, **changes):
    """The timeline of a run, and on which splits its nets were measured, a list for every time."""
    config = resolve(build_config(merged(VALUES, changes)))
    stream, asked = build_stream(config), []
    for job in plan(config, stream):
        one = JobExecution(job, config, folder, stream, lambda work, where: None)
        measure = one.evaluator.measure
        one.evaluator.measure = lambda net, names, measure=measure: asked.append(list(names)) or measure(net, names)
        one.run()
    return pd.read_csv(one.folder / "timeline.csv"), asked


def at(frame, phase, epoch):
    rows = frame[(frame.phase == phase) & (frame.epoch == epoch)]
    return rows.drop(columns=["phase", "epoch"]).reset_index(drop=True)


def test_a_phase_begins_with_what_the_last_one_ended_with(tmp_path, monkeypatch):
    frame, asked = ran(tmp_path / "once")
    assert asked.count([]) == 3  # T2 and T3 begin with what is known; the chosen net was measured on every split
    pd.testing.assert_frame_equal(at(frame, "T2", 0), at(frame, "T1", 1))
    pd.testing.assert_frame_equal(at(frame, "T3", 0), at(frame, "T2", 2))
    monkeypatch.setattr(EvaluationCache, "lookup", lambda self, net: {})
    again, asked = ran(tmp_path / "twice")
    assert asked.count([]) == 1
    pd.testing.assert_frame_equal(frame, again)


def test_what_was_not_measured_at_the_end_is_measured_then(tmp_path):
    frame, asked = ran(tmp_path, evaluation={"first_phase": "own"})
    first = set(at(frame, "T1", 1).split)
    begun = set(at(frame, "T2", 0).split)
    assert first < begun
    assert any(set(names) == begun - first for names in asked)


@pytest.mark.parametrize("method", ["scratch", "gdumb"])
def test_a_net_that_begins_anew_is_measured_anew(tmp_path, method):
    frame, asked = ran(tmp_path, methods=[method])
    assert asked.count([]) == 1
    assert not at(frame, "T3", 0).equals(at(frame, "T2", 2))


def test_an_estimate_counts_every_image_once_that_is_shown(tmp_path):
    """Of a first phase, which begins with nothing known."""
    config = resolve(build_config(merged(VALUES, {"evaluation": {"first_phase": "all"}})))
    stream, shown = build_stream(config), []
    job = next(job for job in plan(config, stream) if job.kind == "first_phase")
    run = JobExecution(job, config, tmp_path, stream, lambda work, where: None)
    show = run.evaluator._logits
    run.evaluator._logits = lambda net, splits: shown.extend(len(one.images) for one in splits) or show(net, splits)
    run.run()
    assert seconds_of([job], config, stream, Throughput(math.inf, 1.0)) == {job.folder: sum(shown)}
    assert sum(shown) < 2 * sum(len(split.images) for split in stream.splits)  # twice, and originals of twins not again
