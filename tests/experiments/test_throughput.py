"""Throughput of real workers that run at the same time."""

from __future__ import annotations

import pytest

from einstellung.experiments.assembly import resolve
from einstellung.experiments.throughput import TrialFailedError, WorkerPool
from einstellung.results.config import build_config, merged

from .conftest import SMALL

TINY = {"stream": {"size": 8}, "training": {"epochs": [1, 1]}, "methods": ["scratch_t2", "sgd"]}


def test_workers_are_timed_at_once_and_say_why_they_cannot_be():
    config = resolve(build_config(merged(SMALL, TINY)))
    with WorkerPool(config) as pool:
        alone = pool.measure(threads=1, workers=1, budget=0.05)
        both = pool.measure(threads=1, workers=2, budget=0.05)
        ended = [worker.process for worker in pool._workers]
    assert alone.throughput.training > 0
    assert both.throughput.evaluation > 0
    assert 2**20 < both.memory < 2**32
    assert len(ended) == 2
    assert not any(process.is_alive() for process in ended)
    with WorkerPool(config) as pool:
        pool.measure(threads=1, workers=1, budget=0.05)
        pool._workers[0].process.kill()
        pool._workers[0].process.join()
        with pytest.raises(TrialFailedError, match="killed while it was timed"):
            pool.measure(threads=1, workers=1, budget=0.05)
    unknown = config.model_copy(update={"stream": config.stream.model_copy(update={"name": "nothing"})})
    with (
        WorkerPool(unknown) as pool,
        pytest.raises(TrialFailedError, match="could not be timed: InputError: unknown stream"),
    ):
        pool.measure(threads=1, workers=1, budget=0.05)


def test_workers_of_a_plan_are_timed_on_synthetic_inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EINSTELLUNG_DATA", str(tmp_path))
    few = {"stream": {"name": "cifar100", "train_per_class": 4, "test_per_class": 2}, "backbone": {"width": 8}}
    plain = {"kernels": "torch", "epochs": [1, 1], "milestones": []}
    config = resolve(build_config({**few, "training": plain, "methods": ["sgd"]}))
    with WorkerPool(config, planning=True) as pool:
        assert pool.measure(threads=1, workers=1, budget=0.05).throughput.training > 0
    with WorkerPool(config) as pool, pytest.raises(TrialFailedError, match="CIFAR-100 not found"):
        pool.measure(threads=1, workers=1, budget=0.05)
