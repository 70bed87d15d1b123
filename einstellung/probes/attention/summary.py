"""Summary statistics of a split's attention maps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from einstellung.metrics.attention import FloatArray, MapStatistics


@dataclass(frozen=True)
class AttentionSummary:
    """Means over ``n`` images: per layer and head [L, H], per layer [L] (of the mean map over its heads), and rolled out.

    ``share_*`` (AS) is None if no region was given; AS is then minus the entropy. ``diversity_*`` (ADI) is None for a single
    image.
    """

    n: int
    grid: tuple[int, int]
    mean_map_heads: FloatArray
    mean_map_rollout: FloatArray
    share_heads: FloatArray | None
    share_layers: FloatArray | None
    share_rollout: float | None
    entropy_heads: FloatArray
    entropy_layers: FloatArray
    entropy_rollout: float
    diversity_heads: FloatArray | None
    diversity_layers: FloatArray | None
    diversity_rollout: float | None


class SummaryBuilder:
    """Accumulates the maps of one batch after another."""

    def __init__(self) -> None:
        self._heads, self._layers, self._rollout = MapStatistics(), MapStatistics(), MapStatistics()

    def add(self, heads: npt.ArrayLike, rollout: npt.ArrayLike, box: npt.ArrayLike | None) -> None:
        """``heads`` [B, L, H, gh, gw], ``rollout`` [B, gh, gw], ``box`` [B, gh, gw] or None."""
        maps = np.asarray(heads, dtype=np.float64)
        self._heads.add(maps, box)
        self._layers.add(maps.mean(axis=2), box)
        self._rollout.add(rollout, box)

    @property
    def n(self) -> int:
        return self._heads.n

    def summary(self) -> AttentionSummary:
        heads, layers, rollout = self._heads, self._layers, self._rollout
        rows, columns = rollout.mean_map.shape
        return AttentionSummary(
            n=self.n,
            grid=(rows, columns),
            mean_map_heads=heads.mean_map,
            mean_map_rollout=rollout.mean_map,
            share_heads=heads.share,
            share_layers=layers.share,
            share_rollout=None if rollout.share is None else float(rollout.share),
            entropy_heads=heads.entropy,
            entropy_layers=layers.entropy,
            entropy_rollout=float(rollout.entropy),
            diversity_heads=heads.diversity,
            diversity_layers=layers.diversity,
            diversity_rollout=None if rollout.diversity is None else float(rollout.diversity),
        )
