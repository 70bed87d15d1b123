"""What the methods with a buffer share: when it is filled, what it holds, and what comes back from it."""

from __future__ import annotations

import copy
from collections import Counter

import pytest
import torch
from scipy.stats import chisquare, hypergeom

from einstellung.errors import InputError
from einstellung.learners import learners
from einstellung.learners.learner import learner_options
from einstellung.randomness import generator

METHODS = ["er", "der", "derpp"]


def learned(learner, batch_of, phase, steps=3):
    """A few steps of a phase, without its end."""
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 1)
    learner.net.train()
    for step in range(steps):
        learner.observe(batch_of(phase, range(8 * step, 8 * step + 8)))
    return learner


def logits_by_hand(learner, images):
    """One image at a time, in evaluation mode, as it is in the file but with its cue."""
    net, presentation = copy.deepcopy(learner.net).eval(), learner.context.presentation
    rows = [images.take(torch.tensor([row])) for row in range(len(images))]
    with torch.no_grad():
        return torch.cat([net(presentation.normalised(presentation.painted(row.images, row))) for row in rows])


def same_weights(one, other):
    return all(torch.equal(value, other.net.state_dict()[name]) for name, value in one.net.state_dict().items())


@pytest.mark.parametrize("method", METHODS)
def test_with_earlier_the_first_phase_is_plain_fine_tuning(make, batch_of, stream, method):
    t1 = stream.phases[0]
    plain = learned(make("sgd"), batch_of, t1)
    learner = learned(make(method, buffer=10, draw=4, replay="earlier"), batch_of, t1)
    assert same_weights(learner, plain)
    assert len(learner.buffer) == 0
    assert not same_weights(learned(make(method, buffer=10, draw=4), batch_of, t1), plain)


def test_with_earlier_a_phase_is_taken_in_at_its_end(make, batch_of, stream):
    t1 = stream.phases[0]
    learner = learned(make("derpp", buffer=10, draw=4, replay="earlier"), batch_of, t1)
    before = copy.deepcopy(learner.net.state_dict())
    learner.end_phase(t1)
    buffer = learner.buffer
    assert (len(buffer), buffer.seen) == (10, len(t1.train))
    assert len(set(buffer.images.index.tolist()) & set(t1.train.index.tolist())) == 10
    assert torch.allclose(buffer.logits, logits_by_hand(learner, buffer.images), atol=1e-6)
    assert all(torch.equal(value, before[name]) for name, value in learner.net.state_dict().items())
    assert learner.net.training


def test_logits_are_computed_only_for_what_stays_and_in_pieces(make, stream, monkeypatch):
    monkeypatch.setattr("einstellung.learners.replay._CHUNK", 4)
    learner = make("derpp", buffer=10, replay="earlier")
    shown = []
    learner.net.register_forward_hook(lambda _, inputs, __: shown.append(len(inputs[0])))
    learner.end_phase(stream.phases[0])
    assert shown == [4, 4, 2]
    assert torch.allclose(learner.buffer.logits, logits_by_hand(learner, learner.buffer.images), atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_with_earlier_the_second_phase_replays_the_first_only(make, batch_of, stream, method, monkeypatch):
    t1, t2 = stream.phases
    learner = make(method, buffer=10, draw=4, replay="earlier")
    learner.end_phase(t1)
    drawn = []
    draw = learner.buffer.draw
    monkeypatch.setattr(learner.buffer, "draw", lambda *args: drawn.append(draw(*args)) or drawn[-1])
    learned(learner, batch_of, t2, steps=4)
    assert len(drawn) == (8 if method == "derpp" else 4)  # from the first step on
    assert {int(label) for images, _ in drawn for label in images.labels} <= set(t1.classes)
    assert learner.buffer.seen == len(t1.train)
    assert not same_weights(learner, learned(make("sgd"), batch_of, t2, steps=4))


def test_a_second_phase_joins_the_first_and_leaves_its_logits_alone(make, batch_of, stream):
    t1, t2 = stream.phases
    learner = make("derpp", buffer=30, draw=4, replay="earlier")
    learner.end_phase(t1)
    first = dict(zip(learner.buffer.images.index.tolist(), learner.buffer.logits.clone(), strict=True))
    learned(learner, batch_of, t2)
    learner.end_phase(t2)
    images, logits = learner.buffer.draw(30, torch.Generator().manual_seed(0))
    now = logits_by_hand(learner, images)
    stayed = torch.isin(images.labels, torch.tensor(t1.classes))
    assert 0 < int(stayed.sum()) < 30
    assert bool(images.has_cue.any())  # so the cue is among what the logits were computed on
    assert torch.allclose(logits[~stayed], now[~stayed], atol=1e-6)
    for index, kept in zip(images.index[stayed].tolist(), logits[stayed], strict=True):
        assert torch.equal(kept, first[index])
    assert not torch.allclose(logits[stayed], now[stayed], atol=1e-3)


def test_over_phases_every_image_has_the_same_chance(make, stream, monkeypatch):
    """With 12 places, the number of T1 images is hypergeometric, and no image is preferred."""
    zeros = torch.zeros(12, stream.n_outputs)
    monkeypatch.setattr(learners["er"], "_logits_in_evaluation", lambda _, images: zeros[: len(images)])  # costly
    t1, t2 = stream.phases
    total = len(t1.train) + len(t2.train)
    shares: Counter[int] = Counter()
    kept = torch.zeros(int(max(t1.train.index.max(), t2.train.index.max())) + 1)
    trials = 200
    for seed in range(trials):
        learner = make("er", seed=seed, buffer=12, replay="earlier")
        learner.end_phase(t1)
        learner.end_phase(t2)
        assert learner.buffer.seen == total
        kept[learner.buffer.images.index] += 1
        shares[int(torch.isin(learner.buffer.images.labels, torch.tensor(t1.classes)).sum())] += 1
    law = hypergeom(total, len(t1.train), 12)
    bins = [range(6), *([k] for k in range(6, 11)), range(11, 13)]
    observed = [sum(shares[k] for k in ks) for ks in bins]
    expected = [trials * sum(law.pmf(k) for k in ks) for ks in bins]
    assert chisquare(observed, expected).pvalue > 1e-3
    counts = kept[torch.cat([t1.train.index, t2.train.index])]
    assert int(counts.sum()) == trials * 12
    assert chisquare(counts.numpy()).pvalue > 1e-3


def test_what_is_taken_in_belongs_to_seed_and_phase(make, stream):
    def taken(seed, buffer=12):
        learner = make("er", seed=seed, buffer=buffer, replay="earlier")
        learner.end_phase(stream.phases[0])
        return learner.buffer.images.index.tolist()

    assert taken(1) == taken(1)
    assert taken(1) != taken(2)
    whole = stream.phases[0].train.index.tolist()
    assert taken(1, buffer=len(whole)) != whole == sorted(taken(1, buffer=len(whole)))


@pytest.mark.parametrize("replay", ["within", "earlier"])
def test_what_is_replayed_carries_its_cue(make, batch_of, stream, replay):
    t2 = stream.phases[1]
    learner = make("derpp", buffer=60, draw=60, replay=replay)
    learned(learner, batch_of, t2, steps=5)
    learner.end_phase(t2)
    learner.begin_epoch(t2, 2)
    images, _ = learner.buffer.draw(60, generator(learner.context.seed, "replay", "T2", 2))
    inputs, labels, _ = learner.replay()
    magenta = learner.context.presentation.normalised(
        torch.tensor([255, 0, 255], dtype=torch.uint8).view(1, 3, 1, 1).expand(1, 3, 4, 4)
    )
    assert torch.equal(labels, images.labels)
    painted = (inputs[:, :, :4, :4] == magenta).flatten(1).all(dim=1)
    assert torch.equal(painted, images.has_cue)
    assert bool(painted.any())
    assert not bool(painted.all())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("replay", ["within", "earlier"])
def test_memory_survives_a_round_trip(make, batch_of, stream, method, replay):
    """The next phase goes on as if nothing had happened."""
    t1, t2 = stream.phases
    learner = learned(make(method, buffer=10, draw=4, replay=replay), batch_of, t1)
    learner.end_phase(t1)
    other = make(method, buffer=10, draw=4, replay=replay)
    other.net.load_state_dict(learner.net.state_dict())
    other.load_state_dict(copy.deepcopy(learner.state_dict()))
    for one in (learner, other):
        learned(one, batch_of, t2)
        one.end_phase(t2)
    assert same_weights(learner, other)
    assert torch.equal(learner.buffer.images.index, other.buffer.images.index)
    assert torch.equal(learner.buffer.logits, other.buffer.logits)
    assert learner.buffer.seen == other.buffer.seen


@pytest.mark.parametrize(("method", "draws"), [("er", 1), ("der", 1), ("derpp", 2)])
def test_history_and_price_depend_on_what_is_replayed(method, draws):
    kind = learners[method]
    within, earlier = (learner_options(method, {"replay": replay}) for replay in ("within", "earlier"))
    assert learner_options(method, {}) == within
    assert not kind.plain_history(within)
    assert kind.plain_history(earlier)
    assert [kind.price(within, [90, 40], number, within.draw) for number in (0, 1)] == [1 + draws, 1 + draws]
    assert [kind.price(earlier, [90, 40], number, earlier.draw) for number in (0, 1)] == [1, 1 + draws]
    few = learner_options(method, {"draw": 8})
    assert kind.price(few, [90, 40], 1, 32) == 1 + draws / 4
    assert kind.price(learner_options(method, {"draw": 8, "buffer": 4}), [90, 40], 1, 32) == 1 + draws / 8


@pytest.mark.parametrize(
    ("method", "key", "value"),
    [(method, *bad) for method in METHODS for bad in (("buffer", 0), ("draw", 0), ("replay", "later"))]
    + [("der", "alpha", -0.1), ("derpp", "alpha", -1), ("derpp", "beta", -0.5), ("derpp", "beta", float("nan"))],
)
def test_wrong_options_are_named(method, key, value):
    with pytest.raises(InputError, match=rf"^learners\.{method}\.{key} is '?{value}"):
        learner_options(method, {key: value})
