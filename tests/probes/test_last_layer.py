"""Last layers on fixed features: their losses by hand, what each learns from, and the effect that is known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from click.testing import CliRunner
from torch import nn

from einstellung.cli.last_layer import last_layer as command
from einstellung.cli.last_layer import named_folders
from einstellung.errors import InputError
from einstellung.learners.mitigation.heads import Ensemble
from einstellung.probes.last_layer.pictures import read
from einstellung.probes.last_layer.study import accuracy, average, measured
from einstellung.probes.last_layer.training import Known, Recipe, drawn, objective, shifts_of, split, trained
from tests.classifiers.tiny import grey, write_net

FONT = Path("/usr/share/fonts/opentype/noto/NotoSerifCJK-ExtraLight.ttc")


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
    return Known((clean, y), {"watermark": (turned.unsqueeze(0), y)})


def start():
    torch.manual_seed(0)
    return nn.Linear(4, 2).requires_grad_(False)


RECIPE = Recipe(epochs=60, batch=64)


def test_an_augmentation_and_lle_cure_what_erm_learns():
    learned, test = toy(seed=1), toy(seed=2)
    shifted = test.shifted["watermark"][0][0], test.shifted["watermark"][1]
    found = {method: trained(method, start(), learned, RECIPE, 0.1, seed=0) for method in ("erm", "wtm_aug", "lle")}
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
        told = heads.shift_weight @ z[row] + heads.shift_bias
        total -= float(own.log_softmax(0)[y[row]] + told.log_softmax(0)[d[row]])
    assert float(objective(heads, z, y, d)) == pytest.approx(total / 6, rel=1e-5)


def test_one_step_of_erm_is_plain_descent():
    known, layer = toy(50), start()
    one = trained("erm", layer, known, Recipe(epochs=1, batch=1024, momentum=0.0), 0.3, seed=0)
    z, y = known.clean
    error = (layer(z).softmax(1) - F.one_hot(y, 2)) / 50
    expected = layer.weight - 0.3 * 50 / 256 * error.T @ z
    torch.testing.assert_close(one.weight, expected)
    assert torch.equal(layer.weight, start().weight)  # what is begun with stays as it was


def test_shifts_are_drawn_equally_and_keep_pictures_with_their_labels():
    known = toy(3000)
    apart = known.shifted["watermark"][0][:, :7] + 100, torch.tensor([0, 0, 1, 1, 0, 1, 1])
    both = Known(known.clean, {**known.shifted, "texture": apart})
    assert (both.is_apart("watermark"), both.is_apart("texture")) == (False, True)
    rows = torch.randperm(3000, generator=torch.Generator().manual_seed(0))
    z, y, d = drawn(both, ["watermark", "texture"], rows, torch.Generator().manual_seed(1))
    assert d.bincount().tolist() == pytest.approx([1000] * 3, rel=0.1)
    assert torch.equal(z[d == 0], known.clean[0][rows[d == 0]])
    assert torch.equal(z[d == 1], known.shifted["watermark"][0][0][rows[d == 1]])
    assert torch.equal(y[d != 2], known.clean[1][rows[d != 2]])
    for features, label in zip(z[d == 2], y[d == 2], strict=True):
        (place,) = (apart[0][0] == features).all(1).nonzero().flatten().tolist()
        assert apart[1][place] == label
    z, y, d = drawn(both, [], rows, torch.Generator().manual_seed(1))
    assert torch.equal(z, known.clean[0][rows])


def test_a_picture_is_held_out_in_all_its_versions():
    known = toy(100)
    learned, held = split(known, 0.2, seed=5)
    assert (len(learned.clean[1]), len(held.clean[1])) == (80, 20)
    for part in (learned, held):
        versions, labels = part.shifted["watermark"]
        assert torch.equal(versions[0][:, 0], part.clean[0][:, 0])
        assert torch.equal(labels, part.clean[1])
    together = torch.cat([learned.clean[0], held.clean[0]])[:, 0].sort().values
    assert torch.equal(together, known.clean[0][:, 0].sort().values)
    assert not torch.equal(held.clean[0], split(known, 0.2, seed=6)[1].clean[0])


def test_what_is_measured_by_hand():
    layer = nn.Linear(1, 2)
    layer.weight.data, layer.bias.data = torch.tensor([[0.0], [1.0]]), torch.zeros(2)
    clean, marked = torch.tensor([[-1.0], [1.0], [2.0]]), torch.tensor([[1.0], [1.0], [2.0]])
    y = torch.tensor([0, 1, 1])
    found = measured(layer, {"clean": (clean, y), "watermark": (marked, y), "texture": (-clean, y)}, index=1)
    assert found["clean_acc"] == 1
    assert found["watermark_gap"] == pytest.approx(-1 / 3)
    assert found["texture_gap"] == -1
    assert found["dp_carton"] == pytest.approx(
        float((torch.sigmoid(torch.tensor(1.0)) - torch.sigmoid(torch.tensor(-1.0))) / 3)
    )
    assert "dp_carton" not in measured(layer, {"clean": (clean, y), "watermark": (marked, y)}, index=None)


def test_methods_are_named_by_their_shifts():
    assert shifts_of("texture_aug", ["watermark", "texture"]) == ["texture"]
    with pytest.raises(InputError, match="no 'texture_aug'; with these sources there are erm, wtm_aug, lle"):
        shifts_of("texture_aug", ["watermark"])
    with pytest.raises(InputError, match="no 'magic'"):
        shifts_of("magic", ["watermark"])
    with pytest.raises(InputError, match="learning rates above 0"):
        Recipe(rates=(0.0,))
    with pytest.raises(InputError, match="--shift texture: write NAME=FOLDER"):
        named_folders("--shift", ("texture",))


def test_classes_are_the_nets_own_where_pictures_are_numbered(tmp_path):
    grey(tmp_path / "train/3.png", 0.7)
    grey(tmp_path / "test/0.png", 0.7)
    found = read(tmp_path / "train", tmp_path / "test", {}, {}, 5)
    assert (found.own, found.classes, found.test.labels.tolist()) == (True, 5, [0])
    for place in ("b/train/dark/1.png", "b/train/light/1.png", "b/test/light/1.png"):
        grey(tmp_path / place, 0.5)
    folders = read(tmp_path / "b/train", tmp_path / "b/test", {}, {}, 5)
    assert (folders.own, folders.classes, folders.test.labels.tolist()) == (False, 2, [1])
    with pytest.raises(InputError, match="holds no folders of pictures"):
        read(tmp_path / "b/train", tmp_path / "train", {}, {}, 5)
    grey(tmp_path / "b/test/grey/1.png", 0.5)
    with pytest.raises(InputError, match="no such class in --train"):
        read(tmp_path / "b/train", tmp_path / "b/test", {}, {}, 5)


def test_the_average_is_over_models():
    def one(value):
        return {"methods": {"erm": {"clean_acc": {"mean": value}, "per_seed": {}}, "lle": {"per_seed": {}}}}

    assert average([one(0.5), one(0.75)])["methods"]["erm"] == {"clean_acc": 0.625}


def pictures(tmp_path):
    for part, offset in (("train", 0.0), ("test", 0.02)):
        for place, level in enumerate((0.05, 0.1, 0.15, 0.2)):
            grey(tmp_path / part / "dark" / f"{place}.png", level + offset)
            grey(tmp_path / part / "light" / f"{place}.png", level + 0.5 + offset)
            grey(tmp_path / f"{part}_texture" / "dark" / f"{place}.png", level + 0.05)
            grey(tmp_path / f"{part}_texture" / "light" / f"{place}.png", level + 0.45)


def run(tmp_path, *arguments):
    model = f"{write_net(tmp_path)}:net"
    folders = (
        "--train",
        tmp_path / "train",
        "--test",
        tmp_path / "test",
        "--epochs",
        5,
        "--seeds",
        2,
        "--rates",
        "1,10",
    )
    return CliRunner().invoke(command, [*map(str, ("--model", model, *folders, *arguments))])


def test_the_command_keeps_features_and_repeats_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))
    pictures(tmp_path)
    shifts = (
        "--shift",
        f"texture={tmp_path / 'train_texture'}",
        "--test-shift",
        f"texture={tmp_path / 'test_texture'}",
    )
    asked = ("--methods", "erm,texture_aug", *shifts, "--out", tmp_path / "out", "--json")
    first = run(tmp_path, *asked)
    assert first.exception is None
    found = json.loads(first.stdout)
    assert list(found["methods"]) == ["erm", "texture_aug"]  # two classes of one's own: no layer as it was
    erm = found["methods"]["erm"]
    assert set(erm["per_seed"]) == {"0", "1"}
    assert erm["clean_acc"]["mean"] == sum(own["clean_acc"] for own in erm["per_seed"].values()) / 2
    assert {"watermark_gap", "texture_gap", "rate"} <= erm["per_seed"]["0"].keys()
    assert json.loads((tmp_path / "out/last_layer.json").read_text()) == found
    assert "train" in first.stderr
    again = run(tmp_path, *asked)
    assert again.stdout == first.stdout
    assert again.stderr == ""  # features came from the cache


@pytest.mark.skipif(not FONT.is_file(), reason="needs a font with Chinese characters (fonts-noto-cjk-extra)")
def test_random_characters_are_learned_from(tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))
    pictures(tmp_path)
    done = run(tmp_path, "--methods", "wtm_aug,lle", "--versions", 2, "--font", FONT)
    assert done.exception is None
    assert "watermark 1" in done.stderr
    assert "| lle |" in done.stdout
