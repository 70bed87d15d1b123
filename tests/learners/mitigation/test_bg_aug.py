"""Background augmentation: who is changed, what is changed, and where it is refused."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners.mitigation import bg_aug
from einstellung.randomness import generator
from einstellung.streams import Presentation
from tests.learners.mitigation.framed import Repainted, batch_of, begun, framed, inside

NAME = bg_aug.BackgroundAugmentation.method


@pytest.fixture
def world():
    return framed()


@pytest.fixture
def made(make, world):
    return lambda name, world=world, **options: begun(make, name, world, epoch=3, **options)


def test_the_step_by_hand(made, world):
    """Those whose lot is below p are presented anew with another background; all keep their labels."""
    learner, batch = made(NAME, p=0.4), batch_of(world)
    twin = copy.deepcopy(learner.net)
    draws, augmentation = generator(7, "bg_aug", "T1", 3), generator(7, "bg_aug-augmentation", "T1", 3)
    rows = (torch.rand(32, generator=draws) < 0.4).nonzero().flatten()
    assert 5 < len(rows) < 25
    changed = Presentation(world).training(Repainted().swapped(batch.raw.take(rows), draws), augmentation, None)
    inputs = batch.inputs.clone()
    for row, image in zip(rows.tolist(), changed, strict=True):
        inputs[row] = image
    loss = F.cross_entropy(twin(inputs), batch.labels)
    loss.backward()
    before = batch.inputs.clone()
    assert torch.allclose(learner.observe(batch), loss.detach(), rtol=1e-5)
    for p, q in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-6)
    assert torch.equal(batch.inputs, before)  # whoever else looks at the batch finds it as it was


def test_targets_stay_and_backgrounds_change(made):
    still = replace(framed(crop_padding=0), flip=False)
    batch = batch_of(still)
    shown = made(NAME, still, p=1.0).shown(batch)
    where = inside(batch.raw).expand(-1, 3, -1, -1)
    assert torch.equal(shown[where], batch.inputs[where])
    assert bool((shown != batch.inputs).flatten(1).any(dim=1).all())


def test_as_many_are_changed_as_asked_for(made, world):
    learner, batch = made(NAME), batch_of(world)
    changed = [(learner.shown(batch) != batch.inputs).flatten(1).any(dim=1) for _ in range(60)]
    assert float(torch.stack(changed).double().mean()) == pytest.approx(0.5, abs=0.05)


def test_with_p_zero_the_step_is_plain_trainings(made, world):
    changed, plain = made(NAME, p=0.0), made("erm")
    assert float(changed.observe(batch_of(world))) == float(plain.observe(batch_of(world)))
    for p, q in zip(changed.net.parameters(), plain.net.parameters(), strict=True):
        assert torch.equal(p, q)


def test_a_stream_that_cannot_change_backgrounds_is_refused(make):
    with pytest.raises(
        InputError, match="bg_aug needs a stream that can change an image's background; 'shapes' cannot"
    ):
        make(NAME)


def test_a_wrong_share_is_named():
    with pytest.raises(InputError, match=r"learners\.bg_aug\.p is -0\.5: it must lie between 0 and 1"):
        bg_aug.BGAugOptions(p=-0.5)
