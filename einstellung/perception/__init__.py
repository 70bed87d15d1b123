"""Perception: slot attention, trained on scenes without rules, turns pictures into tables of attributes."""

from einstellung.perception.perceiving import perceived_tables
from einstellung.perception.pretraining import Pretraining, pretrain

__all__ = ["Pretraining", "perceived_tables", "pretrain"]
