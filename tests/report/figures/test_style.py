"""Styles: told apart, and kept from figure to figure."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np

from einstellung.report.figures.style import PALETTE, method_styles, styles_of


def test_colours_of_the_palette_are_far_apart():
    rgb = [np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) for colour in (*PALETTE, "#000000")]
    assert min(np.abs(one - other).sum() for one, other in itertools.combinations(rgb, 2)) > 60


def test_thirty_methods_differ_in_colour_or_dash_and_keep_them():
    names = ["scratch_t2", *(f"m{number}" for number in range(30))]
    styles = method_styles(names, "scratch_t2")
    assert len({(style.colour, str(style.dash)) for style in styles.values()}) == 31
    alone = method_styles(["gpm", "sgd"], None)
    assert alone["sgd"] == method_styles(["scratch_t2", "sgd", "zzz"], "scratch_t2")["sgd"]


def test_a_card_brings_its_methods_and_its_baseline():
    card = SimpleNamespace(methods={"sgd": ..., "scratch_t2": ...}, baseline="scratch_t2")
    assert styles_of(card) == method_styles(["sgd", "scratch_t2"], "scratch_t2")
