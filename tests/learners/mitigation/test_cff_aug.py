"""CF+F augmentation: which pixels are kept and which are not, its loss by hand, and a background that counts for less."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners.mitigation import bg_aug, cff_aug
from einstellung.streams import Presentation
from tests.learners.mitigation.framed import batch_of, begun, dependence, framed, inside


@pytest.fixture
def made(make):
    return lambda name, world, **options: begun(make, name, world, epoch=1, **options)


def test_the_target_alone_and_all_but_the_target(made):
    """Without crop and flip, pixel by pixel."""
    world = replace(framed(crop_padding=0), flip=False)
    learner = made("cff_aug", world)
    raw = world.phases[0].train
    plain, factual, without = learner.views(raw)
    where = inside(raw).expand(-1, 3, -1, -1)
    assert torch.equal(plain, Presentation(world).unaugmented(raw))
    assert torch.equal(factual[where], plain[where])
    assert torch.equal(without[~where], plain[~where])
    assert float(without[where].abs().max()) < 1e-6
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (world.mean, world.std))
    around = (factual * std + mean).masked_fill(where, torch.nan).flatten(2)
    assert float(around.nan_to_num(0.5).min()) >= -1e-6
    assert float(around.nan_to_num(0.5).max()) <= 1 + 1e-6
    middle = around.nanmean(dim=2)
    assert float(middle.std(dim=0).min()) > 0.15  # a colour of its own for every image
    spread = ((around - middle.unsqueeze(2)) ** 2).nanmean(dim=2).sqrt()
    assert float(spread[(middle - 0.5).abs() < 0.1].mean()) == pytest.approx(0.2, abs=0.03)  # where little is cut off


def test_box_and_image_are_cropped_and_flipped_together(made):
    """The targets, and nothing else, are left of the factual images and missing from the others."""
    world = framed(crop_padding=2)
    learner = made("cff_aug", world, noise=0.0)
    plain, factual, without = learner.views(world.phases[0].train)
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (world.mean, world.std))
    pixels = ((plain * std + mean) * 255).round()
    target = (pixels[:, :1] == 128) & (pixels[:, 1:2] == 128)  # no background is of that colour
    assert int(target.sum()) > 32 * 12
    assert not torch.equal(target, inside(world.phases[0].train))
    blank = (without.abs() < 1e-5).all(dim=1, keepdim=True)
    assert torch.equal(blank, target)
    changed = (factual != plain).any(dim=1, keepdim=True)
    assert torch.equal(~changed, target)


def test_the_step_by_hand(made):
    """CE(x, y) + CE(target alone, y) + CE(all but the target, 1 - y), in one pass."""
    world = framed()
    learner = made("cff_aug", world)
    twin, batch = copy.deepcopy(learner.net), batch_of(world)
    views = made("cff_aug", world).views(batch.raw)
    plain, factual, without = twin(torch.cat(views)).split(32)
    loss = F.cross_entropy(plain, batch.labels) + F.cross_entropy(factual, batch.labels)
    loss = loss + F.cross_entropy(without, 1 - batch.labels)
    loss.backward()
    assert torch.allclose(learner.observe(batch), loss.detach(), rtol=1e-5)
    for p, q in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-6)


def test_of_more_classes_every_other_known_one_has_an_equal_share(made):
    """Four outputs, of which the fourth belongs to a later phase."""
    world = framed()
    first, second = world.phases
    world = replace(world, phases=(replace(first, classes=(0, 1, 2)), replace(second, classes=(3,))), n_outputs=4)
    learner = made("cff_aug", world)
    assert learner._flipped(torch.tensor([0, 2]), 4).tolist() == [[0, 0.5, 0.5, 0], [0.5, 0.5, 0, 0]]
    learner.begin_phase(world.phases[1])
    assert learner._flipped(torch.tensor([3]), 4).tolist() == [[pytest.approx(1 / 3)] * 3 + [0]]


@pytest.mark.parametrize("method", [cff_aug.CounterfactualAndFactual.method, bg_aug.BackgroundAugmentation.method])
def test_the_background_counts_for_less(made, method):
    """Background and target always go together; plain training is led by the background, this is not."""
    world = framed(crop_padding=0)
    batch = batch_of(world)
    found = {}
    for name in ("erm", method):
        learner = made(name, world, lr=0.3)
        for _ in range(60):
            learner.observe(batch)
        learner.net.eval()
        found[name] = dependence(learner.net, learner.context.presentation.unaugmented, batch.raw)
        right = learner.net(batch.inputs).argmax(dim=1) == batch.labels
        assert float(right.float().mean()) > 0.9
    assert found["erm"] > 0.5
    assert found[method] < 0.5 * found["erm"]


def test_a_stream_without_boxes_is_refused(make):
    with pytest.raises(InputError, match="cff_aug needs the target's place in every image; the stream 'shapes'"):
        make("cff_aug")


def test_wrong_noise_and_a_single_class_are_named(made):
    with pytest.raises(InputError, match=r"learners\.cff_aug\.noise is -1\.0: it must be at least 0"):
        cff_aug.CFFAugOptions(noise=-1.0)
    world = framed()
    alone = replace(world, phases=(replace(world.phases[0], classes=(0,)), world.phases[1]))
    with pytest.raises(InputError, match="in T1 only one class is known"):
        made("cff_aug", alone)
