"""Cues: what is painted into an image and where, and how it is covered again."""

from einstellung.cues.covers import cover, covers
from einstellung.cues.patch import PatchCue, cues

__all__ = ["PatchCue", "cover", "covers", "cues"]
