"""Perception: slot attention, trained on random scenes, turns images into attribute tables."""

from einstellung.perception.inference import perceived_tables
from einstellung.perception.pretraining import Pretraining, pretrain

__all__ = ["Pretraining", "perceived_tables", "pretrain"]
