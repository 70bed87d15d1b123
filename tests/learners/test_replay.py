"""What the methods with a buffer share: when it is filled, what it holds, and what comes back from it."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from scipy.stats import chisquare, hypergeom

from einstellung.backbones import VisionTransformer
from einstellung.errors import InputError
from einstellung.learners import learners, make_learner
from einstellung.learners.methods import Methods, learner_options
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
    assert not kind.shares_first_phase(within)
    assert kind.shares_first_phase(earlier)
    assert [kind.workload.price(within, [90, 40], number, within.draw) for number in (0, 1)] == [1 + draws, 1 + draws]
    assert [kind.workload.price(earlier, [90, 40], number, earlier.draw) for number in (0, 1)] == [1, 1 + draws]
    few = learner_options(method, {"draw": 8})
    assert kind.workload.price(few, [90, 40], 1, 32) == 1 + draws / 4
    assert kind.workload.price(learner_options(method, {"draw": 8, "buffer": 4}), [90, 40], 1, 32) == 1 + draws / 8


@pytest.mark.parametrize(
    ("method", "key", "value"),
    [(method, *bad) for method in METHODS for bad in (("buffer", 0), ("draw", 0), ("replay", "later"))]
    + [("der", "alpha", -0.1), ("derpp", "alpha", -1), ("derpp", "beta", -0.5), ("derpp", "beta", float("nan"))],
)
def test_wrong_options_are_named(method, key, value):
    with pytest.raises(InputError, match=rf"^learners\.{method}\.{key} is '?{value}"):
        learner_options(method, {key: value})


def test_every_image_of_three_phases_has_the_same_chance(make, tasks, monkeypatch):
    zeros = torch.zeros(12, 2)
    monkeypatch.setattr(learners["er"], "_logits_in_evaluation", lambda _, images: zeros[: len(images)])  # costly
    kept, trials = torch.zeros(300), 150
    for seed in range(trials):
        learner = make("er", seed=seed, buffer=12, replay="earlier", phases=tasks)
        for phase in tasks:
            learner.end_phase(phase)
        assert (learner.buffer.seen, len(learner.buffer)) == (108, 12)
        kept[learner.buffer.images.index] += 1
    counts = kept[torch.cat([phase.train.index for phase in tasks])]
    assert int(counts.sum()) == trials * 12
    assert chisquare(counts.numpy()).pvalue > 1e-3
    assert chisquare(counts.view(3, 36).sum(dim=1).numpy()).pvalue > 1e-3


def test_the_third_phase_replays_both_before_it_and_not_itself(make, batch_of, tasks):
    learner = make("der", buffer=24, draw=24, replay="earlier", phases=tasks)
    for phase in tasks[:2]:
        learner.begin_phase(phase)
        learner.end_phase(phase)
    learner.begin_phase(tasks[2])
    learner.begin_epoch(tasks[2], 1)
    learner.net.train()
    drawn, draw = [], learner.buffer.draw
    learner.buffer.draw = lambda *args: drawn.append(draw(*args)) or drawn[-1]
    learner.observe(batch_of(tasks[2]))
    ((images, _),) = drawn
    assert set((images.index // 100).tolist()) == {0, 1}


WEIGHTS = {"der": {"alpha": 0.7}, "derpp": {"alpha": 0.7, "beta": 0.4}}


def in_second_step(learner, batch_of, phase):
    """A learner whose buffer holds six images."""
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 1)
    learner.net.train()
    learner.observe(batch_of(phase, range(6)))
    return learner


def drawn(learner, phase, times):
    """What the next step replays, as inputs, labels and logits of each draw."""
    seed, buffer = learner.context.seed, copy.deepcopy(learner.buffer)
    names = ("replay", "replay-augmentation", "replay-cue")
    draws, augmentation, cue = (generator(seed, name, phase.name, 1) for name in names)
    found = []
    for _ in range(times):
        images, logits = buffer.draw(4, draws)
        found.append((learner.context.presentation.training(images, augmentation, cue), images.labels, logits))
    return found


@pytest.mark.parametrize("method", WEIGHTS)
def test_without_batch_norm_the_step_is_the_same(make, batch_of, stream, method):
    phase = stream.phases[1]
    torch.manual_seed(0)
    start = VisionTransformer(stream.n_outputs, dim=8, depth=1, heads=2, image=12)
    context = make("sgd").context
    losses, nets = [], []
    for joined in (False, True):
        options = {"buffer": 6, "draw": 4, "joined": joined, **WEIGHTS[method]}
        learner = in_second_step(make_learner(method, options, copy.deepcopy(start), context), batch_of, phase)
        losses.append(float(learner.observe(batch_of(phase, range(6, 12)))))
        nets.append(learner.net)
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    for (name, one), other in zip(nets[0].named_parameters(), nets[1].parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-5), name
        assert not torch.equal(one, start.get_parameter(name)), name


@pytest.mark.parametrize("method", WEIGHTS)
def test_batch_norm_sees_all_images_together(make, batch_of, stream, method):
    """Loss, update and running statistics by hand, and the logits that the buffer then keeps."""
    phase, weights = stream.phases[1], WEIGHTS[method]
    learner = in_second_step(make(method, buffer=6, draw=4, joined=True, **weights), batch_of, phase)
    twin = copy.deepcopy(learner.net)
    draws = drawn(learner, phase, times=len(weights))
    batch = batch_of(phase, range(6, 12))

    before = twin.bn.running_mean.clone()
    together = torch.cat([batch.inputs, *(inputs for inputs, _, _ in draws)])
    logits = twin(together)
    loss = F.cross_entropy(logits[:6], batch.labels) + 0.7 * F.mse_loss(logits[6:10], draws[0][2])
    if method == "derpp":
        loss = loss + 0.4 * F.cross_entropy(logits[10:], draws[1][1])
    loss.backward()

    assert torch.allclose(learner.observe(batch), loss.detach(), rtol=1e-5)
    for p, q in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-6)
    assert torch.allclose(learner.net.bn.running_mean, twin.bn.running_mean)
    assert int(learner.net.bn.num_batches_tracked) == 2  # one pass a step
    assert not torch.allclose(learner.net.bn.running_mean, before)
    taken = torch.isin(learner.buffer.images.index, batch.raw.index)
    assert bool(taken.any())
    for index, kept in zip(learner.buffer.images.index[taken], learner.buffer.logits[taken], strict=True):
        assert torch.allclose(kept, logits[:6][batch.raw.index == index][0], atol=1e-5)


@pytest.mark.parametrize("method", WEIGHTS)
def test_one_after_the_other_is_the_default(method):
    assert learner_options(method, {}).joined is False


@pytest.mark.parametrize("method", [*METHODS, "bgs"])
def test_a_draw_is_as_large_as_a_batch_unless_given(method):
    for size in (8, 64):
        methods = Methods(batch_size=size)
        assert methods.options(method, {}).draw == methods.options(method, {"draw": None}).draw == size
        assert methods.options(method, {"draw": 5}).draw == 5
    assert Methods(batch_size=8).options("er+erm", {})["er"].draw == 8


def test_a_learner_draws_as_many_as_the_batch_size_says(make, batch_of, stream, monkeypatch):
    """That of the training, also where the last batch of an epoch is smaller."""
    context = replace(make("sgd").context, batch_size=5)
    learner = make_learner("er", {"buffer": 50}, make("sgd").net, context)
    drawn, draw = [], learner.buffer.draw
    monkeypatch.setattr(learner.buffer, "draw", lambda count, draws: drawn.append(count) or draw(count, draws))
    phase = stream.phases[0]
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 1)
    for rows in (range(8), range(8, 11)):
        learner.observe(batch_of(phase, rows))
    assert drawn == [5]
