"""Cumulative training: its first phase is plain; tests/learners/test_joint.py has what mixtures have in common."""

from __future__ import annotations

import torch

from .mixtures import went_through


def test_the_first_phase_of_cumulative_is_plain(make, stream):
    t1 = stream.phases[0]
    plain, cumulative = make("sgd"), make("cumulative")
    for learner in (plain, cumulative):
        went_through(learner, t1, 1)
    for one, other in zip(plain.net.parameters(), cumulative.net.parameters(), strict=True):
        assert torch.equal(one, other)
