"""Numbers of attention maps, against shares worked by hand and the definition with all pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from einstellung.errors import InputError
from einstellung.metrics.attention import (
    MapStatistics,
    attention_gain,
    attention_share,
    diversity,
    entropy,
    map_similarity,
    token_shares,
)

POSITIVE = st.floats(min_value=1e-3, max_value=1.0)


@st.composite
def maps(draw, least=2):
    """Several images' maps of 3x4 patches, each summing to 1."""
    values = draw(arrays(np.float64, (draw(st.integers(least, 7)), 3, 4), elements=POSITIVE))
    return values / values.sum(axis=(1, 2), keepdims=True)


def region(row, col, size=4, side=32):
    pixels = np.zeros((side, side), dtype=bool)
    pixels[row : row + size, col : col + size] = True
    return pixels


def pairwise_diversity(values):
    cosines = [(a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()) for a, b in itertools.combinations(values, 2)]
    return 1 - sum(cosines) / len(cosines)


@given(maps())
@settings(max_examples=50, deadline=None)
def test_the_streaming_diversity_is_the_one_over_all_pairs(values):
    whole = diversity(values)
    assert whole == pytest.approx(pairwise_diversity(values), abs=1e-12)
    assert 0 <= whole <= 1


@given(maps(), st.data())
@settings(max_examples=50, deadline=None)
def test_batches_do_not_matter(values, data):
    cut = data.draw(st.integers(0, len(values)))
    boxes = data.draw(arrays(np.float64, values.shape, elements=st.floats(0, 1)))
    statistics = MapStatistics()
    for part in (slice(0, cut), slice(cut, None)):
        if len(values[part]):
            statistics.add(values[part], boxes[part])
    assert statistics.n == len(values)
    assert statistics.mean_map == pytest.approx(values.mean(axis=0))
    assert statistics.share == pytest.approx((values * boxes).sum(axis=(1, 2)).mean())
    assert statistics.entropy == pytest.approx(-(values * np.log(values)).sum(axis=(1, 2)).mean())
    assert statistics.diversity == pytest.approx(pairwise_diversity(values), abs=1e-12)


@given(maps(least=1))
@settings(max_examples=30, deadline=None)
def test_bounds(values):
    assert np.all(entropy(values) <= np.log(12) + 1e-12)
    assert np.all(entropy(values) >= 0)
    assert attention_share(values, np.ones((3, 4))) == pytest.approx(np.ones(len(values)))
    assert map_similarity(values[0], values[0]) == pytest.approx(1)


def test_leading_axes_are_kept_apart():
    """Two images, three heads: a number for every head, as if it were alone."""
    values = np.random.default_rng(0).dirichlet(np.ones(12), size=(2, 3)).reshape(2, 3, 3, 4)
    statistics = MapStatistics()
    boxes = np.zeros((2, 3, 4))
    boxes[0, 0, 0] = boxes[1, 2, 3] = 1
    statistics.add(values, boxes)
    for head in range(3):
        assert statistics.share[head] == pytest.approx((values[0, head, 0, 0] + values[1, head, 2, 3]) / 2)
        assert statistics.diversity[head] == pytest.approx(pairwise_diversity(values[:, head]))


def test_by_hand():
    even, one = np.full((2, 2), 0.25), np.array([[1.0, 0.0], [0.0, 0.0]])
    assert entropy(even) == pytest.approx(np.log(4))
    assert entropy(one) == 0
    assert diversity([one, one]) == 0
    assert diversity([one, even, even]) == pytest.approx(1 - (0.5 + 0.5 + 1) / 3)
    assert attention_gain(0.06, 0.02) == pytest.approx(2.0, abs=1e-5)
    assert attention_gain(0.01, 0.0) == pytest.approx(1e6)
    assert attention_gain(np.array([0.1, 0.1]), np.array([0.1, 0.2])) == pytest.approx([0, -0.5], abs=1e-6)


def test_a_cue_on_the_grid_is_exactly_its_token():
    expected = np.zeros((8, 8))
    expected[0, 0] = 1
    assert np.array_equal(token_shares(region(0, 0), (8, 8)), expected)


def test_a_cue_across_tokens_is_shared_by_area():
    """Rows 3..6 are a quarter of token row 0 and three quarters of row 1; columns 5..8 three quarters of 1, a quarter of 2."""
    shares = token_shares(region(3, 5), (8, 8))
    expected = np.zeros((8, 8))
    expected[np.ix_([0, 1], [1, 2])] = np.outer([0.25, 0.75], [0.75, 0.25])
    assert shares == pytest.approx(expected)
    assert shares.sum() == pytest.approx(1)  # 16 pixels, one token's worth


def test_a_region_of_32_pixels_on_the_grid_of_an_image_of_224():
    """14 tokens over 32 pixels: 4 pixels are 1.75 tokens; the box stays 1/64 of the image."""
    shares = token_shares(np.stack([region(0, 0), region(28, 28)]), (14, 14))
    expected = np.zeros((2, 14, 14))
    expected[0, :2, :2] = np.outer([1, 0.75], [1, 0.75])
    expected[1, 12:, 12:] = np.outer([0.75, 1], [0.75, 1])
    assert shares == pytest.approx(expected)
    assert shares.mean(axis=(1, 2)) == pytest.approx([1 / 64, 1 / 64])


@given(arrays(np.bool_, st.tuples(st.integers(1, 9), st.integers(1, 9))), st.integers(1, 9), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_the_area_is_kept_on_every_grid(pixels, rows, columns):
    shares = token_shares(pixels, (rows, columns))
    assert shares.shape == (rows, columns)
    assert np.all((shares >= 0) & (shares <= 1 + 1e-12))
    assert shares.mean() == pytest.approx(pixels.mean())
    finer = np.kron(pixels, np.ones((rows, columns)))  # every token is then a whole number of pixels
    blocks = finer.reshape(rows, pixels.shape[0], columns, pixels.shape[1])
    assert shares == pytest.approx(blocks.mean(axis=(1, 3)))


def test_without_boxes_there_is_no_share_and_one_image_has_no_diversity():
    statistics = MapStatistics()
    statistics.add([[[0.5, 0.5]]])
    assert statistics.share is None
    assert statistics.diversity is None
    with pytest.raises(InputError, match="some batches have a region and others do not"):
        statistics.add([[[0.5, 0.5]]], box=[[[1, 0]]])
    with pytest.raises(InputError, match="at least two"):
        diversity([[[0.5, 0.5]]])


@pytest.mark.parametrize("broken", [0.0, np.nan])
def test_a_map_without_direction_is_refused(broken):
    with pytest.raises(InputError, match="its direction is undefined"):
        map_similarity([[broken, broken]], [[0.5, 0.5]])
