"""Ratios of gaps, by hand."""

from __future__ import annotations

import pytest

from einstellung.probes.last_layer.amplification import against_erm


def test_amplification_by_hand():
    erm = [{"watermark_gap": -0.2, "carton_gap": 0.3, "texture_gap": 0.2}, {"watermark_gap": -0.3, "carton_gap": 0.2}]
    erm[1]["texture_gap"] = 0.4
    own = [{name: 2 * gap for name, gap in seed.items()} for seed in erm]
    found = against_erm(own, erm)
    assert found["watermark_gap"]["value"] == pytest.approx(2)
    assert found["carton_gap"]["value"] == pytest.approx(2)  # here reliance is above 0
    assert found["texture_gap"]["value"] is None  # erm is better there: twice as much better is nothing bad
    assert found["texture_gap"]["interval"] == "none: the denominator is above 0"
    assert against_erm([{"carton_gap": -0.1}], [{"carton_gap": -0.2}])["carton_gap"]["value"] is None
    assert against_erm([{"carton_gap": None}], [{"carton_gap": None}])["carton_gap"]["value"] is None
