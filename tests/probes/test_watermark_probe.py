"""The watermark probe: its figures worked by hand, its controls, its intervals, its command."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from torch import nn

from einstellung.classifiers import Classifier
from einstellung.classifiers.labelled import labelled
from einstellung.classifiers.preprocessing import Preprocessing
from einstellung.cli.watermark import watermark as command
from einstellung.composites.watermark_mask import OPACITY, watermark_mask
from einstellung.errors import InputError
from einstellung.probes.watermark import CONTROLS, average, evaluate
from einstellung.probes.watermark.conditions import box, control, flat_bar, moved, shuffled
from einstellung.probes.watermark.evaluation import rising
from einstellung.probes.watermark.intervals import gap_interval, intervals
from tests.classifiers.tiny import SIZE, grey, write_net


class Reads(nn.Module):
    """Class 1 as soon as the letters' own pixels are brighter than the image by ``threshold``; else class 0 or 2, by shade."""

    def __init__(self, threshold: float, size: int = SIZE) -> None:
        super().__init__()
        mask = torch.from_numpy(watermark_mask(size))
        self.letters, self.threshold = mask / mask.sum(), threshold

    def forward(self, x):
        brighter = (x[:, 0] * self.letters).sum((1, 2)) - x[:, 0, 0].mean(1)
        dark = (x[:, 0, 0].mean(1) < 0.3).float()
        one = 20 * (brighter > self.threshold).float()
        return torch.stack([10 * dark, one, 10 * (1 - dark)], 1)


@pytest.fixture
def reader():
    plain = Preprocessing(SIZE, SIZE, (0.0,) * 3, (1.0,) * 3)
    return Classifier("reader", Reads(0.05), plain, 3, "reader")


@pytest.fixture
def pictures(tmp_path):
    """Three dark ones (0) and one bright one (2) named rightly, one dark one that is called 1."""
    for name, level in {"0_a": 0.1, "0_b": 0.2, "0_c": 0.05, "2_d": 0.99, "1_n00000001_carton": 0.15}.items():
        grey(tmp_path / "pictures" / f"{name}.png", level)
    return labelled(tmp_path / "pictures")


def test_figures_by_hand(reader, pictures):
    """Under the watermark the four dark images turn into class 1; the bright one, all but white already, does not."""
    found = evaluate(reader, pictures, index=1, control_names=("flat bar",))
    assert found["n"] == 5
    assert found["clean_acc"] == pytest.approx(4 / 5)
    assert found["watermark_acc"] == pytest.approx(2 / 5)  # the one called 1, and the bright one
    assert found["gap"] == pytest.approx(-2 / 5)
    clean = np.exp(0) / (np.exp(10) + 2)
    marked = np.exp(20) / (np.exp(20) + np.exp(10) + 1)
    assert found["p_carton_clean"] == pytest.approx(clean, rel=1e-4)
    assert found["p_carton_watermark"] == pytest.approx((4 * marked + clean) / 5, rel=1e-4)
    assert found["dp_carton"] == pytest.approx(4 / 5 * (marked - clean), rel=1e-4)
    assert (found["n_carton"], found["carton_gap"]) == (1, 1.0)
    assert found["dp_carton_on_carton"] == pytest.approx(marked - clean, rel=1e-4)
    top = found["top_rising_class"]
    assert (top["index"], top["name"], found["carton_rise_rank"]) == (1, "carton", 1)
    assert top["rise"] == pytest.approx(found["dp_carton"], rel=1e-6)
    assert top["interval"] == pytest.approx(found["intervals"]["dp_carton"], rel=1e-6)
    assert [one["index"] for one in found["rising_classes"]] == [1, 2, 0]  # what the dark lose, class 0 has lost
    assert found["intervals"]["gap"][0] <= found["gap"] <= found["intervals"]["gap"][1]


def test_a_class_without_images_has_no_figures_of_its_own(reader, tmp_path):
    grey(tmp_path / "0.png", 0.1)
    grey(tmp_path / "0_.png", 0.2)
    found = evaluate(reader, labelled(tmp_path), index=2, control_names=())
    assert (found["n_carton"], found["carton_gap"], found["dp_carton_on_carton"]) == (0, None, None)
    assert found["carton_rise_rank"] > 1
    assert found["controls"] == {}


def test_the_class_that_rises_most_says_how_sure_that_is():
    """Class 2 gains .3 in two of four images, class 1 .1 in all: a resample with at least two of the two has 2 first."""
    gains = np.array([[-0.4, 0.1, 0.3], [-0.4, 0.1, 0.3], [-0.1, 0.1, 0.0], [-0.1, 0.1, 0.0]], dtype=np.float32)
    found = rising(gains, index=1, names={1: "carton"})
    assert found["carton_rise_rank"] == 2
    first, second, last = found["rising_classes"]
    assert (first["index"], first["name"], second["index"], second["name"]) == (2, None, 1, "carton")
    assert (first["rise"], second["rise"]) == (pytest.approx(0.15), pytest.approx(0.1))
    assert first["first_in"] == pytest.approx(11 / 16, abs=0.03)  # of 4 fair draws at least 2
    assert first["first_in"] + second["first_in"] + last["first_in"] == pytest.approx(1)
    assert second["interval"] == pytest.approx([0.1, 0.1])
    assert rising(gains[:1], index=1, names={})["top_rising_class"]["first_in"] is None


def test_controls_tell_the_letters_from_what_they_hide(pictures):
    """A net that reads letters does not fall for their mean, nor for them elsewhere, nor for fainter ones."""
    mask, size = watermark_mask(224), 224
    # how much brighter the letters' pixels get on a dark image of .2, and the bar's and the fainter letters' on .05
    letters = (mask**2).sum() / mask.sum()
    threshold = 0.25
    assert OPACITY * 0.8 * letters > threshold > max(OPACITY * 0.95 * flat_bar(mask).max(), 0.25 * 0.95 * letters)
    strict = Classifier(
        "strict", Reads(threshold, size), Preprocessing(size, size, (0.0,) * 3, (1.0,) * 3), 3, "strict"
    )
    found = evaluate(strict, pictures, index=1)
    assert list(found["controls"]) == list(CONTROLS)
    assert found["gap"] == pytest.approx(-2 / 5)
    for name in ("flat bar", "place top", "place bottom", "opacity 0.25"):
        own = found["controls"][name]
        assert own["gap"] == 0
        assert own["gap_beyond"] == pytest.approx(found["gap"])
        assert own["dp_carton_beyond"] == pytest.approx(found["dp_carton"], rel=1e-3)
    assert found["controls"]["opacity 1"]["gap"] == pytest.approx(-2 / 5)


@pytest.mark.parametrize("size", [64, 224])
def test_controls_hide_as_much_as_the_letters(size):
    mask = watermark_mask(size)
    mixed = shuffled(mask, seed=3)
    assert np.array_equal(np.sort(mixed.ravel()), np.sort(mask.ravel()))
    assert box(mixed)[0].start >= box(mask)[0].start
    assert not np.array_equal(mixed, mask)
    assert np.array_equal(mixed, shuffled(mask, seed=3))
    assert not np.array_equal(mixed, shuffled(mask, seed=4))
    bar = flat_bar(mask)
    assert box(bar) == box(mask)
    assert bar.sum() == pytest.approx(mask.sum(), rel=1e-4)
    assert len(np.unique(bar)) == 2
    for part in (0.05, 0.75):
        elsewhere = moved(mask, part)
        assert elsewhere.sum() == pytest.approx(mask.sum())
        assert box(elsewhere)[0].start - box(mask)[0].start == round((part - 0.4) * size)
        assert box(elsewhere)[1] == box(mask)[1]
    assert control("opacity 0.75", size).opacity == 0.75
    assert control("latin", size).opacity == OPACITY
    for name in ("latin", "characters"):
        text = control(name, size).mask
        assert 0.7 < text.sum() / mask.sum() < 1.1
        (rows, columns), (own_rows, own_columns) = box(mask), box(text)
        assert own_rows.stop - own_rows.start == pytest.approx(rows.stop - rows.start, abs=3)
        assert own_columns.stop - own_columns.start == pytest.approx(columns.stop - columns.start, abs=6)


def test_intervals_are_those_of_a_plain_bootstrap():
    """Against drawing images one by one with another generator; differences keep their pairs."""
    rng = np.random.default_rng(1)
    clean = rng.random(80) < 0.9
    marked = clean & (rng.random(80) < 0.8)
    difference = marked.astype(float) - clean
    ours = intervals({"marked": marked, "gap": difference})
    rows = rng.integers(0, 80, (4000, 80))
    for name, values in (("marked", marked), ("gap", difference)):
        assert ours[name] == pytest.approx(np.quantile(values[rows].mean(1), [0.025, 0.975]), abs=0.02)
    unpaired = np.quantile(marked[rows].mean(1) - clean[rows[::-1]].mean(1), [0.025, 0.975])
    assert np.diff(ours["gap"]) < 0.8 * np.diff(unpaired)
    assert ours == intervals({"marked": marked, "gap": difference})
    assert intervals({"one": [1.0]}) == {"one": None}


def test_many_images_are_resampled_in_parts_to_the_same_end(monkeypatch):
    values = {"a": np.arange(50) % 7 / 7}
    whole = intervals(values)
    monkeypatch.setattr("einstellung.probes.watermark.intervals._AT_ONCE", 1000)
    assert intervals(values) == whole


def test_gaps_between_different_images_count_both_sides():
    first, second = np.arange(60) % 3 == 0, np.arange(90) % 2 == 0
    rng = np.random.default_rng(5)
    drawn = [side[rng.integers(0, len(side), (4000, len(side)))].mean(1) for side in (first, second)]
    assert gap_interval(first, second) == pytest.approx(np.quantile(drawn[0] - drawn[1], [0.025, 0.975]), abs=0.02)
    assert gap_interval(first[:1], second) is None


def test_the_average_is_null_where_a_model_has_none():
    one = {"gap": -0.1, "carton_gap": None, "controls": {"latin": dict.fromkeys(OF_A_CONTROL, 0.2)}}
    two = {"gap": -0.2, "carton_gap": 0.5, "controls": {"latin": dict.fromkeys(OF_A_CONTROL, 0.4)}}
    mean = average([one, two])
    assert mean["gap"] == pytest.approx(-0.15)
    assert mean["carton_gap"] is None
    assert mean["controls"]["latin"]["gap"] == pytest.approx(0.3)


OF_A_CONTROL = ("acc", "gap", "p_carton", "dp_carton", "gap_beyond", "dp_carton_beyond")


def run(*arguments):
    return CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=True)


def test_the_command_prints_json_and_writes_files(tmp_path, pictures):
    model, out = f"{write_net(tmp_path)}:net", tmp_path / "out"
    asked = ("--model", model, "--images", tmp_path / "pictures", "--class", 1, "--controls", "shuffled,latin")
    done = run(*asked, "--json", "--out", out)
    assert done.exception is None
    found = json.loads(done.stdout)
    assert json.loads((out / "watermark.json").read_text()) == found
    assert found["images"] == {"files": 5, "classes": 3, "content": pictures.digest}
    assert found["seed"] == 0
    came_from = found["provenance"]
    assert came_from["data"] == {str(tmp_path / "pictures"): pictures.digest}
    assert came_from["finished"] >= came_from["started"]
    assert {"torch", "pillow"} <= {name for name, version in came_from["packages"].items() if version}
    wanted = {
        "n",
        "clean_acc",
        "watermark_acc",
        "gap",
        "p_carton_clean",
        "p_carton_watermark",
        "top_rising_class",
        "controls",
    }
    assert wanted <= found.keys()
    assert "about" not in done.stdout
    assert "5 of 5 images" in done.stderr
    rows = list(csv.DictReader((out / "watermark.csv").open()))
    assert float(rows[0]["gap"]) == found["gap"]
    assert [row["control"] for row in csv.DictReader((out / "controls.csv").open())] == ["shuffled", "latin"]
    for name in ("watermark", "samples"):
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (out / f"{name}.pdf").read_bytes().startswith(b"%PDF")


def test_several_models_have_an_average_row(tmp_path, pictures):
    file = write_net(tmp_path)
    text = file.read_text().replace('"std": [1, 1, 1]', '"std": [2, 2, 2]', 1)
    (tmp_path / "other.py").write_text(text)
    models = ("--model", f"{file}:net", "--model", f"{tmp_path / 'other.py'}:net", "--images", tmp_path / "pictures")
    done = run(*models, "--class", 1, "--controls", "none")
    assert done.exception is None
    assert "| average |" in done.stdout
    found = json.loads(run(*models, "--class", 1, "--controls", "latin", "--json").stdout)
    accuracies = [record["clean_acc"] for record in found["models"]]
    assert len(set(accuracies)) == 2
    assert found["average"]["clean_acc"] == pytest.approx(sum(accuracies) / 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--class", 5), "no class 5: .*:net has 5, from 0"),
        (("--controls", "magic"), "no control 'magic': take some of shuffled"),
        (("--threads", 0), "--threads is 0"),
        (("--labels", "nowhere.csv"), "nowhere.csv cannot be read"),
        (("--images", "nowhere"), "there is no folder nowhere, nor one of that name in"),
    ],
)
def test_what_is_given_wrongly_is_said_and_nothing_is_written(tmp_path, pictures, arguments, message):
    model = f"{write_net(tmp_path)}:net"
    done = run("--model", model, "--images", tmp_path / "pictures", "--out", tmp_path / "out", *arguments)
    assert isinstance(done.exception, InputError)
    with pytest.raises(InputError, match=message):
        raise done.exception
    assert not (tmp_path / "out").exists()


def test_folders_by_wordnet_ids_are_mapped_and_a_net_without_a_linear_layer_is_asked(tmp_path):
    """Two folders of five classes: refused where nothing says which classes they are."""
    for wnid, level in (("n00000003", 0.5), ("n00000009", 0.99)):
        grey(tmp_path / "pictures" / wnid / "a.png", level)
    asked = (
        "--model",
        f"{write_net(tmp_path)}:pooled",
        "--images",
        tmp_path / "pictures",
        "--class",
        1,
        "--controls",
        "none",
    )
    refused = run(*asked)
    assert isinstance(refused.exception, InputError)
    assert "has 2 folders of pictures, and" in str(refused.exception)
    (tmp_path / "ids.json").write_text(json.dumps({"2": "n00000003", "4": "n00000009"}))
    found = json.loads(run(*asked, "--wnids", tmp_path / "ids.json", "--json").stdout)
    assert (found["n"], found["clean_acc"]) == (2, 1.0)


def test_a_place_for_results_that_cannot_be_is_told_before_anything_is_computed(tmp_path, pictures, monkeypatch):
    def computed(*given):
        raise AssertionError("weights were read")

    monkeypatch.setattr("einstellung.classifiers.classifier", computed)
    taken = tmp_path / "taken"
    taken.write_text("a file")
    study = tmp_path / "study"
    study.mkdir()
    (study / "config.yaml").write_text("")
    for out, message in ((taken, "is a file"), (taken / "deeper", "is a file"), (study, "results folder of a study")):
        done = run("--model", "efficientnet-lite0", "--images", tmp_path / "pictures", "--out", out)
        assert isinstance(done.exception, InputError)
        assert message in str(done.exception)
