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
