"""The matrices: cells are what was measured, in colours that everybody tells apart."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.image import AxesImage

from einstellung.diagnoses.confounding.figures.matrix import COLOURS, draw_matrices
from einstellung.report.figures.canvas import drawing
from tests.diagnoses.confounding.confounded import card_of, figure_6_ends, study

from . import texts_of


def test_cells_of_the_matrices_are_what_was_measured(card):
    with drawing():
        figure = draw_matrices(card_of(study(figure_6_ends(), seeds=(1,)), variant="disjoint"))
    naive = figure.axes[0]
    image = naive.findobj(AxesImage)[0]
    assert image.get_array()[1].tolist() == pytest.approx([0.0084, 0.9989, 0.1768, 0.9712])
    assert {"99.9", "17.7", "97.1", "0.8"} <= set(texts_of(naive))
    assert (image.norm.vmin, image.norm.vmax) == (0, 1)
    with drawing():
        joint = draw_matrices(card).axes[6]
    assert joint.findobj(AxesImage)[0].get_array().mask[:2].all()


def test_wrong_and_right_differ_for_every_sight():
    """Chance is white; the ends differ in blue, which no red-green blindness touches, and both are far darker than white."""
    wrong, chance, right = (np.array(COLOURS(value)[:3]) for value in (0.0, 0.5, 1.0))
    assert chance.min() > 0.98
    assert abs(wrong[2] - right[2]) > 0.4
    assert max(wrong.mean(), right.mean()) < 0.5
