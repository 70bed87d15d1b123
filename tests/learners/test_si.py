"""SI against the paper's sums, one weight at a time."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners.methods import learner_options

STARTS = ((0, 8), (0, 6, 12))


def with_momentum(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.01)


def written_out(net, stream, batch_of, c, xi, clip=None):
    """Every step as a list of plain tensors; the penalty's gradient by autograd, importance summed up step by step."""
    importance = [torch.zeros_like(p) for p in net.parameters()]
    start = [p.detach().clone() for p in net.parameters()]
    losses = []
    for phase, starts in zip(stream.phases, STARTS, strict=True):
        path = [torch.zeros_like(p) for p in net.parameters()]
        optimiser = with_momentum(net.parameters())
        for first in starts:
            batch = batch_of(phase, range(first, first + 6))
            plain = F.cross_entropy(net(batch.inputs), batch.labels)
            gradients = torch.autograd.grad(plain, list(net.parameters()), retain_graph=True)
            penalty = sum((o * (p - s) ** 2).sum() for o, p, s in zip(importance, net.parameters(), start, strict=True))
            optimiser.zero_grad()
            (plain + c * penalty).backward()
            if clip is not None:
                torch.nn.utils.clip_grad_value_(net.parameters(), clip)
            before = [p.detach().clone() for p in net.parameters()]
            optimiser.step()
            for w, g, p, b in zip(path, gradients, net.parameters(), before, strict=True):
                w -= g * (p.detach() - b)
            losses.append((plain + c * penalty).detach())
        for o, w, p, s in zip(importance, path, net.parameters(), start, strict=True):
            o += w / ((p.detach() - s) ** 2 + xi)
        start = [p.detach().clone() for p in net.parameters()]
    return importance, losses


@pytest.mark.parametrize("clip", [None, 0.02])
def test_two_phases_are_the_papers_sums(make, through, batch_of, stream, clip):
    learner = make("si", c=2.0, xi=0.01, clip=clip)
    learner.context = replace(learner.context, make_optimiser=with_momentum)
    twin = copy.deepcopy(learner.net)
    losses, _ = through(learner)
    importance, theirs = written_out(twin, stream, batch_of, 2.0, 0.01, clip)
    assert torch.allclose(torch.stack(losses), torch.stack(theirs), rtol=1e-4)
    for (name, p), q, o in zip(learner.net.named_parameters(), twin.parameters(), importance, strict=True):
        assert torch.allclose(p, q, atol=1e-5), name
        assert torch.allclose(learner.importance[name], o, rtol=1e-3, atol=1e-5), name
    assert max(float(o.abs().max()) for o in importance) > 0.1, "a penalty that is felt"


def test_the_path_adds_up_to_the_fall_of_the_loss(make, batch_of, stream):
    """Small plain gradient steps on one batch: sum over weights of w is the loss at the start less that at the end."""
    learner = make("si", lr=1e-3)
    learner.net.eval()
    learner.begin_phase(stream.phases[0])
    batch = batch_of(stream.phases[0], range(8))
    losses = [float(learner.observe(batch)) for _ in range(20)]
    with torch.no_grad():
        losses.append(float(F.cross_entropy(learner.net(batch.inputs), batch.labels)))
    total = float(sum(w.sum() for w in learner.path.values()))
    assert losses[-1] < losses[0]
    assert total == pytest.approx(losses[0] - losses[-1], rel=0.02)


def test_the_first_phase_trains_as_plain_fine_tuning(make, through):
    """Without a penalty yet; but it is not shared, since the path is followed step by step."""
    losses, _ = through(make("si"))
    plain, _ = through(make("sgd"))
    assert losses[:2] == plain[:2]
    assert losses[3] != plain[3]
    assert not make("si").shares_first_phase(learner_options("si", {}))


@pytest.mark.parametrize(("key", "value"), [("c", -1.0), ("xi", 0.0), ("clip", 0.0)])
def test_what_is_refused(key, value):
    with pytest.raises(InputError, match=rf"learners\.si\.{key} is "):
        learner_options("si", {key: value})
