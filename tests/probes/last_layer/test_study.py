"""Averages over models."""

from __future__ import annotations

import pytest

from einstellung.probes.last_layer.study import average


def test_the_average_is_over_models():
    def one(value, gap):
        erm = {
            "clean_acc": {"mean": value},
            "watermark_gap": {"mean": gap},
            "carton_gap": {"mean": None},
            "per_seed": {},
        }
        lle = {"watermark_gap": {"mean": -0.3}, "carton_gap": {"mean": 0.1}, "per_seed": {}, "amplification": {}}
        return {"methods": {"erm": erm, "lle": lle}}

    found = average([one(0.5, -0.1), one(0.75, -0.3)])["methods"]
    assert found["erm"] == {"clean_acc": 0.625, "watermark_gap": pytest.approx(-0.2), "carton_gap": None}
    assert found["lle"]["amplification"] == {"watermark_gap": pytest.approx(1.5), "carton_gap": None}
