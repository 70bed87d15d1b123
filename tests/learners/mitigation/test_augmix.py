"""AugMix: its operations against Pillow's, its mixtures, its loss by hand."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image, ImageOps

from einstellung.errors import InputError
from einstellung.learners.mitigation import augmix, augmix_operations
from einstellung.randomness import generator

HIGH, WIDE = 20, 24


def moved(*matrix):
    return lambda picture: picture.transform((WIDE, HIGH), Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR)


# the authors' operations, for a level from 0 to 10 and a direction
PILLOW = {
    "autocontrast": lambda level, sign: ImageOps.autocontrast,
    "equalise": lambda level, sign: ImageOps.equalize,
    "posterise": lambda level, sign: lambda picture: ImageOps.posterize(picture, max(1, 4 - int(level * 4 / 10))),
    "solarise": lambda level, sign: lambda picture: ImageOps.solarize(picture, 256 - int(level * 256 / 10)),
    "rotate": lambda level, sign: (
        lambda picture: picture.rotate(sign * int(level * 30 / 10), Image.Resampling.BILINEAR)
    ),
    "shear_x": lambda level, sign: moved(1, sign * level * 0.3 / 10, 0, 0, 1, 0),
    "shear_y": lambda level, sign: moved(1, 0, 0, sign * level * 0.3 / 10, 1, 0),
    "translate_x": lambda level, sign: moved(1, 0, sign * int(level * WIDE / 3 / 10), 0, 1, 0),
    "translate_y": lambda level, sign: moved(1, 0, 0, 0, 1, sign * int(level * HIGH / 3 / 10)),
}


@pytest.fixture(scope="module")
def pictures():
    """Smooth ones, noisy ones, and one of a single colour."""
    draws = torch.Generator().manual_seed(0)
    smooth = F.interpolate(torch.rand(6, 3, 4, 5, generator=draws), size=(HIGH, WIDE), mode="bicubic").clamp(0, 1)
    noise = torch.randint(1, 40, (6, 1, 1, 1), generator=draws) * torch.rand(6, 3, HIGH, WIDE, generator=draws)
    images = (smooth * 215 + noise).to(torch.uint8)
    images[5] = 77
    return images


@pytest.mark.parametrize("name", PILLOW)
def test_operations_are_pillows(pictures, name):
    levels = torch.linspace(0.1, 9.7, len(pictures), dtype=torch.float64)
    signs = torch.tensor([1.0, -1.0]).repeat(3).double()
    wanted = []
    for image, level, sign in zip(pictures, levels.tolist(), signs.tolist(), strict=True):
        changed = PILLOW[name](level, int(sign))(Image.fromarray(image.permute(1, 2, 0).numpy()))
        wanted.append(torch.from_numpy(np.array(changed)).permute(2, 0, 1))
    found = getattr(augmix_operations, name)(pictures, levels, signs)
    difference = (found.int() - torch.stack(wanted).int()).abs()
    # between pixels a mean is cut to whole numbers, where the last bit may decide
    assert int(difference.max()) <= (1 if name in ("rotate", "shear_x", "shear_y") else 0)
    assert float((difference > 0).float().mean()) < 0.01
    assert not torch.equal(found[4], pictures[4])


def test_all_operations_are_drawn():
    assert {operation.__name__ for operation in augmix_operations.OPERATIONS} == set(PILLOW)


def test_views_stay_within_the_range_and_differ(pictures):
    draws = torch.Generator().manual_seed(0)
    for severity in (1.0, 10.0):
        view = augmix.mixed_view(pictures, 3, severity, draws)
        assert float(view.min()) >= 0
        assert float(view.max()) <= 255
        assert all(not torch.equal(one, other) for one, other in zip(view[:5], pictures[:5].float(), strict=True))
    twice = [augmix.mixed_view(pictures, 3, 1.0, torch.Generator().manual_seed(4)) for _ in range(2)]
    assert torch.equal(*twice)


def test_chains_have_one_to_three_links(monkeypatch):
    """Every operation adds one, so that what comes out is the number of operations."""
    calls = []

    def plus_one(images, level, sign):
        calls.append(level)
        return images + 1

    monkeypatch.setattr(augmix, "OPERATIONS", (plus_one,) * 9)
    links = augmix.chained(torch.zeros(3000, 1, 1, 1, dtype=torch.uint8), 1.0, torch.Generator().manual_seed(0))
    counts = torch.bincount(links.flatten().long(), minlength=4).tolist()
    assert counts[0] == 0
    assert counts[1:] == pytest.approx([1000] * 3, rel=0.1)
    levels = torch.cat(calls)
    assert len(calls) == 27  # nine operations at three places
    assert 0.1 <= float(levels.min()) < 0.11
    assert 0.99 < float(levels.max()) <= 1.0


def test_a_view_is_a_mean_of_the_image_and_of_its_chains(monkeypatch, pictures):
    """With chains that change nothing a view is its image; with black ones, it is (1 - m) of it, m ~ Beta(1, 1)."""
    monkeypatch.setattr(augmix, "chained", lambda pixels, severity, draws: pixels)
    same = augmix.mixed_view(pictures, 3, 1.0, torch.Generator().manual_seed(0))
    assert torch.allclose(same, pictures.float(), atol=1e-3)
    monkeypatch.setattr(augmix, "chained", lambda pixels, severity, draws: torch.zeros_like(pixels))
    grey = torch.full((2000, 1, 1, 1), 200, dtype=torch.uint8)
    share = augmix.mixed_view(grey, 3, 1.0, torch.Generator().manual_seed(0)).flatten() / 200
    assert float(share.mean()) == pytest.approx(0.5, abs=0.02)
    assert float(share.var()) == pytest.approx(1 / 12, rel=0.05)


def test_divergence_by_hand():
    """1/3 sum_k KL(p_k || mean), summed over classes, averaged over images; 0 where all agree."""
    logits = torch.tensor(
        [[[1.0, 0.0, -1.0], [0.0, 0.0, 2.0]], [[0.0, 3.0, 0.0], [1.0, 1.0, 1.0]], [[2.0, 2.0, 0.0]] * 2]
    )
    total = 0.0
    for image in range(2):
        predictions = [np.exp(view[image].numpy()) / np.exp(view[image].numpy()).sum() for view in logits]
        mean = sum(predictions) / 3
        total += sum(float((p * np.log(p / mean)).sum()) for p in predictions) / 3
    assert float(augmix.jensen_shannon(tuple(logits))) == pytest.approx(total / 2, rel=1e-5)
    assert float(augmix.jensen_shannon((logits[0],) * 3)) == pytest.approx(0.0, abs=1e-7)


def test_the_step_by_hand(make, batch_of, stream):
    """Cross entropy of the image itself, and twelve times the divergence over it and two views of the same crop."""
    phase = stream.phases[1]
    learner = make("augmix", severity=5.0)
    with torch.no_grad():
        learner.net.head.weight *= 10  # predictions that differ from one view to the next
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 1)
    learner.net.train()
    twin, batch, presentation = copy.deepcopy(learner.net), batch_of(phase), learner.context.presentation
    assert bool(batch.raw.has_cue.any())
    names = ("augmix-augmentation", "augmix-cue", "augmix")
    augmentation, cue, draws = (generator(7, name, "T2", 1) for name in names)
    pixels = presentation.training_pixels(batch.raw, augmentation, cue)
    views = [pixels.float(), *(augmix.mixed_view(pixels, 3, 5.0, draws) for _ in range(2))]
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (stream.mean, stream.std))
    logits = twin(torch.cat([(view / 255 - mean) / std for view in views]))
    predictions = logits.softmax(dim=1).view(3, 8, -1)
    middle = predictions.mean(dim=0)
    divergence = (predictions * (predictions / middle).log()).sum() / 24
    loss = F.cross_entropy(logits[:8], batch.labels) + 12 * divergence
    loss.backward()
    assert 12 * divergence.item() > 0.01
    assert torch.allclose(learner.observe(batch), loss.detach(), rtol=1e-4)
    for p, q in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"width": 0}, "width is 0"), ({"severity": 11.0}, "severity is 11"), ({"weight": -1.0}, "weight is -1")],
)
def test_wrong_options_are_named(make, options, words):
    with pytest.raises(InputError, match=rf"learners\.augmix\.{words}"):
        make("augmix", **options)
