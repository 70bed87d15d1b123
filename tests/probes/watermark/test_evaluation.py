"""The record of a classifier, by hand: gaps, probabilities, controls, averages."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from einstellung.classifiers import Classifier
from einstellung.classifiers.labelled import read_labelled
from einstellung.classifiers.preprocessing import Preprocessing
from einstellung.composites.watermark_mask import OPACITY, watermark_mask
from einstellung.probes.watermark import CONTROLS, average, evaluate
from einstellung.probes.watermark.conditions import flat_bar
from einstellung.probes.watermark.evaluation import rising
from tests.classifiers.tiny import SIZE, grey


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
    found = evaluate(reader, read_labelled(tmp_path), index=2, control_names=())
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


def test_controls_separate_the_letters_from_what_they_hide(pictures):
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


def test_the_average_is_null_where_a_model_has_none():
    one = {"gap": -0.1, "carton_gap": None, "controls": {"latin": dict.fromkeys(OF_A_CONTROL, 0.2)}}
    two = {"gap": -0.2, "carton_gap": 0.5, "controls": {"latin": dict.fromkeys(OF_A_CONTROL, 0.4)}}
    mean = average([one, two])
    assert mean["gap"] == pytest.approx(-0.15)
    assert mean["carton_gap"] is None
    assert mean["controls"]["latin"]["gap"] == pytest.approx(0.3)


OF_A_CONTROL = ("acc", "gap", "p_carton", "dp_carton", "gap_beyond", "dp_carton_beyond")
