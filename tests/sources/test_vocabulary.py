"""Tokens, numbers and spans, against the plainest way to compute them."""

from __future__ import annotations

import itertools
import string
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einstellung.errors import InputError
from einstellung.sources.vocabulary import FIRST_WORD, PADDING, UNKNOWN, EncodedTexts, Vocabulary, tokenise

WORD_CHARACTERS = set(string.ascii_letters + string.digits + "_")


def by_hand(text: str) -> list[tuple[str, int, int]]:
    """Characters one by one; ASCII only."""
    found: list[tuple[str, int, int]] = []
    for place, character in enumerate(text):
        if character.isspace():
            continue
        inside = character in WORD_CHARACTERS
        if inside and found and found[-1][2] == place and text[place - 1] in WORD_CHARACTERS:
            found[-1] = (found[-1][0] + character.lower(), found[-1][1], place + 1)
        else:
            found.append((character.lower(), place, place + 1))
    return found


TEXTS = st.text(st.sampled_from("aBc_1.-' \t\n"), max_size=30)


@given(TEXTS)
def test_tokens_and_spans_by_hand(text):
    expected = by_hand(text)
    assert tokenise(text) == [token for token, _, _ in expected]
    found = Vocabulary.build([text], min_count=1).encode_with_spans([text], 40)
    assert [(s, e) for s, e in zip(found.starts[0], found.ends[0], strict=True) if s >= 0] == [
        (start, end) for _, start, end in expected
    ]


@given(st.lists(TEXTS, max_size=5), st.integers(1, 3), st.integers(17, 22))
def test_the_vocabulary_by_hand(texts, min_count, size):
    counts = Counter(token for text in texts for token, _, _ in by_hand(text))
    words = sorted((word for word in counts if counts[word] >= min_count), key=lambda word: (-counts[word], word))
    vocabulary = Vocabulary.build(texts, size=size, min_count=min_count)
    assert list(vocabulary.words) == words[: size - 16]
    assert len(vocabulary) <= size
    tokens = vocabulary.encode(texts, 6)
    for row, text in zip(tokens, texts, strict=True):
        known = {word: FIRST_WORD + number for number, word in enumerate(words[: size - 16])}
        numbers = [known.get(token, UNKNOWN) for token, _, _ in by_hand(text)][:6]
        assert row.tolist() == numbers + [PADDING] * (6 - len(numbers))


@given(TEXTS, st.integers(0, 30), st.integers(0, 30))
def test_a_span_of_characters_is_every_token_it_touches(text, one, other):
    start, end = sorted((one, other))
    found = Vocabulary(()).encode_with_spans([text], 40)
    touched = [n for n, (_, first, last) in enumerate(by_hand(text)) if first < end and last > start]
    first, last = found.token_span(0, (start, end))
    if start < end:
        assert list(range(first, last)) == touched
    assert np.flatnonzero(found.token_mask([[(start, end)]])[0]).tolist() == list(range(first, last))


def test_texts_beyond_ascii():
    """'İ' becomes two characters in lower case, and spans stay those of the text."""
    text = "Größe İX 中文 🙂"
    found = Vocabulary.build([text], min_count=1).encode_with_spans([text], 8)
    assert [text[start:end] for start, end in zip(found.starts[0], found.ends[0], strict=True) if start >= 0] == [
        *("Größe", "İX", "中文", "🙂")
    ]
    assert UNKNOWN not in found.tokens


def test_truncated_texts_have_truncated_spans():
    found = Vocabulary(()).encode_with_spans(["a b c d"], 2)
    assert isinstance(found, EncodedTexts)
    assert found.token_span(0, (2, 7)) == (1, 2)
    assert found.token_span(0, (4, 7)) == (2, 2)
    assert found.tokens.dtype == np.int32


def test_names_and_numbers():
    vocabulary = Vocabulary(("cat",))
    assert [vocabulary.name(number) for number in (0, 1, 2, 3, 4, 15, 16)] == [
        *("[padding]", "[unknown]", "[language 1]", "[language 2]", "[marker 0]", "[marker 11]", "cat")
    ]
    assert (vocabulary.number("Cat"), vocabulary.number("dog")) == (16, UNKNOWN)
    with pytest.raises(InputError, match="there is no token 17: the vocabulary has 17 numbers"):
        vocabulary.name(17)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Vocabulary.build(["a"], size=16), "a vocabulary of 16 has no room for words"),
        (lambda: Vocabulary.build(["a"], min_count=0), "min_count is 0"),
        (lambda: Vocabulary(()).encode(["a"], 0), "the length must be at least 1"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_no_texts():
    assert Vocabulary.build([]).words == ()
    assert Vocabulary(()).encode([], 3).shape == (0, 3)
    assert list(itertools.chain(tokenise(" \n"))) == []
