"""What is painted into an image, where, and how it is covered up again."""

from einstellung.cues.covers import cover, covers
from einstellung.cues.patch import PatchCue, cues

__all__ = ["PatchCue", "cover", "covers", "cues"]
