"""Last layers on fixed features: their losses by hand, what each learns from, and the effect that is known."""

from __future__ import annotations

import hashlib
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
from einstellung.probes.last_layer.amplification import against_erm
from einstellung.probes.last_layer.features import random_characters
from einstellung.probes.last_layer.measuring import accuracy, measured
from einstellung.probes.last_layer.pictures import read
from einstellung.probes.last_layer.study import average
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
    return Known((clean, y), {"watermark": (turned.unsqueeze(0), torch.arange(count))})


def start():
    torch.manual_seed(0)
    return nn.Linear(4, 2).requires_grad_(False)


RECIPE = Recipe(epochs=60, batch=64)


def test_an_augmentation_and_lle_cure_what_erm_learns():
    learned, test = toy(seed=1), toy(seed=2)
    shifted = test.shifted["watermark"][0][0], test.clean[1]
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
    z, y = known.clean
    error = (layer(z).softmax(1) - F.one_hot(y, 2)) / 50
    assert Recipe().weight_decay == 1e-4
    for decay in (0.0, 0.5):
        recipe = Recipe(epochs=1, batch=1024, momentum=0.0, weight_decay=decay)
        one = trained("erm", layer, known, recipe, 0.3, seed=0)
        rate = 0.3 * 50 / 256
        torch.testing.assert_close(one.weight, layer.weight - rate * (error.T @ z + decay * layer.weight))
        torch.testing.assert_close(one.bias, layer.bias - rate * (error.sum(0) + decay * layer.bias))
    assert torch.equal(layer.weight, start().weight)  # what is begun with stays as it was


def test_shifts_are_drawn_equally_and_keep_pictures_with_their_labels():
    known = toy(3000)
    has = torch.tensor([2999, 5, 7, 1000, 8, 11, 2])  # the only ones that have a version of that kind, in any order
    textured = known.clean[0][has].unsqueeze(0) + 100
    both = Known(known.clean, {**known.shifted, "texture": (textured, has)})
    rows = torch.randperm(3000, generator=torch.Generator().manual_seed(0))
    z, y, d = drawn(both, ["watermark", "texture"], rows, torch.Generator().manual_seed(1))
    assert d.bincount().tolist() == pytest.approx([1000] * 3, rel=0.1)
    assert torch.equal(z[d == 0], known.clean[0][rows[d == 0]])
    assert torch.equal(z[d == 1], known.shifted["watermark"][0][0][rows[d == 1]])
    assert torch.equal(y[d != 2], known.clean[1][rows[d != 2]])
    for features, label, row in zip(z[d == 2], y[d == 2], rows[d == 2], strict=True):
        (place,) = (textured[0] == features).all(1).nonzero().flatten().tolist()
        assert known.clean[1][has[place]] == label
        assert row not in has or has[place] == row  # one's own version, where there is one
    z, y, d = drawn(both, [], rows, torch.Generator().manual_seed(1))
    assert torch.equal(z, known.clean[0][rows])


def test_a_picture_is_held_out_in_all_its_versions():
    known = toy(100)
    learned, held = split(known, 0.2, seed=5)
    assert (len(learned.clean[1]), len(held.clean[1])) == (80, 20)
    for part in (learned, held):
        versions, rows = part.shifted["watermark"]
        assert torch.equal(versions[0][:, 0], part.clean[0][rows, 0])
        assert len(rows) == len(part.clean[1])
    together = torch.cat([learned.clean[0], held.clean[0]])[:, 0].sort().values
    assert torch.equal(together, known.clean[0][:, 0].sort().values)
    assert not torch.equal(held.clean[0], split(known, 0.2, seed=6)[1].clean[0])


def test_versions_from_a_folder_are_held_out_with_their_pictures():
    """In another order than the pictures, and with as many of either class: labels do not tell which is whose."""
    known = toy(100)
    order = torch.randperm(100, generator=torch.Generator().manual_seed(9))[:90]
    both = Known(known.clean, {"texture": (known.clean[0][order].unsqueeze(0), order)})
    learned, held = split(both, 0.3, seed=1)
    values = {name: set(part.clean[0][:, 0].tolist()) for name, part in (("learned", learned), ("held", held))}
    for name, part in (("learned", learned), ("held", held)):
        versions, rows = part.shifted["texture"]
        assert set(versions[0][:, 0].tolist()) <= values[name]
        assert torch.equal(versions[0], part.clean[0][rows])
    assert len(learned.shifted["texture"][1]) + len(held.shifted["texture"][1]) == 90
    few = Known(known.clean, {"texture": (held.clean[0][:1].unsqueeze(0), torch.tensor([_row_of(known, held)]))})
    with pytest.raises(InputError, match="--shift texture: none of its pictures is left to learn from"):
        split(few, 0.3, seed=1)


def _row_of(known, held):
    return int((known.clean[0][:, 0] == held.clean[0][0, 0]).nonzero())


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
    assert found["carton_gap"] == 0  # both of class 1 are right before and after
    assert measured(layer, {"clean": (clean, y), "watermark": (marked, y)}, index=0)["carton_gap"] == -1
    none = {"clean": (clean[1:], y[1:]), "watermark": (marked[1:], y[1:])}
    assert measured(layer, none, index=0)["carton_gap"] is None
    # of the clean pictures both of class 1 are right and that of class 0 is wrong; class 2 has none among them
    partial = {"clean": (marked, y), "watermark": (marked, y), "texture": (clean[1:], torch.tensor([1, 2]))}
    narrow = measured(layer, partial, index=None)
    assert (narrow["clean_acc"], narrow["texture_acc"], narrow["texture_gap"]) == (pytest.approx(2 / 3), 1, 0)


def test_amplification_by_hand():
    erm = [{"watermark_gap": -0.2, "carton_gap": 0.3, "texture_gap": 0.2}, {"watermark_gap": -0.3, "carton_gap": 0.2}]
    erm[1]["texture_gap"] = 0.4
    own = [{name: 2 * gap for name, gap in seed.items()} for seed in erm]
    found = against_erm(own, erm)
    assert found["watermark_gap"]["value"] == pytest.approx(2)
    assert found["carton_gap"]["value"] == pytest.approx(2)  # here reliance is above 0
    assert found["texture_gap"]["value"] is None  # erm is better there: twice as much better is nothing bad
    assert found["texture_gap"]["interval"] == "none: the denominator is above 0"
    assert against_erm([{"carton_gap": -0.1}], [{"carton_gap": -0.2}])["carton_gap"]["value"] is None
    assert against_erm([{"carton_gap": None}], [{"carton_gap": None}])["carton_gap"]["value"] is None


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
    with pytest.raises(InputError, match="--shift carton=x: write NAME=FOLDER"):
        named_folders("--shift", ("carton=x",))  # its gap would be taken for the class's


def test_classes_are_the_nets_own_where_pictures_are_numbered(tmp_path):
    grey(tmp_path / "train/3.png", 0.7)
    grey(tmp_path / "test/0.png", 0.6)
    found = read(tmp_path / "train", tmp_path / "test", {}, {}, 5)
    assert (found.own, found.classes, found.test.labels.tolist()) == (True, 5, [0])
    for place, level in (("b/train/dark/1.png", 0.1), ("b/train/light/1.png", 0.9), ("b/test/light/1.png", 0.8)):
        grey(tmp_path / place, level)
    folders = read(tmp_path / "b/train", tmp_path / "b/test", {}, {}, 5)
    assert (folders.own, folders.classes, folders.test.labels.tolist()) == (False, 2, [1])
    with pytest.raises(InputError, match="holds no folders of pictures"):
        read(tmp_path / "b/train", tmp_path / "train", {}, {}, 5)
    grey(tmp_path / "b/test/grey/1.png", 0.5)
    with pytest.raises(InputError, match="no such class in --train"):
        read(tmp_path / "b/train", tmp_path / "b/test", {}, {}, 5)


@pytest.mark.parametrize("layout", ["{label}_{name}.png", "{folder}/{name}.png"])
def test_versions_are_matched_by_their_names(tmp_path, layout):
    """Two pictures of either class, whose versions stand in another order, with another ending, and not all."""
    at = [
        layout.format(label=label, folder=folder, name=name) for label, folder in ((0, "a"), (1, "b")) for name in "pqr"
    ]
    for place, path in enumerate(at):
        grey(tmp_path / "train" / path, 0.1 + place / 100)
        grey(tmp_path / "test" / path, 0.5 + place / 100)
    for place in (4, 0, 2):
        grey(tmp_path / "texture" / at[place].replace(".png", ".bmp"), 0.8 + place / 100)
    found = read(tmp_path / "train", tmp_path / "test", {"texture": tmp_path / "texture"}, {}, 2)
    versions = found.train_shifts["texture"]
    for file, row, label in zip(versions.images.files, versions.rows, versions.images.labels, strict=True):
        assert file.with_suffix("").relative_to(tmp_path / "texture") == found.train.files[row].with_suffix(
            ""
        ).relative_to(tmp_path / "train")
        assert found.train.labels[row] == label
    grey(tmp_path / "texture" / layout.format(label=1, folder="b", name="other"), 0.9)
    with pytest.raises(
        InputError, match=r"--shift texture: 1 of the 4 pictures in .* no picture of the same name .*other"
    ):
        read(tmp_path / "train", tmp_path / "test", {"texture": tmp_path / "texture"}, {}, 2)


def test_pictures_that_are_learned_from_and_tested_on_are_refused(tmp_path):
    for place in range(3):
        grey(tmp_path / "train" / f"{place % 2}_{place}.png", 0.1 + place / 10)
        grey(tmp_path / "test" / f"{place % 2}_t{place}.png", 0.15 + place / 10)
        grey(tmp_path / "texture" / f"{place % 2}_{place}.png", 0.7 + place / 10)
    read(tmp_path / "train", tmp_path / "test", {"texture": tmp_path / "texture"}, {}, 5)
    grey(tmp_path / "test" / "1_again.png", 0.2)  # training picture 1 under another name
    grey(tmp_path / "test" / "0_version.png", 0.8)  # a version that is learned from
    with pytest.raises(
        InputError, match=r"1 of the pictures to test on are also learned from \(e.g. .*1_again.png is .*1_1.png"
    ):
        read(tmp_path / "train", tmp_path / "test", {}, {}, 5)
    with pytest.raises(InputError, match=r"2 of the pictures to test on are also learned from"):
        read(tmp_path / "train", tmp_path / "test", {"texture": tmp_path / "texture"}, {}, 5)


def test_the_average_is_over_models():
    def one(value, gap):
        erm = {
            "clean_acc": {"mean": value},
            "watermark_gap": {"mean": gap},
            "carton_gap": {"mean": None},
            "per_seed": {},
        }
        lle = {"watermark_gap": {"mean": -0.3}, "carton_gap": {"mean": 0.1}, "per_seed": {}, "amplification": {}}
        return {"methods": {"erm": erm, "lle": lle}}

    found = average([one(0.5, -0.1), one(0.75, -0.3)])["methods"]
    assert found["erm"] == {"clean_acc": 0.625, "watermark_gap": pytest.approx(-0.2), "carton_gap": None}
    assert found["lle"]["amplification"] == {"watermark_gap": pytest.approx(1.5), "carton_gap": None}


def pictures(tmp_path):
    for part, offset in (("train", 0.0), ("test", 0.02)):
        for place, level in enumerate((0.05, 0.1, 0.15, 0.2)):
            grey(tmp_path / part / "dark" / f"{place}.png", level + offset)
            grey(tmp_path / part / "light" / f"{place}.png", level + 0.5 + offset)
            grey(tmp_path / f"{part}_texture" / "dark" / f"{place}.png", level + 0.05 + offset / 2)
            grey(tmp_path / f"{part}_texture" / "light" / f"{place}.png", level + 0.45 + offset / 2)


def run(tmp_path, *arguments):
    model = f"{write_net(tmp_path)}:net"
    folders = (
        "--train",
        "train",  # found where data are looked for
        "--test",
        "test",
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
    monkeypatch.setenv("EINSTELLUNG_DATA", str(tmp_path))
    pictures(tmp_path)
    shifts = ("--shift", "texture=train_texture", "--test-shift", "texture=test_texture")
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
    assert set(found["methods"]["texture_aug"]["amplification"]) == {"watermark_gap", "texture_gap"}
    assert "amplification" not in erm
    came_from = found.pop("provenance")
    assert came_from["data"] == {name: facts["content"] for name, facts in found["data"].items()}
    assert set(found["data"]) == {"train", "test", "train, texture", "test, texture"}
    assert found["training"]["weight_decay"] == 1e-4
    assert (found["training"]["epochs"], found["training"]["rates"], found["seeds"]) == (5, [1, 10], [0, 1])
    assert (found["font"], found["versions"]) == (None, 0)  # nothing was drawn
    seed = erm["per_seed"]["0"]
    assert [one["rate"] for one in seed["tried"]] == [1, 10]
    assert seed["held_out"] == 2
    assert seed["held_out_acc"] == max(one["held_out_acc"] for one in seed["tried"])
    assert found["tests"]["texture"] == {"n": 8, "clean_n": 8, "classes": 2}
    again = run(tmp_path, *asked)
    repeated = json.loads(again.stdout)
    del repeated["provenance"]
    assert repeated == found
    assert again.stderr == ""  # features came from the cache


@pytest.mark.skipif(not FONT.is_file(), reason="needs a font with Chinese characters (fonts-noto-cjk-extra)")
def test_random_characters_are_learned_from(tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EINSTELLUNG_DATA", str(tmp_path))
    pictures(tmp_path)
    done = run(tmp_path, "--methods", "erm,wtm_aug,lle", "--versions", 2, "--font", FONT, "--out", tmp_path / "out")
    assert done.exception is None
    for seed in (0, 1):  # drawn anew for every seed
        assert f"seed {seed}, watermark 1" in done.stderr
    assert "| lle |" in done.stdout
    found = json.loads((tmp_path / "out/last_layer.json").read_text())
    assert found["font"] == {"file": str(FONT), "sha256": hashlib.sha256(FONT.read_bytes()).hexdigest()}
    assert found["versions"] == 2


@pytest.mark.skipif(not FONT.is_file(), reason="needs a font with Chinese characters (fonts-noto-cjk-extra)")
def test_watermarks_differ_from_seed_to_seed_and_from_version_to_version():
    black = torch.zeros(2, 3, 64, 64, dtype=torch.uint8)
    views = [random_characters(FONT, seed, draw) for seed, draw in ((0, 0), (0, 1), (1, 0))]
    assert len({view.name for view in views}) == 3
    drawn = [view.of(black, 0) for view in views]
    assert not torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert torch.equal(drawn[0], random_characters(FONT, 0, 0).of(black, 0))
