"""Naive sequential training: plain fine-tuning, under the name that it has in the ConCon paper (Busch et al., 2024)."""

from __future__ import annotations

from einstellung.learners.learner import learners
from einstellung.learners.sgd import FineTuning


@learners.register("naive")
class Naive(FineTuning):
    """min_theta CE(f_theta(x), y) on the current phase, from the weights of the phase before."""
