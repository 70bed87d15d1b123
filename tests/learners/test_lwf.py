"""LwF: its loss written out with probabilities, the answers that it distils, and the warm-up of new outputs."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners.methods import learner_options
from einstellung.learners.planning import TRAIN
from einstellung.training import LoopSettings, PhaseLoop


def after_the_first_phase(make, batch_of, stream, **options):
    learner = make("lwf", **options)
    t1, t2 = stream.phases
    learner.begin_phase(t1)
    learner.training_mode()
    for start in (0, 8):
        learner.observe(batch_of(t1, range(start, start + 8)))
    learner.end_phase(t1)
    learner.begin_phase(t2)
    learner.training_mode()
    return learner


def powers(logits, temperature):
    """The paper's equation 3: recorded probabilities to the power of 1 / T, normalised again."""
    raised = logits.softmax(dim=1) ** (1 / temperature)
    return raised / raised.sum(dim=1, keepdim=True)


def test_the_loss_by_hand(make, batch_of, stream):
    alpha, temperature = 0.7, 3.0
    learner = after_the_first_phase(make, batch_of, stream, alpha=alpha, temperature=temperature)
    t1, t2 = stream.phases
    old = copy.deepcopy(learner.net).eval()
    learner.observe(batch_of(t2, range(8)))  # the net moves away from the old one
    twin, batch = copy.deepcopy(learner.net), batch_of(t2, range(8, 16))
    columns = list(t1.classes)
    with torch.no_grad():
        answers = powers(old(learner.context.presentation.unaugmented(batch.raw))[:, columns], temperature)
    logits = twin(batch.inputs)
    kept = -(answers * powers(logits[:, columns], temperature).log()).sum(dim=1).mean()
    loss = F.cross_entropy(logits, batch.labels) + alpha * kept
    loss.backward()
    assert float(kept.detach()) > 0
    ours = learner.observe(batch)
    assert torch.allclose(ours, loss.detach(), rtol=1e-5)
    for p, q in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-6)


def test_the_answers_stay_those_of_the_net_at_the_end_of_the_phase(make, batch_of, stream):
    learner = after_the_first_phase(make, batch_of, stream)
    kept = {name: value.clone() for name, value in learner.old.state_dict().items()}
    assert all(torch.equal(value, kept[name]) for name, value in learner.net.state_dict().items())
    for start in (0, 8, 16):
        learner.observe(batch_of(stream.phases[1], range(start, start + 8)))
    assert all(torch.equal(value, kept[name]) for name, value in learner.old.state_dict().items())
    assert not torch.equal(learner.net.bn.running_mean, kept["bn.running_mean"])


def test_without_weight_it_is_plain_fine_tuning(make, through):
    losses, values = through(make("lwf", alpha=0.0))
    plain_losses, plain_values = through(make("sgd"))
    assert losses == plain_losses
    assert all(torch.equal(mine, plain) for mine, plain in zip(values, plain_values, strict=True))


def test_the_warm_up_trains_the_outputs_of_new_classes_alone(make, batch_of, stream):
    learner = after_the_first_phase(make, batch_of, stream, warm_up=2.0)
    t1, t2 = stream.phases
    sizes = [len(phase.train) for phase in stream.phases]
    assert [stage.name for stage in learner.stages(learner.options, sizes, [1, 1], 0)] == [TRAIN]
    warm_up, train = learner.stages(learner.options, sizes, [1, 1], 1)
    assert (warm_up.passes, warm_up.preparatory, train.name) == (2.0, True, TRAIN)
    before = copy.deepcopy(learner.net)
    learner.begin_stage(t2, warm_up)
    PhaseLoop(learner, t2, LoopSettings(2, 8, 0.1), lambda *_: None, lambda *_: None, lambda *_: None).run()
    old, new = list(t1.classes), list(t2.classes)
    for name, value in learner.net.state_dict().items():
        if name.startswith("head"):
            assert torch.equal(value[old], before.state_dict()[name][old])
            assert not torch.equal(value[new], before.state_dict()[name][new])
        else:
            assert torch.equal(value, before.state_dict()[name]), name

    batch, twin = batch_of(t2, range(8)), copy.deepcopy(learner.net)  # one step by hand
    logits = twin(batch.inputs)
    loss = F.cross_entropy(logits[:, new], torch.tensor([new.index(label) for label in batch.labels.tolist()]))
    loss.backward()
    assert torch.allclose(learner.observe(batch), loss.detach())
    assert torch.allclose(learner.net.head.weight, twin.head.weight - 0.1 * twin.head.weight.grad, atol=1e-7)
    learner.begin_stage(t2, train)
    learner.training_mode()
    assert learner.net.training
    learner.observe(batch)
    assert not torch.equal(learner.net.conv.weight, before.conv.weight)


def test_what_is_refused(make, tasks):
    with pytest.raises(InputError, match="temperature is 0"):
        learner_options("lwf", {"temperature": 0.0})
    with pytest.raises(InputError, match="alpha is -1"):
        learner_options("lwf", {"alpha": -1.0})
    with pytest.raises(InputError, match="T2 has none; give 0"):
        make("lwf", phases=tasks, warm_up=1.0)
