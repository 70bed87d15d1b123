"""Last layers on fixed features: losses by hand, what each method is trained on, and a known effect."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from einstellung.cli.last_layer import named_folders
from einstellung.errors import InputError
from einstellung.learners.mitigation.heads import Ensemble
from einstellung.probes.last_layer.measuring import accuracy
from einstellung.probes.last_layer.training import (
    LastLayerTraining,
    TrainingFeatures,
    draw_batch,
    objective,
    shifts_of,
    split_held_out,
    train_layer,
)


def toy(count=400, seed=0):
    """A faint true feature, a strong cue that goes with the label as long as it is left alone, and a sign of the shift.

    Features: label (noisy), cue, shifted or not, 1. Under the shift the cue says the contrary.
    """
    draws = torch.Generator().manual_seed(seed)
    y = torch.randint(2, (count,), generator=draws)
    sign = 2.0 * y - 1
    true = sign + 0.7 * torch.randn(count, generator=draws)
    clean = torch.stack([true, 3 * sign, torch.zeros(count), torch.ones(count)], 1)
    turned = torch.stack([true, -3 * sign, torch.ones(count), torch.ones(count)], 1)
    return TrainingFeatures((clean, y), {"watermark": (turned.unsqueeze(0), torch.arange(count))})


def start():
    torch.manual_seed(0)
    return nn.Linear(4, 2).requires_grad_(False)


RECIPE = LastLayerTraining(epochs=60, batch=64)


def test_an_augmentation_and_lle_cure_what_erm_learns():
    learned, test = toy(seed=1), toy(seed=2)
    shifted = test.shifted["watermark"][0][0], test.clean[1]
    found = {method: train_layer(method, start(), learned, RECIPE, 0.1, seed=0) for method in ("erm", "wtm_aug", "lle")}
    clean = {method: accuracy(layer, *test.clean) for method, layer in found.items()}
    turned = {method: accuracy(layer, *shifted) for method, layer in found.items()}
    assert clean["erm"] > 0.99
    assert turned["erm"] < 0.1  # it has learned nothing but the cue
    assert turned["wtm_aug"] > 0.85
    assert (
        min(clean["lle"], turned["lle"]) > 0.97
    )  # each layer may use the cue in its own way: better than one for both
    assert turned["lle"] > turned["wtm_aug"]


def test_losses_by_hand():
    z, y, d = (
        torch.randn(6, 4, generator=torch.Generator().manual_seed(3)),
        torch.tensor([0, 1, 1, 0, 1, 0]),
        torch.arange(6) % 3,
    )
    layer = start()
    assert float(objective(layer, z, y, d)) == pytest.approx(float(F.cross_entropy(layer(z), y)))
    heads = Ensemble(layer, 3)
    heads.requires_grad_(False).know([1, 2])
    for value in heads.parameters():
        value.normal_(generator=torch.Generator().manual_seed(4))
    total = 0.0
    for row in range(6):
        own = heads.weight[d[row]] @ z[row] + heads.bias[d[row]]
        shift_logits = heads.shift_weight @ z[row] + heads.shift_bias
        total -= float(own.log_softmax(0)[y[row]] + shift_logits.log_softmax(0)[d[row]])
    assert float(objective(heads, z, y, d)) == pytest.approx(total / 6, rel=1e-5)


def test_one_step_of_erm_is_plain_descent():
    known, layer = toy(50), start()
    z, y = known.clean
    error = (layer(z).softmax(1) - F.one_hot(y, 2)) / 50
    assert LastLayerTraining().weight_decay == 1e-4
    for decay in (0.0, 0.5):
        recipe = LastLayerTraining(epochs=1, batch=1024, momentum=0.0, weight_decay=decay)
        one = train_layer("erm", layer, known, recipe, 0.3, seed=0)
        rate = 0.3 * 50 / 256
        torch.testing.assert_close(one.weight, layer.weight - rate * (error.T @ z + decay * layer.weight))
        torch.testing.assert_close(one.bias, layer.bias - rate * (error.sum(0) + decay * layer.bias))
    assert torch.equal(layer.weight, start().weight)  # what is begun with stays as it was


def test_shifts_are_drawn_equally_and_keep_pictures_with_their_labels():
    known = toy(3000)
    has = torch.tensor([2999, 5, 7, 1000, 8, 11, 2])  # the only ones that have a version of that kind, in any order
    textured = known.clean[0][has].unsqueeze(0) + 100
    both = TrainingFeatures(known.clean, {**known.shifted, "texture": (textured, has)})
    rows = torch.randperm(3000, generator=torch.Generator().manual_seed(0))
    z, y, d = draw_batch(both, ["watermark", "texture"], rows, torch.Generator().manual_seed(1))
    assert d.bincount().tolist() == pytest.approx([1000] * 3, rel=0.1)
    assert torch.equal(z[d == 0], known.clean[0][rows[d == 0]])
    assert torch.equal(z[d == 1], known.shifted["watermark"][0][0][rows[d == 1]])
    assert torch.equal(y[d != 2], known.clean[1][rows[d != 2]])
    for features, label, row in zip(z[d == 2], y[d == 2], rows[d == 2], strict=True):
        (place,) = (textured[0] == features).all(1).nonzero().flatten().tolist()
        assert known.clean[1][has[place]] == label
        assert row not in has or has[place] == row  # one's own version, where there is one
    z, y, d = draw_batch(both, [], rows, torch.Generator().manual_seed(1))
    assert torch.equal(z, known.clean[0][rows])


def test_a_picture_is_held_out_in_all_its_versions():
    known = toy(100)
    learned, held = split_held_out(known, 0.2, seed=5)
    assert (len(learned.clean[1]), len(held.clean[1])) == (80, 20)
    for part in (learned, held):
        versions, rows = part.shifted["watermark"]
        assert torch.equal(versions[0][:, 0], part.clean[0][rows, 0])
        assert len(rows) == len(part.clean[1])
    together = torch.cat([learned.clean[0], held.clean[0]])[:, 0].sort().values
    assert torch.equal(together, known.clean[0][:, 0].sort().values)
    assert not torch.equal(held.clean[0], split_held_out(known, 0.2, seed=6)[1].clean[0])


def test_versions_from_a_folder_are_held_out_with_their_pictures():
    """In another order than the pictures, and with as many of either class: labels do not tell which is whose."""
    known = toy(100)
    order = torch.randperm(100, generator=torch.Generator().manual_seed(9))[:90]
    both = TrainingFeatures(known.clean, {"texture": (known.clean[0][order].unsqueeze(0), order)})
    learned, held = split_held_out(both, 0.3, seed=1)
    values = {name: set(part.clean[0][:, 0].tolist()) for name, part in (("learned", learned), ("held", held))}
    for name, part in (("learned", learned), ("held", held)):
        versions, rows = part.shifted["texture"]
        assert set(versions[0][:, 0].tolist()) <= values[name]
        assert torch.equal(versions[0], part.clean[0][rows])
    assert len(learned.shifted["texture"][1]) + len(held.shifted["texture"][1]) == 90
    few = TrainingFeatures(
        known.clean, {"texture": (held.clean[0][:1].unsqueeze(0), torch.tensor([_row_of(known, held)]))}
    )
    with pytest.raises(InputError, match="--shift texture: all of its pictures are held out"):
        split_held_out(few, 0.3, seed=1)


def _row_of(known, held):
    return int((known.clean[0][:, 0] == held.clean[0][0, 0]).nonzero())


def test_methods_are_named_by_their_shifts():
    assert shifts_of("texture_aug", ["watermark", "texture"]) == ["texture"]
    with pytest.raises(InputError, match="no 'texture_aug'; with these shifts there are erm, wtm_aug, lle"):
        shifts_of("texture_aug", ["watermark"])
    with pytest.raises(InputError, match="no 'magic'"):
        shifts_of("magic", ["watermark"])
    with pytest.raises(InputError, match="learning rates above 0"):
        LastLayerTraining(rates=(0.0,))
    with pytest.raises(InputError, match="--shift texture: write NAME=FOLDER"):
        named_folders("--shift", ("texture",))
    with pytest.raises(InputError, match="--shift carton=x: write NAME=FOLDER"):
        named_folders("--shift", ("carton=x",))  # its gap would be taken for the class's
