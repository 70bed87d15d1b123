"""``newsgroups``: groups by name, a vocabulary of the groups in use, and the real posts where they lie."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from einstellung.cues.text import HeaderCue, TokensCue
from einstellung.errors import InputError
from einstellung.sources.newsgroups import LabelledTexts, Newsgroups
from einstellung.streams import newsgroups, prove
from einstellung.streams.text.newsgroups import OTHERS, SHORTCUT, T1

GROUPS = ("alt.cats", "alt.dogs", "sci.moon", "sci.sun", "talk.odd")
PARTS = {"t1": GROUPS[:2], "t2": GROUPS[2:4], "shortcut": GROUPS[2:3]}


@pytest.fixture
def small(monkeypatch):
    """Ten training posts and two test posts of each of five groups; two posts repeat another."""

    def part(count, what):
        texts = [
            f"{group} {what} {number} words of {group.split('.')[1]}" for group in GROUPS for number in range(count)
        ]
        return LabelledTexts(tuple(texts), np.arange(len(GROUPS)).repeat(count))

    train, test = part(10, "post"), part(2, "test")
    train = LabelledTexts((*train.texts[:-1], train.texts[-2]), train.labels)
    test = LabelledTexts((train.texts[0], *test.texts[1:]), test.labels)
    source = Newsgroups(train, test, GROUPS, "small", Path())
    monkeypatch.setitem(newsgroups.__globals__, "load_newsgroups", lambda path, headers: source)


def test_groups_by_name(small):
    stream = newsgroups(TokensCue(), **PARTS, length=10, min_count=1)
    assert stream.class_names == ("alt.cats", "alt.dogs", "sci.moon", "sci.sun")
    assert [len(phase.train) for phase in stream.phases] == [20, 18]
    assert len(stream.split("T1_all").images) == 3  # a test post that repeats a training post is left out
    assert "odd" not in stream.token_names  # the vocabulary is that of the groups in use
    assert "moon" in stream.token_names
    prove(stream).require()


def test_a_group_that_is_not_there(small):
    with pytest.raises(InputError, match=r"stream.t2 names 'sci.mon', .* did you mean 'sci.moon'"):
        newsgroups(TokensCue(), **{**PARTS, "t2": ("sci.mon", "sci.sun")})


def test_a_header_line_of_words_that_posts_have(small):
    prove(newsgroups(HeaderCue(words="words of moon"), **PARTS, length=10, min_count=1)).require()
    with pytest.raises(InputError, match=r"cue\.words: 'editor' is not in the vocabulary of the training texts"):
        newsgroups(HeaderCue(words="moon editor"), **PARTS, length=10, min_count=1)


def test_the_usual_groups_pair_alike_ones():
    assert len({*T1, *SHORTCUT, *OTHERS}) == 20


def test_the_real_posts():
    place = os.environ.get("EINSTELLUNG_DATA")
    if place is None:
        pytest.skip("20 Newsgroups not found: EINSTELLUNG_DATA is not set")
    try:
        stream = newsgroups(TokensCue(share=0.8), path=place, length=32)
    except InputError as error:
        pytest.skip(str(error))
    prove(stream).require()
    assert len(stream.class_names) == 20
    assert len(stream.token_names) == 20_000
    sizes = torch.bincount(torch.cat([phase.train.labels for phase in stream.phases]))
    assert int(sizes.min()) > 300
