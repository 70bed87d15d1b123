"""Tasks that are each solved by a confounder of their own, and an unconfounded set that only the ground truth solves."""

from einstellung.streams.concon.stream import concon

__all__ = ["concon"]
