"""Pictures with several shortcuts at once, and what becomes of each through the phases."""

from einstellung.streams.composites.stream import composites

__all__ = ["composites"]
