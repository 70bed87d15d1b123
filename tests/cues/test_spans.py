"""Where cues lie in texts and series."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from einstellung.cues.spans import SpanCue, displaced, span
from einstellung.errors import InputError

INDEX = torch.tensor([3, 1, 4, 15])


@pytest.mark.parametrize(
    ("place", "first"), [("start", 0), ("end", 7), ("middle", 3), (5, 5)], ids=["start", "end", "middle", "number"]
)
def test_places(place, first):
    assert SpanCue(size=3, place=place).first(INDEX, 10).tolist() == [first] * 4
    region = SpanCue(size=3, place=place).region(INDEX, 1, 10)
    assert region.shape == (4, 1, 1, 10)
    assert region[0, 0, 0].nonzero().flatten().tolist() == [first, first + 1, first + 2]


def test_a_place_per_index_belongs_to_the_input_and_a_random_one_to_the_presentation():
    cue, moving = SpanCue(size=2, place="per-index"), SpanCue(size=2, place="random")
    places = cue.first(torch.arange(200), 12)
    assert places.unique().tolist() == list(range(11))
    assert torch.equal(places[50:60], cue.first(torch.arange(50, 60), 12))
    assert torch.equal(moving.first(INDEX, 12), cue.first(INDEX, 12))
    draws = torch.Generator().manual_seed(0)
    drawn = [moving.first(torch.arange(200), 12, draws) for _ in range(2)]
    assert not torch.equal(*drawn)
    assert drawn[0].unique().tolist() == list(range(11))
    assert torch.equal(cue.first(INDEX, 12, draws), cue.first(INDEX, 12))


@given(size=st.integers(1, 6), width=st.integers(6, 40), data=st.data())
def test_a_displaced_span_is_inside_and_clear_of_its_place_where_there_is_room(size, width, data):
    first = data.draw(st.integers(0, width - size))
    away = int(displaced(torch.tensor([first]), size, width))
    assert 0 <= away <= width - size
    has_room = first >= size or first + 2 * size <= width
    assert (abs(away - first) >= size) or not has_room
    assert int(span(torch.tensor([away]), size, width).sum()) == size


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": 0}, r"cue\.size is 0: it must be at least 1"),
        ({"place": "midle"}, "cue.place 'midle' is unknown: did you mean 'middle'"),
        ({"place": -1}, "cue.place is -1: places count from 0"),
        ({"share": 1.5}, r"cue\.share is 1\.5: it must lie between 0 and 1"),
        ({"habit": "sme"}, "cue.habit 'sme' is unknown: did you mean 'same'"),
    ],
)
def test_what_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        SpanCue(**options)


def test_a_cue_that_does_not_fit():
    with pytest.raises(InputError, match=r"cue\.size 11 does not fit into inputs of length 10"):
        SpanCue(size=11).region(INDEX, 1, 10)
    with pytest.raises(InputError, match=r"cue\.place 9 puts 2 places outside inputs of length 10"):
        SpanCue(size=2, place=9).region(INDEX, 1, 10)
