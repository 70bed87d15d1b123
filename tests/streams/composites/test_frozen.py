"""Composites as frozen features."""

from __future__ import annotations

import pytest
import torch

from einstellung.randomness import generator
from einstellung.streams import Presentation, prove
from tests.streams.composites.conftest import failed, with_split


class Averages:
    """An extractor whose features can be worked out: the mean of every channel, and that of the right edge."""

    digest = "averages"
    seen = 0

    def features(self, images):
        self.seen += len(images)
        floats = images.float()
        return torch.cat([floats.mean(dim=(2, 3)), floats[..., -2:].mean(dim=(2, 3))], dim=1)


def test_features_of_a_frozen_extractor(monkeypatch, composed, stream):
    import einstellung.classifiers
    from einstellung.streams.composites.frozen import PARTNERS, as_features

    net = Averages()
    monkeypatch.setattr(einstellung.classifiers, "load_extractor", lambda name: net)
    seen = as_features(stream, "averages", 0)
    assert net.seen < 40 * 2 * (1 + PARTNERS * 3) + 16 + 32 + 16 * 6 + 1  # what is in several splits is looked at once
    for phase, pictures in zip(seen.phases, stream.phases, strict=True):
        assert phase.train.images.shape == (40, 6, 1, 1)
        assert torch.equal(phase.train.images[:, :, 0, 0], net.features(pictures.train.images))
        shown = Presentation(seen).training(phase.train, generator(0, "a"), None)
        assert torch.equal(shown, phase.train.images)  # neither flipped nor scaled
    for split, pictures in zip(seen.splits, stream.splits, strict=True):
        assert torch.equal(split.images.images[:, :, 0, 0], net.features(pictures.images.images))
        assert torch.equal(split.images.features, pictures.images.features)
    train = seen.phases[1].train
    swapped = seen.interventions["co-object"].swapped(train, generator(3, "swap"))
    assert torch.equal(swapped.features, train.features ^ 2)
    possible = [
        net.features(
            stream.interventions["co-object"]
            .swapped(stream.phases[1].train, generator(0, "frozen-swap", "co-object", "T2", number))
            .images
        )
        for number in range(PARTNERS)
    ]
    chosen = torch.stack([(swapped.images[:, :, 0, 0] == one).all(dim=1) for one in possible])
    assert bool(chosen.any(dim=0).all())
    assert bool(chosen.any(dim=1).all())  # each partner is drawn for some image
    with pytest.raises(ValueError, match="exist for training images only"):
        seen.interventions["co-object"].swapped(seen.split("T1_val").images, generator(0, "swap"))
    assert prove(seen).holds
    assert seen.target_boxes is None
    assert seen.facts["content"] != stream.facts["content"]
    broken = with_split(seen, "T1_val", images=torch.full_like(seen.split("T1_val").images.images, torch.nan))
    assert failed(broken) == {"all features are finite"}
