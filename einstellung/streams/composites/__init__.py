"""Images with several shortcuts at once, whose correlations may change from phase to phase."""

from einstellung.streams.composites.stream import composites

__all__ = ["composites"]
