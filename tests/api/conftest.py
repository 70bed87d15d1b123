"""A small log with a method that relies on the cue, and small drawn data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def log() -> pd.DataFrame:
    """Three methods, six seeds: ``habit`` is quicker than scratch and right with the cue only; ``slow`` is scratch, later."""
    draws, rows = np.random.default_rng(0), []
    ends = {"scratch_t2": (0.8, 0.5, 4), "habit": (0.9, 0.1, 1), "slow": (0.8, 0.5, 9)}
    for method, (shown, covered, half) in ends.items():
        for seed in range(6):
            shift = draws.normal(0, 0.01)
            for epoch in range(16):
                rise = epoch / (epoch + half)
                for split, end in (
                    ("T2_shortcut_normal", shown),
                    ("T2_shortcut_masked", covered),
                    ("T2_nonshortcut_normal", 0.7),
                ):
                    acc = float(np.clip(end * rise * 1.2 + shift, 0, 1))
                    rows.append([method, seed, "T2", epoch, split, acc, None, 200])
    return pd.DataFrame(rows, columns=["method", "seed", "phase", "epoch", "split", "acc", "loss", "n"])


@pytest.fixture(scope="session")
def pictures() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Noise of 12x12 pixels around the colour of each of four classes: 20 training and 8 test images a class."""
    draws = np.random.default_rng(1)
    colours = draws.integers(40, 215, (4, 1, 1, 3))

    def part(per_class: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.arange(4).repeat(per_class)
        images = colours[labels] + draws.integers(-30, 30, (len(labels), 12, 12, 3))
        return images.astype(np.uint8), labels

    return {"train": part(20), "test": part(8)}
