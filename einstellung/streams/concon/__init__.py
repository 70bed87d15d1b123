"""Tasks that can each be solved by their own confounder, and an unconfounded set that only the ground truth solves."""

from einstellung.streams.concon.stream import concon

__all__ = ["concon"]
