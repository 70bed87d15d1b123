"""A net that is one linear layer, and images that are features already."""

from __future__ import annotations

import pytest
import torch

from einstellung.backbones import build_backbone
from einstellung.errors import InputError
from einstellung.streams import Presentation
from tests.learners.mitigation.points import made, one_cue, stream_of


def test_its_logits_by_hand():
    net = build_backbone("linear", {"inputs": 6}, 3, seed=1)
    images = torch.randn(4, 6, 1, 1)
    torch.testing.assert_close(net(images), images[:, :, 0, 0] @ net.head.weight.T + net.head.bias)
    torch.testing.assert_close(net(images.view(4, 2, 1, 3)), net(images))
    assert list(net.state_dict()) == ["head.weight", "head.bias"]


@pytest.mark.parametrize("channels_last", [False, True])
def test_features_reach_the_net_as_they_are(channels_last):
    """No matter how large, how small, or how many: in training, in evaluation and without augmentation."""
    images = one_cue(common=3, uncommon=1)
    images.images[0] = torch.tensor([1e-6, -3e5]).view(2, 1, 1)
    stream = stream_of(images)
    presentation = Presentation(stream, channels_last=channels_last)
    draws = torch.Generator().manual_seed(0)
    for shown in (
        presentation.training(images, draws, draws),
        presentation.unaugmented(images),
        presentation.normalised(images.images),
    ):
        assert shown.dtype == torch.float32
        torch.testing.assert_close(shown, images.images, rtol=1e-6, atol=0)
    learner = made("erm", stream)
    assert learner.net(shown).shape == (8, 2)


def test_a_wrong_number_is_named():
    with pytest.raises(InputError, match=r"^backbone\.inputs is 0: it must be at least 1"):
        build_backbone("linear", {"inputs": 0}, 3, seed=1)
