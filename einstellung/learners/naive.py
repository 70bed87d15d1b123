"""Naive sequential training: plain fine-tuning under its name in the ConCon paper (Busch et al., 2024)."""

from __future__ import annotations

from einstellung.learners.learner import learners
from einstellung.learners.sgd import FineTuning


@learners.register("naive")
class Naive(FineTuning):
    """Plain fine-tuning on the current phase, from the previous phase's weights: min_theta CE(f_theta(x), y)."""
