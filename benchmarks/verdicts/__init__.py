"""False-positive rate and power of verdicts: null studies and controls, resampled from real runs."""

from benchmarks.verdicts.table import measure

__all__ = ["measure"]
