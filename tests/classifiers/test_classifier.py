"""Features before the last layer."""

from __future__ import annotations

import torch

from einstellung.classifiers import load_extractor

from .tiny import write_net


def test_features_are_what_the_last_layer_sees(tmp_path):
    eyes = load_extractor(f"{write_net(tmp_path)}:net")
    images = torch.randint(0, 256, (70, 3, 32, 32), dtype=torch.uint8)
    found = eyes.features(images)
    assert found.shape == (70, eyes.width) == (70, 2)
    torch.testing.assert_close(found[:, 0], images.float().mean((1, 2, 3)) / 255)
    torch.testing.assert_close(eyes.last_layer(found), eyes.classifier.logits(images))
    larger = images.repeat_interleave(2, 2).repeat_interleave(2, 3)
    assert (eyes.features(larger)[:, 0] - found[:, 0]).abs().max() < 0.02
