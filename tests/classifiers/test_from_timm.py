"""timm models use timm's data configuration; a missing timm is one line."""

from __future__ import annotations

import sys
import types

import pytest
import torch
from torch import nn

from einstellung.classifiers import load_classifier
from einstellung.classifiers.preprocessing import Preprocessing
from einstellung.errors import InputError


def test_timm_is_used_with_its_own_configuration_and_missed_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(InputError, match=r"timm:resnet50 needs timm.*pip install timm"):
        load_classifier("timm:resnet50")
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16, 7))
    net.num_classes = 7
    config = {
        "input_size": (3, 4, 4),
        "crop_pct": 0.5,
        "mean": (0.5,) * 3,
        "std": (0.25,) * 3,
        "interpolation": "bilinear",
    }
    timm = types.ModuleType("timm")
    timm.__version__ = "1.0"
    timm.data = types.ModuleType("timm.data")
    timm.create_model = lambda name, pretrained: net
    timm.data.resolve_model_data_config = lambda net: config
    monkeypatch.setitem(sys.modules, "timm", timm)
    monkeypatch.setitem(sys.modules, "timm.data", timm.data)
    found = load_classifier("timm:small")
    assert found.preprocessing == Preprocessing(4, 8, (0.5,) * 3, (0.25,) * 3, "bilinear")
    images = torch.randint(0, 256, (2, 3, 4, 4), dtype=torch.uint8)
    torch.testing.assert_close(found.logits(images), net((images / 255 - 0.5) / 0.25))
    timm.__version__ = "1.1"
    assert load_classifier("timm:small").digest != found.digest  # the net's code is timm's
    config["crop_mode"] = "squash"
    assert load_classifier("timm:small").preprocessing == Preprocessing(4, 8, (0.5,) * 3, (0.25,) * 3, "bilinear", True)
    config["crop_mode"] = "border"
    with pytest.raises(InputError, match="timm:small uses crop mode 'border': only center and squash"):
        load_classifier("timm:small")
