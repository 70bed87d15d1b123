"""ResNet-18 and its stems."""

from __future__ import annotations

import pytest
import torch

from einstellung.backbones.resnet import ResNet18
from einstellung.errors import InputError


@pytest.mark.parametrize(("stride", "side"), [(1, 64), (2, 32), (4, 16)])
def test_the_stem_makes_images_smaller_by_its_stride(stride, side):
    net, seen = ResNet18(2, width=8, stem_stride=stride), []
    net.blocks.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].shape))
    assert net(torch.zeros(1, 3, 64, 64)).shape == (1, 2)
    assert seen == [(1, 8, side, side)]


def test_another_stem_is_refused():
    with pytest.raises(InputError, match="stem_stride is 3: give 1, 2 or 4"):
        ResNet18(2, width=8, stem_stride=3)


def test_the_papers_net_has_the_known_number_of_weights():
    """ResNet-18 with a 3x3 stem and 10 outputs has 11,173,962 parameters (counted in many public write-ups)."""
    assert sum(p.numel() for p in ResNet18(10).parameters()) == 11_173_962


@pytest.mark.parametrize("width", [4, 8, 20])
def test_any_width(width):
    net = ResNet18(7, width=width)
    assert net(torch.zeros(2, 3, 32, 32)).shape == (2, 7)
    assert net.features(torch.zeros(2, 3, 32, 32)).shape == (2, 8 * width)
