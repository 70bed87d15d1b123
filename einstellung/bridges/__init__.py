"""Bridges from other training loops and frameworks to a timeline."""

from einstellung.bridges.recorder import Recorder

__all__ = ["Recorder"]
