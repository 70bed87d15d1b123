"""Gradient steps that all learners share: several batches through a net."""

from __future__ import annotations

import copy

import torch
from torch import nn


class OnePass(nn.Linear):
    """Takes several batches in one pass."""

    def forward_batches(self, batches):
        return self(torch.cat(list(batches))).split([len(batch) for batch in batches])


def test_batches_go_through_the_net_one_by_one_unless_it_takes_several(make):
    learner, parts = make("sgd"), (torch.randn(5, 3), torch.randn(3, 3))
    for net, passes in ((nn.Linear(3, 2), 2), (OnePass(3, 2), 1)):
        calls = []
        learner.net, twin = net, copy.deepcopy(net)
        net.register_forward_hook(lambda *_, calls=calls: calls.append(1))
        for one, part in zip(learner.logits_apart(parts), parts, strict=True):
            torch.testing.assert_close(one, twin(part))
        assert len(calls) == passes
