"""Other people's training loops and frameworks, each ending in a timeline."""

from einstellung.bridges.recorder import Recorder

__all__ = ["Recorder"]
