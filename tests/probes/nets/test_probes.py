"""Each probe on small nets whose answer is known, or computed another way."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from einstellung.backbones.registry import build_backbone
from einstellung.cues import PatchCue
from einstellung.probes.nets.calibration import calibration
from einstellung.probes.nets.plasticity import BATCHES, gradient_norm, plasticity
from einstellung.probes.nets.representation import representation
from einstellung.probes.nets.subject import ProbedNet, Subject
from einstellung.randomness import generator
from einstellung.streams import Presentation, streams
from einstellung.timeline import SC_PATCH


@pytest.fixture(scope="module")
def stream():
    options = {"size": 12, "train_per_class": 20, "test_per_class": 4, "t1": [0], "t2": [8, 9], "shortcut": [8]}
    return streams["shapes"](cue=PatchCue(), cover="black", **options)


@pytest.fixture
def probed(stream):
    net = build_backbone("resnet18", {"width": 4}, stream.n_outputs, seed=1)
    return ProbedNet(net, stream, Presentation(stream), nullcontext, 10)


def test_gradients_are_those_of_the_first_batches(stream, probed):
    """By autograd over one vector of parameters, and nothing of the net has changed."""
    phase, presentation = stream.phases[-1], Presentation(stream)
    order = torch.randperm(len(phase.train), generator=generator(3, "order", "T2", 1))
    draws = [generator(3, purpose, "T2", 1) for purpose in ("augmentation", "cue")]
    net = build_backbone("resnet18", {"width": 4}, stream.n_outputs, seed=1).train()
    norms = []
    for rows in order.split(16)[:BATCHES]:
        raw = phase.train.take(rows)
        loss = F.cross_entropy(net(presentation.training(raw, *draws)), raw.labels)
        found = torch.autograd.grad(loss, list(net.parameters()))
        norms.append(float(torch.cat([one.flatten() for one in found]).double().norm()))
    before = {name: value.clone() for name, value in probed.net.state_dict().items()}
    assert gradient_norm(probed, 3, 16) == pytest.approx(np.mean(norms), rel=1e-5)
    assert all(torch.equal(value, before[name]) for name, value in probed.net.state_dict().items())
    assert all(one.grad is None for one in probed.net.parameters())


def test_a_silenced_stage_is_dormant(probed):
    """Without the last block's output, the 32 units of stage 4 are silent: 32 of 4 + 8 + 16 + 32."""
    whole = next(one for one in plasticity(Subject(1, probed), 16) if one.net == "T2")
    assert whole.dormant["0"] < 0.2
    for layer in (probed.net.blocks[7].bn2, probed.net.blocks[6].bn2, probed.net.blocks[6].shortcut[1]):
        torch.nn.init.zeros_(layer.weight)
        torch.nn.init.zeros_(layer.bias)
    probed._seen.clear()
    (silent,) = plasticity(Subject(1, probed), 16)
    assert [one.dormant["0"] for one in silent.layers][-1] == 1
    assert silent.dormant["0"] >= 32 / 60
    assert silent.effective_rank is None
    weights = torch.cat([one.detach().flatten() for one in probed.net.parameters()])
    assert silent.weight_magnitude == pytest.approx(float(weights.abs().mean()))


def test_calibration_of_a_net_that_always_says_the_same(probed):
    """Logits 2 for one class and 0 for the others, whatever the image."""
    torch.nn.init.zeros_(probed.net.head.weight)
    label = int(probed.labels(SC_PATCH)[0])
    with torch.no_grad():
        probed.net.head.bias.zero_()[label] = 2.0
    found = {one.split: one for one in calibration(Subject(1, probed))}
    classes = probed.stream.n_outputs
    top, rest = np.exp(2) / (np.exp(2) + classes - 1), 1 / (np.exp(2) + classes - 1)
    share = (probed.labels(SC_PATCH) == label).mean()
    one = found[SC_PATCH]
    assert one.accuracy == pytest.approx(share)
    assert one.confidence == pytest.approx(top, rel=1e-5)
    assert one.ece_width == pytest.approx(abs(share - top), rel=1e-4)
    assert one.ece_mass == pytest.approx(share * (1 - top) + (1 - share) * top, rel=1e-4)  # 12 images: a bin for each
    own = len(set(probed.labels(SC_PATCH)))
    assert one.shortcut_probability == pytest.approx(top + (own - 1) * rest, rel=1e-5)
    assert found["T2_nonshortcut_normal"].accuracy == 0


def test_a_net_that_cannot_see_the_cue_is_the_same_with_and_without(probed, monkeypatch):
    """Blind to the cue's corner: covering it changes no representation; with sight it does."""
    seeing = {(one.split, one.layer): one.value for one in representation(Subject(1, probed)) if one.change == "cue"}
    normalised = probed.presentation.normalised

    def blinded(pixels):
        covered = pixels.clone()
        covered[:, :, :4, :4] = 0
        return normalised(covered)

    monkeypatch.setattr(probed.presentation, "normalised", blinded)
    probed._seen.clear()
    probed._grams.clear()
    blind = [one.value for one in representation(Subject(1, probed)) if one.change == "cue"]
    np.testing.assert_allclose(blind, 1, atol=1e-9)
    assert seeing["T2_test", "stage 1"] < 0.99


def test_stored_predictions_count_only_for_the_same_images(stream, probed):
    import pandas as pd

    images = stream.split(SC_PATCH).images
    frame = pd.DataFrame({"split": SC_PATCH, "index": images.index, "label": images.labels, "prediction": 3})
    probed.stored = frame
    assert set(probed.predictions(SC_PATCH)) == {3}
    probed.stored = frame.iloc[::-1]
    assert probed.predictions(SC_PATCH).tolist() == probed.observed(SC_PATCH).logits.argmax(axis=1).tolist()
