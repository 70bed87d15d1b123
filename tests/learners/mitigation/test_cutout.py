"""Cutout: boxes of the sizes that random erasing has, in as many images as it should be, and what they are filled with."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners.mitigation.cutout import erased_boxes
from einstellung.randomness import generator


def sides(erased):
    """Height and width of what is erased of every image, having checked that it is a box."""
    rows, cols = erased[:, 0].any(dim=2).sum(dim=1), erased[:, 0].any(dim=1).sum(dim=1)
    assert torch.equal(erased[:, 0].sum(dim=(1, 2)), rows * cols)
    return rows, cols


def test_what_is_erased_is_a_box_of_the_right_area_and_form():
    erased = erased_boxes(4000, 40, 60, 1.0, torch.Generator().manual_seed(0))
    rows, cols = (values.double() for values in sides(erased))
    assert bool((rows > 0).all())
    area = rows * cols / (40 * 60)
    # a side is rounded to whole pixels, so that area and form may be off by that much
    assert 0.015 < float(area.min()) < 0.03
    assert 0.31 < float(area.max()) < 0.35
    assert bool(((rows + 0.5) / (cols - 0.5) > 0.3).all())
    assert bool(((rows - 0.5) / (cols + 0.5) < 3.3).all())
    assert float((rows > cols).double().mean()) == pytest.approx(0.5, abs=0.08)
    assert float(area.mean()) == pytest.approx((0.02 + 0.33) / 2, abs=0.01)


def test_every_place_can_be_erased_and_as_many_images_as_asked_for():
    erased = erased_boxes(4000, 16, 16, 0.25, torch.Generator().manual_seed(1))
    assert bool(erased.any(dim=0).all())
    assert float(erased.flatten(1).any(dim=1).double().mean()) == pytest.approx(0.25, abs=0.03)


def test_an_image_that_no_box_fits_stays_whole():
    assert not bool(erased_boxes(50, 1, 1, 1.0, torch.Generator().manual_seed(0)).any())


def test_the_step_by_hand(make, batch_of, stream):
    phase = stream.phases[0]
    learner = make("cutout", p=0.6)
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 2)
    learner.net.train()
    twin, batch = copy.deepcopy(learner.net), batch_of(phase)
    erased = erased_boxes(8, 12, 12, 0.6, generator(7, "cutout", "T1", 2))[:, 0]
    assert 0 < int(erased.flatten(1).any(dim=1).sum()) < 8
    inputs = batch.inputs.clone()
    for i in range(8):
        inputs[i, :, erased[i]] = 0.0
    loss = F.cross_entropy(twin(inputs), batch.labels)
    loss.backward()
    assert torch.allclose(learner.observe(batch), loss.detach())
    for p, q in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-6)


def test_with_p_zero_the_step_is_plain_trainings(make, batch_of, stream):
    phase = stream.phases[0]
    nets = []
    for name, options in (("cutout", {"p": 0.0}), ("erm", {})):
        learner = make(name, **options)
        learner.begin_phase(phase)
        learner.begin_epoch(phase, 1)
        learner.observe(batch_of(phase))
        nets.append(learner.net)
    for p, q in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        assert torch.equal(p, q)


def test_a_wrong_share_is_named(make):
    with pytest.raises(InputError, match=r"learners\.cutout\.p is 1\.5: it must lie between 0 and 1"):
        make("cutout", p=1.5)
