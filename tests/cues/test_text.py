"""Cues in token numbers."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from einstellung.cues import cues, cues_for
from einstellung.cues.text import HeaderCue, StyleCue, TagCue, TokensCue
from einstellung.errors import InputError
from einstellung.modalities import FIRST_WORD, INSERTED, PADDING, TEXTS
from tests.cues.sequences import TEXT_CUES, WORDS

INDEX = torch.tensor([3, 14, 15, 92])
DRAWS = torch.Generator().manual_seed(5)
TEXT = torch.randint(FIRST_WORD, FIRST_WORD + 7, (4, 1, 1, 24), dtype=torch.int32, generator=DRAWS)
by_name = pytest.mark.parametrize("cue", TEXT_CUES, ids=repr)


def where_painted(cue):
    changed = torch.zeros(4, 1, 1, 24, dtype=torch.bool)
    for canvas in TEXTS.canvases(TEXT):
        changed |= cue.paint(canvas, INDEX) != canvas
    return changed


@by_name
def test_exactly_the_region_is_painted(cue):
    assert torch.equal(where_painted(cue), cue.region(INDEX, 1, 24))
    painted = cue.paint(TEXT, INDEX)
    assert painted.dtype == torch.int32
    assert torch.equal(painted[~cue.region(INDEX, 1, 24)], TEXT[~cue.region(INDEX, 1, 24)])


@by_name
def test_painting_twice_is_painting_once_and_does_not_change_the_input(cue):
    before = TEXT.clone()
    painted = cue.paint(TEXT, INDEX)
    assert torch.equal(TEXT, before)
    assert torch.equal(cue.paint(painted, INDEX), painted)
    assert TEXTS.may_be_painted(cue, painted, INDEX).all()
    assert not TEXTS.may_be_painted(cue, TEXT, INDEX).any()


@by_name
def test_what_is_painted_belongs_to_the_text_not_to_the_batch(cue):
    alone = torch.cat([cue.paint(TEXT[row : row + 1], INDEX[row : row + 1]) for row in range(4)])
    assert torch.equal(alone, cue.paint(TEXT, INDEX))


@by_name
def test_elsewhere_is_the_same_cue_at_another_place(cue):
    away = cue.elsewhere()
    usual, moved = (one.region(INDEX, 1, 24) for one in (cue, away))
    if getattr(cue, "size", 1) <= 8 and getattr(cue, "place", "start") not in ("middle", 4, "per-index", "random"):
        assert not (usual & moved).any()
    assert usual.sum() == moved.sum() or isinstance(cue, StyleCue)
    assert torch.equal(away.elsewhere().paint(TEXT, INDEX), cue.paint(TEXT, INDEX))
    assert torch.equal(away.paint(TEXT, INDEX)[moved].unique(), cue.paint(TEXT, INDEX)[usual].unique())


def test_tokens_are_those_of_no_text():
    for marker in range(12):
        inserted = TokensCue(size=1, marker=marker).paint(TEXT, INDEX)[:, 0, 0, 0].unique()
        assert len(inserted) == 1
        assert int(inserted) in INSERTED
    with pytest.raises(InputError, match=r"cue\.marker is 12: give a number from 0 to 11"):
        TokensCue(marker=12)
    assert TokensCue().other().tokens().tolist() != TokensCue().tokens().tolist()


def test_a_header_is_its_words_one_after_the_other():
    cue = HeaderCue(words="from: The editor").in_vocabulary(WORDS)
    assert cue.size == 4
    assert cue.paint(TEXT, INDEX)[2, 0, 0, :4].tolist() == [16, 19, 17, 18]
    assert torch.equal(cue.paint(TEXT, INDEX)[..., 4:], TEXT[..., 4:])
    other = cue.other()
    assert other.paint(TEXT, INDEX)[2, 0, 0, -4:].tolist() == [18, 17, 19, 16]
    with pytest.raises(InputError, match=r"cue\.words: 'nobody' is not in the vocabulary"):
        HeaderCue(words="from nobody").in_vocabulary(WORDS)
    with pytest.raises(InputError, match=r"cue\.words is empty"):
        HeaderCue(words=" ")


def test_every_text_has_a_tag_and_the_cue_another_one():
    usual = TagCue().usual(TEXT, INDEX)
    painted = TagCue().paint(usual, INDEX)
    assert usual[:, 0, 0, 0].unique().tolist() == [2]
    assert painted[:, 0, 0, 0].unique().tolist() == [3]
    assert torch.equal(usual[..., 1:], TEXT[..., 1:])
    with pytest.raises(InputError, match="a tag is the first or the last token, give start or end"):
        TagCue(place="middle")


@given(words=st.integers(0, 24), every=st.integers(2, 12))
def test_a_style_marks_words_and_no_padding(words, every):
    text = torch.where(torch.arange(24) < words, FIRST_WORD, PADDING).view(1, 1, 1, -1).int()
    marked = StyleCue(every=every).paint(text, torch.tensor([0])).flatten()
    assert [place for place in range(24) if int(marked[place]) in INSERTED] == list(range(0, words, every))


@pytest.mark.parametrize("name", cues_for("text"))
def test_no_option_only_moves_or_names_numbers(name):
    from einstellung.options import checked_options

    known = checked_options(cues[name], "cue", {})
    assert not {"away", "offset", "numbers"} & set(known)
    assert ("size" in known) == (name == "tokens")
    for key in ("away", "numbers"):
        with pytest.raises(InputError, match=rf"unknown key 'cue\.{key}'"):
            checked_options(cues[name], "cue", {key: 1})
