"""Styles: told apart, and kept from figure to figure."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einstellung.learners import learners
from einstellung.report.figures.style import BASELINE_COLOUR, FAMILIAR, PALETTE, method_styles, styles_of

BUILT_IN = [name for name in learners if learners[name].__module__.startswith("einstellung.")]

# Machado, Oliveira and Fernandes (2009), complete deficiency, for linear RGB
VISION = {
    "normal": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour, vision):
    """CIE L*a*b* of a colour as somebody with this vision sees it."""
    rgb = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(np.array(vision) @ linear, 0, 1) / np.array([0.9505, 1, 1.089])
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def looks(styles):
    return {style.colour for style in styles.values()}


@pytest.mark.parametrize("vision", VISION)
def test_colours_of_the_palette_are_far_apart_for_everybody(vision):
    seen = [lab(colour, VISION[vision]) for colour in (*PALETTE, BASELINE_COLOUR)]
    assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(seen, 2)) > 15


def test_every_built_in_method_has_a_look_of_its_own():
    assert {*BUILT_IN} == {*FAMILIAR}
    assert len(FAMILIAR) == len(set(FAMILIAR))
    for baseline in (None, "scratch_t2", "erm"):
        assert len(looks(method_styles(BUILT_IN, baseline))) == len(BUILT_IN)


def test_methods_that_are_often_compared_differ_in_colour():
    for methods in (
        ("sgd", "ewc_on", "derpp", "gpm", "dgr", "interleaved", "er", "der"),
        ("naive", "ewc", "fromp", "er", "der", "bgs", "gdumb", "cumulative", "joint"),
    ):
        assert len({style.colour for style in method_styles(methods, None).values()}) == len(methods)


def test_a_built_in_method_keeps_its_look():
    every = method_styles([*BUILT_IN, "mine"], None)
    for method in BUILT_IN:
        assert method_styles(["other", method, "sgd", "mine"], None)[method] == every[method]


@given(st.lists(st.sampled_from([*FAMILIAR, *(f"m{number}" for number in range(200))]), min_size=1, unique=True))
def test_no_two_methods_share_a_colour(methods):
    for baseline in (None, methods[0]):
        assert len(looks(method_styles(methods, baseline))) == len(methods)


def test_hundreds_of_methods_differ():
    assert len(looks(method_styles([*FAMILIAR, *(f"m{number}" for number in range(400))], None))) == len(FAMILIAR) + 400


def test_own_methods_take_free_colours():
    styles = method_styles(["joint", "mine", "sgd", "er+lle", "yours"], None)
    assert len({styles[name].colour for name in ("joint", "mine", "er+lle", "yours")}) == 4
    assert styles["sgd"].colour != styles["joint"].colour


def test_a_card_brings_its_methods_and_its_baseline():
    card = SimpleNamespace(methods={"sgd": ..., "scratch_t2": ...}, baseline="scratch_t2")
    assert styles_of(card) == method_styles(["sgd", "scratch_t2"], "scratch_t2")
