"""How often a verdict is false, and how often it is found: null studies and controls, resampled from real runs."""

from benchmarks.verdicts.table import measure

__all__ = ["measure"]
