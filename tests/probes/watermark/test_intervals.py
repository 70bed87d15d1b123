"""Bootstrap intervals against a plain bootstrap."""

from __future__ import annotations

import numpy as np
import pytest

from einstellung.probes.watermark.intervals import gap_interval, intervals


def test_intervals_are_those_of_a_plain_bootstrap():
    """Against drawing images one by one with another generator; differences keep their pairs."""
    rng = np.random.default_rng(1)
    clean = rng.random(80) < 0.9
    marked = clean & (rng.random(80) < 0.8)
    difference = marked.astype(float) - clean
    ours = intervals({"marked": marked, "gap": difference})
    rows = rng.integers(0, 80, (4000, 80))
    for name, values in (("marked", marked), ("gap", difference)):
        assert ours[name] == pytest.approx(np.quantile(values[rows].mean(1), [0.025, 0.975]), abs=0.02)
    unpaired = np.quantile(marked[rows].mean(1) - clean[rows[::-1]].mean(1), [0.025, 0.975])
    assert np.diff(ours["gap"]) < 0.8 * np.diff(unpaired)
    assert ours == intervals({"marked": marked, "gap": difference})
    assert intervals({"one": [1.0]}) == {"one": None}


def test_many_images_are_resampled_in_parts_to_the_same_end(monkeypatch):
    values = {"a": np.arange(50) % 7 / 7}
    whole = intervals(values)
    monkeypatch.setattr("einstellung.probes.watermark.intervals._CHUNK", 1000)
    assert intervals(values) == whole


def test_gaps_between_different_images_count_both_sides():
    first, second = np.arange(60) % 3 == 0, np.arange(90) % 2 == 0
    rng = np.random.default_rng(5)
    drawn = [side[rng.integers(0, len(side), (4000, len(side)))].mean(1) for side in (first, second)]
    assert gap_interval(first, second) == pytest.approx(np.quantile(drawn[0] - drawn[1], [0.025, 0.975]), abs=0.02)
    assert gap_interval(first[:1], second) is None
