"""``phrases``: texts of topics, every cue and cover proved, and what breaks the proof."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from einstellung.cues import covers_for
from einstellung.cues.text import HeaderCue, StyleCue, TagCue, TokensCue
from einstellung.errors import InputError
from einstellung.modalities import FIRST_WORD, INSERTED, PADDING
from einstellung.streams import ImageSet, prove
from einstellung.streams.text.phrases import TOPICS, draw_topics, topic_words
from einstellung.timeline import SC_CLEAN, SC_MASK, SC_PATCH
from tests.streams.broken import failed, with_split, with_train
from tests.streams.sequences import texts

PLACES = ("start", "end", "middle", 12, "per-index", "random")
CUES = [
    *(TokensCue(size=size, place=place) for size, place in zip((1, 2, 4, 8, 2, 2), PLACES, strict=True)),
    *(HeaderCue(place=place) for place in PLACES),
    *(TagCue(place=place) for place in ("start", "end")),
    *(StyleCue(every=every) for every in (2, 10)),
    TokensCue(habit="same"),
    TokensCue(habit="other", share=0.8, share_nsc=0.2),
    HeaderCue(habit="other"),
]


@pytest.fixture(scope="module")
def stream():
    return texts(TokensCue(share=0.8))


@pytest.mark.parametrize("cover", covers_for("text"))
@pytest.mark.parametrize("cue", CUES, ids=repr)
def test_every_cue_and_cover_is_proved(cue, cover):
    proof = prove(texts(cue, cover))
    assert [check.name for check in proof.checks if check.passed is not True] == []
    assert proof.facts["inputs"] == "text"
    assert not any("image" in f"{check.name} {check.detail}" for check in proof.checks)


def test_removing_the_cue_gives_back_the_clean_text(stream):
    masked, clean = (stream.split(name).images.images for name in (SC_MASK, SC_CLEAN))
    assert torch.equal(masked, clean)
    assert not torch.equal(stream.split(SC_PATCH).images.images, clean)


def test_the_free_places_hold_padding_and_the_texts_no_inserted_token(stream):
    for phase in stream.phases:
        tokens = phase.train.images
        assert tokens.shape[1:] == (1, 1, 24 + 2 * 8)
        assert (tokens[..., :8] == PADDING).all()
        assert (tokens[..., -8:] == PADDING).all()
        assert not torch.isin(tokens, torch.tensor(INSERTED)).any()
    assert stream.token_names[4] == "[marker 0]"
    assert "editor" in stream.token_names


def test_the_language_tag_is_on_every_text():
    stream = texts(TagCue())
    for images in (*(phase.train for phase in stream.phases), stream.split(SC_CLEAN).images):
        assert images.images[:, 0, 0, 0].unique().tolist() == [2]
    assert stream.split(SC_PATCH).images.images[:, 0, 0, 0].unique().tolist() == [3]


def test_the_same_seed_draws_the_same_texts():
    one, again, other, test = (
        draw_topics(5, 20, 0.3, seed, part) for seed, part in ((1, "train"), (1, "train"), (2, "train"), (1, "test"))
    )
    assert np.array_equal(one[0], again[0])
    assert not np.array_equal(one[0], other[0])
    assert not np.array_equal(one[0], test[0])


def test_texts_speak_of_their_topic():
    tokens, labels = draw_topics(50, 40, 0.25, 0, "train")
    lengths = (tokens != PADDING).sum(axis=1)
    assert lengths.min() >= 20
    for topic in range(len(TOPICS)):
        own = np.isin(tokens[labels == topic] - FIRST_WORD, topic_words(topic))
        share = own.sum() / lengths[labels == topic].sum()
        assert abs(share - 0.25) < 0.05
        strangers = [word for other in range(12) if other // 2 != topic // 2 for word in topic_words(other)]
        assert not np.isin(tokens[labels == topic] - FIRST_WORD, strangers).any()


def test_broken_streams_fail(stream):
    """A cue that is missing, at a wrong place, on the wrong texts, or not covered."""
    train = stream.phases[1].train
    silent = replace(train, has_cue=torch.zeros_like(train.has_cue))
    assert "training shows the cue where configured" in failed(with_train(stream, 1, silent))
    masked, patched = stream.split(SC_MASK).images, stream.split(SC_PATCH).images
    covers_exactly = "the mask covers exactly the cue, on the same text"
    more = masked.images.clone()
    more[0, 0, 0, 20] = 30 if more[0, 0, 0, 20] != 30 else 31
    for images in (patched.images, more):
        assert failed(with_split(stream, SC_MASK, replace(masked, images=images))) == [covers_exactly]
    shifted = replace(stream, cue=replace(stream.cue, place=9))
    assert covers_exactly in failed(shifted)
    seen = stream.split(SC_CLEAN).images
    joined = ImageSet.joined([train, seen])
    assert "training and evaluation share no text" in failed(with_train(stream, 1, joined))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"length": 0}, r"stream\.length is 0: give a number of tokens from 1 to 4096"),
        ({"room": 25}, r"stream\.room is 25: give a number of tokens from 0 to stream\.length, 24"),
        ({"topical": 0.0}, r"stream\.topical is 0\.0"),
        ({"t1": ("topic z",)}, "stream.t1 names 'topic z'"),
        ({"validation": 0.01}, "holds out 0 of 10 training texts of 'topic i'"),
    ],
)
def test_what_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        texts(TokensCue(), **options)
