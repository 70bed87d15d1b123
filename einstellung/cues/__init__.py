"""Cues: what is painted into an input and where, and how it is covered again."""

from einstellung.cues import series, text
from einstellung.cues.covers import cover, covers, covers_for
from einstellung.cues.patch import PatchCue
from einstellung.cues.planted import Cue, cues, cues_for

__all__ = ["Cue", "PatchCue", "cover", "covers", "covers_for", "cues", "cues_for", "series", "text"]
