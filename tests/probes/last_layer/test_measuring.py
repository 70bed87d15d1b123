"""Accuracies and gaps of a last layer, by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from einstellung.probes.last_layer.measuring import measure


def test_what_is_measured_by_hand():
    layer = nn.Linear(1, 2)
    layer.weight.data, layer.bias.data = torch.tensor([[0.0], [1.0]]), torch.zeros(2)
    clean, marked = torch.tensor([[-1.0], [1.0], [2.0]]), torch.tensor([[1.0], [1.0], [2.0]])
    y = torch.tensor([0, 1, 1])
    found = measure(layer, {"clean": (clean, y), "watermark": (marked, y), "texture": (-clean, y)}, index=1)
    assert found["clean_acc"] == 1
    assert found["watermark_gap"] == pytest.approx(-1 / 3)
    assert found["texture_gap"] == -1
    assert found["dp_carton"] == pytest.approx(
        float((torch.sigmoid(torch.tensor(1.0)) - torch.sigmoid(torch.tensor(-1.0))) / 3)
    )
    assert "dp_carton" not in measure(layer, {"clean": (clean, y), "watermark": (marked, y)}, index=None)
    assert found["carton_gap"] == 0  # both of class 1 are right before and after
    assert measure(layer, {"clean": (clean, y), "watermark": (marked, y)}, index=0)["carton_gap"] == -1
    none = {"clean": (clean[1:], y[1:]), "watermark": (marked[1:], y[1:])}
    assert measure(layer, none, index=0)["carton_gap"] is None
    # of the clean pictures both of class 1 are right and that of class 0 is wrong; class 2 has none among them
    partial = {"clean": (marked, y), "watermark": (marked, y), "texture": (clean[1:], torch.tensor([1, 2]))}
    narrow = measure(layer, partial, index=None)
    assert (narrow["clean_acc"], narrow["texture_acc"], narrow["texture_gap"]) == (pytest.approx(2 / 3), 1, 0)
