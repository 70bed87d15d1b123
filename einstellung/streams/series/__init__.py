"""Streams of series."""

from einstellung.streams.series.ucr import ucr
from einstellung.streams.series.waves import waves

__all__ = ["ucr", "waves"]
