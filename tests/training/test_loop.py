"""The loop: deterministic, unaffected by measuring, counting real samples, faithful to its schedule."""

from __future__ import annotations

import pytest
import torch

from einstellung.experiments.assembly import build_learner
from einstellung.training import Evaluator, LoopSettings, PhaseLoop


def silent(*_: object) -> None:
    return None


def trained(config, stream, method, *, epochs=2, measuring=False, every_steps=None, seed=1, between=None):
    """Weights after T2 (after T1, where the method has a history)."""
    torch.set_num_threads(1)
    learner = build_learner(config, method, seed, stream)
    evaluator = Evaluator(stream, learner.context.presentation, learner.context.autocast)

    def measure(*_: object) -> None:
        if measuring:
            evaluator.measure(learner.net, [split.name for split in stream.splits])
        if between:
            between()

    for phase in stream.phases[1 if learner.skips_history else 0 :]:
        learner.begin_phase(phase)
        settings = LoopSettings(epochs, 8, 0.05, evaluate_every_steps=every_steps)
        PhaseLoop(learner, phase, settings, measure, measure, silent).run()
        learner.end_phase(phase)
    return {name: value.clone() for name, value in learner.net.state_dict().items()}


def same(one, other):
    return all(torch.equal(value, other[name]) for name, value in one.items())


@pytest.mark.parametrize(
    "method", ["scratch_t2", "sgd", "ewc_on", "derpp", "gpm", "dgr", "er", "der", "interleaved", "joint", "cumulative"]
)
def test_the_same_seed_twice_is_identical_bit_for_bit(config, stream, method):
    one = trained(config, stream, method)
    assert same(one, trained(config, stream, method))
    assert not same(one, trained(config, stream, method, seed=2))


@pytest.mark.parametrize("method", ["sgd", "derpp", "gpm", "dgr"])
def test_measuring_never_changes_training(config, stream, method):
    plain = trained(config, stream, method)
    assert same(plain, trained(config, stream, method, measuring=True))
    assert same(plain, trained(config, stream, method, measuring=True, every_steps=2))


@pytest.mark.parametrize("method", ["derpp", "dgr"])
def test_nobody_draws_from_the_global_generator(config, stream, method):
    plain = trained(config, stream, method)
    assert same(plain, trained(config, stream, method, between=lambda: torch.rand(3)))


def test_an_epoch_shows_every_image_once_in_a_new_order(config, stream):
    learner = build_learner(config, "sgd", 1, stream)
    phase = stream.phases[0]
    seen: list[int] = []
    observe = learner.observe

    def watched(batch):
        seen.extend(batch.raw.index.tolist())
        return observe(batch)

    learner.observe = watched
    learner.begin_phase(phase)
    PhaseLoop(learner, phase, LoopSettings(2, 10, 0.05), silent, silent, silent).run()
    size = len(phase.train)
    first, second = seen[:size], seen[size:]
    assert sorted(first) == sorted(second) == sorted(phase.train.index.tolist())
    assert first != second


def test_effective_epochs_count_real_samples_alike_for_all(config, stream):
    moments = {}
    for method in ("sgd", "derpp", "dgr"):
        learner = build_learner(config, method, 1, stream)
        learner.begin_phase(stream.phases[0])
        learner.end_phase(stream.phases[0])  # so that derpp and dgr have something to replay
        learner.begin_phase(stream.phases[1])
        epochs_seen: list[float] = []
        steps: list[dict[str, int]] = []
        settings = LoopSettings(2, 8, 0.05, evaluate_every_steps=2)
        PhaseLoop(learner, stream.phases[1], settings, silent, epochs_seen.append, steps.append).run()
        moments[method] = epochs_seen
        assert sum(step["T2"] for step in steps) == 2 * len(stream.phases[1].train)
    size = len(stream.phases[1].train)
    per_epoch = [8 * step for step in range(2, size // 8 + 1, 2) if 8 * step < size]
    consumed = per_epoch + [size + images for images in per_epoch]
    assert moments["sgd"] == moments["derpp"] == moments["dgr"] == [images / size for images in consumed]


def test_stopping_between_epochs_changes_nothing(config, stream):
    """An epoch depends on the state and its number, not on what ran before it in the same process."""
    phase = stream.phases[1]

    def run(stops):
        learner = build_learner(config, "derpp", 1, stream)
        learner.begin_phase(phase)
        for done, until in stops:
            PhaseLoop(learner, phase, LoopSettings(until, 8, 0.05), silent, silent, silent).run(done)
        return learner.net.state_dict()

    assert same(run([(0, 3)]), run([(0, 1), (1, 3)]))


def test_the_learning_rate_follows_its_milestones(config, stream):
    learner = build_learner(config, "sgd", 1, stream)
    phase = stream.phases[1]
    learner.begin_phase(phase)
    rates = []
    PhaseLoop(
        learner,
        phase,
        LoopSettings(4, 50, 0.5, milestones=(1, 3), decay=0.1),
        lambda *_: rates.append(learner.optimiser.param_groups[0]["lr"]),
        silent,
        silent,
    ).run()
    assert rates == pytest.approx([0.5, 0.05, 0.05, 0.005])


def test_a_loss_that_explodes_stops_the_run(config, stream):
    learner = build_learner(config, "sgd", 1, stream)
    learner.begin_phase(stream.phases[1])
    with pytest.raises(FloatingPointError, match=r"lower training\.lr"):
        PhaseLoop(learner, stream.phases[1], LoopSettings(3, 8, 1e12), silent, silent, silent).run()
