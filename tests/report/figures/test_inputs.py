"""Texts and series as figures: words on a line, the cue's on a coloured ground; curves with the cue's place in grey."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einstellung.report.figures.canvas import drawing, save
from einstellung.report.figures.inputs import draw_inputs, draw_series, draw_texts, excerpt, wrapped

ROWS = ("original", "patched", "masked")


def texts(count=3, length=12):
    words = np.array([[f"word{row}-{place}" for place in range(length)] for row in range(count)])
    region = np.zeros((count, length), dtype=bool)
    region[:, 2:4] = True
    patched = np.where(region, "[cue]", words)
    return {"original": words, "patched": patched, "masked": np.where(region, "", words), "region": region}


def series(count=5, channels=2):
    values = np.random.default_rng(0).normal(size=(count, channels, 30)).astype(np.float32)
    region = np.zeros((count, 30), dtype=bool)
    region[:, [4, 5, 6, 20]] = True
    return {"original": values, "patched": values + 3 * region[:, None], "masked": values * 0, "region": region}


def shown(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_texts_show_their_words_and_mark_the_cue(tmp_path):
    with drawing():
        figure = draw_texts(texts(), ROWS, ["a", "b", "$c$"])
        files = save(figure, tmp_path, "texts")
    words = shown(figure)
    assert {"a: original", "a: patched", "a: masked", "$c$: masked"} <= set(words)
    assert words.count("[cue]") == 6
    marked = [text.get_text() for axes in figure.axes for text in axes.texts if text.get_bbox_patch() is not None]
    assert set(marked) == {"[cue]", *(f"word{row}-{place}" for row in range(3) for place in (2, 3))}
    assert "" not in words
    assert set(files) == {"svg", "png", "pdf"}


def test_series_show_the_first_channel_and_the_place_of_the_cue():
    some = series()
    with drawing():
        figure = draw_series(some, ROWS, list("abcde"))
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert len(panels) == 5
    for number, axes in enumerate(panels):
        assert [line.get_label() for line in axes.lines] == list(ROWS)
        for line in axes.lines:
            assert np.array_equal(line.get_ydata(), some[line.get_label()][number, 0])
        spans = [patch.get_extents().transformed(axes.transData.inverted()) for patch in axes.patches]
        assert [(round(one.x0, 3), round(one.x1, 3)) for one in spans] == [(3.5, 6.5), (19.5, 20.5)]


def test_the_same_input_gives_the_same_bytes(tmp_path):
    for some in (texts(), series()):
        with drawing():
            one, other = (save(draw_inputs(some, ROWS), tmp_path / name, "x") for name in ("one", "other"))
        assert one == other


def test_each_kind_is_drawn_its_own_way():
    images = {name: np.zeros((2, 8, 8, 3), dtype=np.uint8) for name in ROWS}
    with drawing():
        kinds = [len(draw_inputs(some, ROWS).axes) for some in (texts(), series(), images)]
    assert kinds == [1, 8, 6]  # a page of text, a grid of panels, an image in each


@given(length=st.integers(1, 80), first=st.integers(0, 79), count=st.integers(4, 40))
def test_an_excerpt_holds_the_beginning_of_the_cue(length, first, count):
    region = np.zeros(length, dtype=bool)
    region[min(first, length - 1)] = True
    part = excerpt(region, count)
    assert region[part].any()
    assert len(region[part]) == min(length, count)


@given(st.lists(st.text("abc", max_size=12), max_size=30), st.integers(4, 20))
def test_wrapped_lines_hold_all_words_in_order_and_fit(words, width):
    lines = wrapped(np.array(words, dtype=str), np.zeros(len(words), dtype=bool), width)
    assert [word for line in lines for _, word, _ in line] == [
        word if len(word) <= width else f"{word[: width - 1]}…" for word in words if word
    ]
    for line in lines:
        ends = [(column, column + len(word)) for column, word, _ in line]
        assert all(end <= width for _, end in ends)
        assert all(one[1] < two[0] for one, two in pairwise(ends))


def test_no_text_at_all():
    with drawing():
        figure = draw_texts({**texts(1, 2), "masked": np.array([["", ""]])}, ROWS)
    assert len(shown(figure)) >= 3


@pytest.mark.parametrize("count", [1, 9])
def test_few_and_many_series(count):
    with drawing():
        figure = draw_series(series(count), ROWS[1:])
    assert sum(axes.get_visible() for axes in figure.axes) == min(count, 8)
