"""LLE: a head for every shift, a layer that tells them apart, and heads that are added as cues become known."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners import Batch, learners
from einstellung.learners.methods import learner_options
from tests.learners.mitigation.points import learned, made, one_cue, stream_of, two_cues


def batch_of(learner, images, rows):
    raw = images.take(torch.tensor(rows))
    return Batch(learner.context.presentation.unaugmented(raw), raw.labels, raw)


def begun(learner, phase, epoch=1):
    learner.begin_phase(phase)
    learner.begin_epoch(phase, epoch)
    learner.training_mode()
    return learner


@pytest.fixture
def two_points():
    """Two images of one cue, of which the first is seen as it is and the second with its cue swapped."""
    images = one_cue()
    learner = begun(made("lle", stream_of(images)), stream_of(images).phases[0])
    with torch.no_grad():
        draws = torch.Generator().manual_seed(5)
        for parameter in learner.heads.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draws))
    batch = batch_of(learner, images, [0, 150])
    shifts = torch.tensor([0, 1])
    learner.shifted = lambda batch: (torch.stack([batch.inputs[0], swapped(batch.inputs[1])]), shifts)
    return learner, batch


def swapped(point):
    return torch.stack([point[0], -point[1]])


def test_the_loss_of_two_images_by_hand(two_points):
    learner, batch = two_points
    heads = learner.heads
    first, second = batch.inputs[0].flatten(), swapped(batch.inputs[1]).flatten()
    loss = torch.zeros(())
    for z, label, shift in ((first, 0, 0), (second, 1, 1)):
        logits = heads.weight[shift] @ z + heads.bias[shift]
        shift_logits = heads.shift_weight @ z + heads.shift_bias
        loss = loss - logits.log_softmax(dim=0)[label] / 2 - shift_logits.log_softmax(dim=0)[shift] / 2
    assert batch.labels.tolist() == [0, 1]
    torch.testing.assert_close(learner.objective(batch), loss)


def test_what_each_part_of_the_loss_moves(two_points):
    """Head d by the images of shift d alone; the shift layer by its own term alone."""
    learner, batch = two_points
    learner.objective(batch).backward()
    heads = learner.heads
    z = torch.stack([batch.inputs[0].flatten(), swapped(batch.inputs[1]).flatten()])
    for shift in (0, 1):
        wrong = (heads.weight[shift] @ z[shift] + heads.bias[shift]).softmax(dim=0) - F.one_hot(batch.labels, 2)[shift]
        torch.testing.assert_close(heads.weight.grad[shift], wrong.outer(z[shift]).detach() / 2)
    shift_logits = (z @ heads.shift_weight.T + heads.shift_bias).softmax(dim=1) - torch.eye(2)
    torch.testing.assert_close(heads.shift_weight.grad, shift_logits.T.detach() @ z / 2)


def test_nothing_of_the_shift_reaches_the_features(make, stream):
    """The gradient of all that comes before the heads is that of the first term, bit for bit."""
    learner = begun(make("lle"), stream.phases[1])
    with torch.no_grad():
        learner.heads.shift_weight.normal_(generator=torch.Generator().manual_seed(0))
    twin = copy.deepcopy(learner.net)
    raw = stream.phases[1].train.take(torch.arange(12))
    batch = Batch(learner.context.presentation.unaugmented(raw), raw.labels, raw)
    shown = learner.shifted(batch)
    learner.shifted = lambda _: shown
    learner.objective(batch).backward()
    inputs, shifts = shown
    assert len(shifts.unique()) == 2
    logits = twin.head.each(twin.head.given_in(twin, inputs))
    F.cross_entropy(logits[torch.arange(12), shifts], batch.labels).backward()
    for (name, ours), theirs in zip(learner.net.named_parameters(), twin.parameters(), strict=True):
        if not name.startswith("head.shift"):
            assert torch.equal(ours.grad, theirs.grad), name
    assert bool(learner.heads.shift_weight.grad.any())
    assert twin.head.shift_weight.grad is None


def test_every_image_is_seen_with_one_shift_drawn_evenly():
    """As it is, or with one of its two cues negated and nothing else changed."""
    images = two_cues()
    stream = stream_of(images)
    learner = begun(made("lle", stream), stream.phases[0])
    seen = Counter()
    for _ in range(20):
        batch = batch_of(learner, images, list(range(len(images))))
        inputs, shifts = learner.shifted(batch)
        seen.update(shifts.tolist())
        signs = torch.ones(3, 3)
        signs[1, 1] = signs[2, 2] = -1
        torch.testing.assert_close(inputs.flatten(1), batch.inputs.flatten(1) * signs[shifts])
    assert set(seen) == {0, 1, 2}
    for count in seen.values():
        assert count / seen.total() == pytest.approx(1 / 3, abs=0.03)


def test_draws_belong_to_the_epoch():
    images = two_cues()
    stream = stream_of(images)
    learner = made("lle", stream)
    batch = batch_of(learner, images, list(range(30)))
    drawn = {epoch: begun(learner, stream.phases[0], epoch).shifted(batch)[1].tolist() for epoch in (1, 2)}
    assert drawn[1] != drawn[2]
    assert begun(learner, stream.phases[0], 1).shifted(batch)[1].tolist() == drawn[1]


def test_without_a_known_shift_it_is_plain_training():
    images = two_cues()
    stream = stream_of(images, named=[()])
    learner, plain = made("lle", stream), made("erm", stream)
    for name, one in (("lle", learner), ("erm", plain)):
        learned(one, name, epochs=2)
    torch.testing.assert_close(learner.heads.weight[0], plain.net.head.weight)
    torch.testing.assert_close(learner.heads.bias[0], plain.net.head.bias)
    assert learner.heads.known.tolist() == [True, False, False]
    assert not bool(learner.heads.shift_weight.any())
    inputs = learner.context.presentation.unaugmented(images)
    torch.testing.assert_close(learner.net(inputs), plain.net(inputs))


def test_a_head_is_added_for_every_newly_known_cue():
    """Cue by cue over three phases; the names of the state are those that they were from the start."""
    stream = stream_of(*(two_cues(seed=seed) for seed in range(3)), named=[(), ("right",), ("left",)])
    learner = made("lle", stream)
    names = list(learner.net.state_dict())
    images = stream.phases[0].train
    inputs = learner.context.presentation.unaugmented(images)
    known = []
    for phase in stream.phases:
        before = learner.net(inputs).detach()
        begun(learner, phase)
        if phase.name == "T2":
            torch.testing.assert_close(learner.net(inputs), before)
        known.append(learner.heads.known.tolist())
        batch = batch_of(learner, phase.train, list(range(60)))
        assert set(learner.shifted(batch)[1].tolist()) == {k for k, yes in enumerate(known[-1]) if yes}
        learner.observe(batch)
    assert known == [[True, False, False], [True, False, True], [True, True, True]]
    assert list(learner.net.state_dict()) == names
    late = made("lle", stream)
    begun(late, stream.phases[2])  # after another method: what earlier phases named is known too
    assert late.heads.known.all()


def test_all_may_be_known_from_the_start():
    stream = stream_of(two_cues(), named=[()])
    learner = begun(made("lle", stream, known="all"), stream.phases[0])
    assert learner.heads.known.all()
    with pytest.raises(InputError, match=r"learners\.lle\.known is 'some'"):
        learner_options("lle", {"known": "some"})


def test_an_unknown_head_takes_no_part():
    images = two_cues()
    stream = stream_of(images, named=[("left",)])
    learner = begun(made("lle", stream), stream.phases[0])
    learner.objective(batch_of(learner, images, list(range(60)))).backward()
    heads = learner.heads
    for gradient in (heads.weight.grad, heads.bias.grad, heads.shift_weight.grad, heads.shift_bias.grad):
        assert not bool(gradient[2].any())
        assert bool(gradient[1].any())
        assert bool(gradient.isfinite().all())


def test_replayed_images_are_swapped_as_well(make, stream):
    """er+lle on the planted cue: whoever is drawn the shift loses the patch, or gets one."""
    learner = make("er+lle", er={"buffer": 30, "draw": 30})
    t1, t2 = stream.phases
    begun(learner, t1)
    learner.end_phase(t1)
    begun(learner, t2)
    seen = []
    presentation = learner.context.presentation
    training = presentation.training
    presentation.training = lambda images, *rest: seen.append(images) or training(images, *rest)
    raw = t2.train.take(torch.arange(6))
    learner.observe(Batch(presentation.unaugmented(raw), raw.labels, raw))
    replayed, changed = seen
    assert not bool(replayed.has_cue.any())  # T1 has no cue
    from_t1 = torch.isin(changed.labels, torch.tensor(t1.classes))
    assert bool(from_t1.any())
    assert bool(changed.has_cue[from_t1].all())


@pytest.mark.parametrize("method", ["lle", "gdro"])
def test_what_is_replayed_has_kept_its_features(method):
    """Of points, not bytes: numbers come out of the buffer as they went in, and so do the cues that are told of them."""
    first, second = two_cues(), two_cues(seed=1)
    stream = stream_of(first, second)
    learner = begun(made(f"er+{method}", stream, er={"buffer": 30, "draw": 30}), stream.phases[0])
    learner.end_phase(stream.phases[0])
    begun(learner, stream.phases[1])
    both = learner.memory.enlarged(batch_of(learner, second, [0, 1]))
    kept = both.raw.take(torch.arange(2, 32))
    own = first.take(kept.index)
    assert torch.equal(kept.images, own.images)
    assert torch.equal(kept.features, own.features)
    learner.observe(batch_of(learner, second, [0, 1]))


@pytest.mark.parametrize("name", ["erm-then-lle", "derpp+lle", "lle-then-erm", "di-then-lle"])
def test_together_with_other_methods(make, stream, name):
    learner = make(name)
    for phase in stream.phases:
        begun(learner, phase)
        raw = phase.train.take(torch.arange(0, len(phase.train), 5))
        loss = learner.observe(Batch(learner.context.presentation.unaugmented(raw), raw.labels, raw))
        assert bool(loss.isfinite())
        learner.end_phase(phase)
    assert learner.net.head.known.tolist() == ([True, False] if name.startswith("lle") else [True, True])


def test_what_it_says_of_itself():
    kind = learners["lle"]
    assert kind.combines
    assert not kind.needs_groups
    assert not kind.shares_first_phase(learner_options("lle", {}))
    assert kind.workload.cost(learner_options("lle", {}), [10], 0) > 1


def test_a_stream_without_swaps_is_refused():
    stream = replace(stream_of(one_cue()), interventions={})
    with pytest.raises(
        InputError, match=r"lle needs images in which a cue can be swapped; the stream 'points' has none"
    ):
        made("lle", stream)
