"""Plain fine-tuning and the baseline: the textbook update, and nothing kept."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners import learners
from einstellung.learners.methods import learner_options


@pytest.mark.parametrize("name", ["sgd", "scratch_t2"])
def test_the_update_is_the_gradient_of_cross_entropy(make, batch_of, stream, name):
    learner = make(name)
    twin = copy.deepcopy(learner.net)
    phase = stream.phases[1]
    learner.begin_phase(phase)
    learner.net.train(), twin.train()
    batch = batch_of(phase)
    loss = learner.observe(batch)
    by_hand = F.cross_entropy(twin(batch.inputs), batch.labels)
    by_hand.backward()
    assert torch.allclose(loss, by_hand)
    for ours, theirs in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(ours, theirs - 0.1 * theirs.grad, atol=1e-7)
    assert learner.state_dict() == {}


def test_who_starts_from_random_weights_in_the_last_phase():
    assert {name for name in learners if learners[name].skips_history} == {"scratch_t2", "interleaved", "joint"}


def test_misspelt_learners_and_options_are_named():
    with pytest.raises(InputError, match="did you mean 'derpp'"):
        learner_options("derp", {})
    with pytest.raises(InputError, match=r"learners.derpp.bufer.*did you mean 'buffer'"):
        learner_options("derpp", {"bufer": 3})
    with pytest.raises(InputError, match="there are no options"):
        learner_options("sgd", {"alpha": 3})
