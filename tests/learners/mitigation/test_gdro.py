"""Group DRO: weights by hand, the step that they give, and groups drawn equally often."""

from __future__ import annotations

import copy
import math
from collections import Counter

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners import Batch
from einstellung.learners.methods import learner_options
from einstellung.learners.mitigation.gdro import GroupWeights
from tests.learners.mitigation.points import made, one_cue, stream_of, two_cues


def batch_of(learner, images, rows):
    raw = images.take(torch.tensor(rows))
    return Batch(learner.context.presentation.unaugmented(raw), raw.labels, raw)


def test_the_weights_of_two_steps_by_hand():
    """q starts even over the groups expected; one that is not in a batch keeps its weight but for the normalisation."""
    weights = GroupWeights(5, step=0.1)
    weights.expect(torch.tensor([1, 3, 3, 4]))
    torch.testing.assert_close(weights.q, torch.tensor([0, 1, 0, 1, 1]) / 3)
    loss = weights.weighted(torch.tensor([1.0, 3.0, 5.0]), torch.tensor([1, 1, 3]))  # means 2 and 5
    one, three, four = math.exp(0.2), math.exp(0.5), 1.0
    total = one + three + four
    assert weights.q.tolist() == pytest.approx([0, one / total, 0, three / total, four / total])
    assert float(loss) == pytest.approx((2 * one + 5 * three) / total)
    weights.weighted(torch.tensor([7.0]), torch.tensor([4]))
    four = math.exp(0.7)
    total = one + three + four
    assert weights.q.tolist() == pytest.approx([0, one / total, 0, three / total, four / total])


def test_a_group_that_nobody_expected_joins_with_the_mean_weight():
    weights = GroupWeights(4, step=0.0)
    weights.q = torch.tensor([0.6, 0.0, 0.2, 0.0])  # sums to .8: the mean of two is .4
    weights.weighted(torch.zeros(2), torch.tensor([1, 0]))
    assert weights.q.tolist() == pytest.approx([0.6 / 1.2, 0.4 / 1.2, 0.2 / 1.2, 0])


def test_the_gradient_is_that_of_the_weighted_losses_with_weights_held_fixed():
    weights = GroupWeights(2, step=0.5)
    losses = torch.tensor([1.0, 2.0, 6.0], requires_grad=True)
    weights.weighted(losses, torch.tensor([0, 0, 1])).backward()
    q = weights.q
    torch.testing.assert_close(losses.grad, torch.stack([q[0] / 2, q[0] / 2, q[1]]))


def test_a_step_differs_from_plain_training_as_the_formula_says():
    """Two images of a common group, one of a rare one: even weights on the groups, raised by exp(step x loss)."""
    images = one_cue()
    stream = stream_of(images)
    learner = made("gdro", stream, step=0.3)
    learner.begin_phase(stream.phases[0])
    twin = copy.deepcopy(learner.net)
    batch = batch_of(learner, images, [0, 1, 96])  # groups (0, 0) twice, then (0, 1)
    losses = F.cross_entropy(twin(batch.inputs), batch.labels, reduction="none")
    common, rare = losses[:2].mean(), losses[2]
    raised = torch.stack([torch.exp(0.3 * common), torch.exp(0.3 * rare), torch.ones(()), torch.ones(())]).detach()
    q = raised / raised.sum()
    (q[0] * common + q[1] * rare).backward()
    learner.observe(batch)
    torch.testing.assert_close(learner.weights.q, q[[0, 1, 2, 3]])
    for ours, theirs in zip(learner.net.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs - 0.1 * theirs.grad)


def test_every_group_is_drawn_equally_often():
    images = two_cues()
    stream = stream_of(images)
    phase = stream.phases[0]
    for cues, count in ((None, 8), (("left",), 4)):
        learner = made("gdro", stream, cues=cues)
        learner.begin_phase(phase)
        epochs = [torch.cat(list(learner.batches(phase, epoch, 50))) for epoch in range(1, 61)]
        assert all(len(rows) == len(images) for rows in epochs)
        groups = Counter(learner.groups_of(images.take(torch.cat(epochs))).tolist())
        assert len(groups) == count
        for drawn in groups.values():
            assert drawn / groups.total() == pytest.approx(1 / count, rel=0.12)
        assert epochs[0].tolist() != epochs[1].tolist()
        assert torch.equal(torch.cat(list(learner.batches(phase, 1, 50))), epochs[0])


def test_every_phase_begins_with_even_weights_over_its_own_groups():
    first, second = one_cue(), one_cue(common=20, uncommon=0, seed=1)
    stream = stream_of(first, second)
    learner = made("gdro", stream)
    learner.begin_phase(stream.phases[0])
    assert learner.weights.q.tolist() == [0.25] * 4
    learner.observe(batch_of(learner, first, [0, 96]))
    learner.begin_phase(stream.phases[1])
    assert learner.weights.q.tolist() == [0.5, 0, 0, 0.5]


def test_replayed_images_are_weighed_by_their_own_groups(make, stream):
    """The planted cue of the two-phase streams; what T1 leaves in the buffer is of classes that T2 does not have."""
    learner = make("er+gdro", er={"buffer": 8, "draw": 4})
    t1, t2 = stream.phases
    for phase in (t1, t2):
        learner.begin_phase(phase)
        learner.begin_epoch(phase, 1)
        learner.training_mode()
        raw = phase.train.take(torch.arange(6))
        learner.observe(Batch(learner.context.presentation.unaugmented(raw), raw.labels, raw))
        if phase is t1:
            learner.end_phase(phase)
    met = {int(group) // 2 for group in learner.method.weights.q.nonzero()}
    assert met & set(t1.classes)
    assert met >= set(t2.classes)


@pytest.mark.parametrize("step", [-0.1, "fast"])
def test_a_wrong_step_is_named(step):
    with pytest.raises(InputError, match=r"^learners\.gdro\.step is"):
        learner_options("gdro", {"step": step})
