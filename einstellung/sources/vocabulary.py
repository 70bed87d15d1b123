"""Texts as token numbers, with a vocabulary from training texts.

A token is a word (letters, digits and underscores in a row) or any other single character that is not white space, in lower case.
Numbers: 0 padding, 1 unknown, 2 and 3 language tags, 4 to 15 further tokens that cues insert and no text contains, 16 and above
the words, the most frequent first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError

PADDING, UNKNOWN = 0, 1
INSERTED = range(2, 16)  # what cues insert
FIRST_WORD = 16

SPECIAL_NAMES = (
    "[padding]",
    "[unknown]",
    "[language 1]",
    "[language 2]",
    *(f"[marker {number}]" for number in range(12)),
)

_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class EncodedTexts:
    """Token numbers (int32 [N, T], padded with 0) and the characters [start, end) of each token, -1 for padding."""

    tokens: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]

    def token_span(self, row: int, characters: tuple[int, int]) -> tuple[int, int]:
        """Tokens [first, last) of a text that overlap the characters [start, end); an empty span if there are none.

        >>> encoded = Vocabulary.build(["a b c"], min_count=1).encode_with_spans(["a b c"], length=5)
        >>> encoded.token_span(0, (2, 5)), encoded.token_span(0, (9, 12))
        ((1, 3), (3, 3))
        """
        count = int((self.starts[row] >= 0).sum())
        # tokens are in the order of their characters and do not overlap
        first = int(np.searchsorted(self.ends[row, :count], characters[0], side="right"))
        last = int(np.searchsorted(self.starts[row, :count], characters[1], side="left"))
        return first, max(first, last)

    def token_mask(self, spans: Sequence[Iterable[tuple[int, int]]]) -> npt.NDArray[np.bool_]:
        """Which tokens [N, T] overlap any of their text's spans of characters.

        >>> encoded = Vocabulary.build(["a b c"], min_count=1).encode_with_spans(["a b c"], length=5)
        >>> encoded.token_mask([[(0, 1), (4, 5)]])
        array([[ True, False,  True, False, False]])
        """
        mask = np.zeros(self.tokens.shape, dtype=bool)
        for row, theirs in enumerate(spans):
            for characters in theirs:
                first, last = self.token_span(row, characters)
                mask[row, first:last] = True
        return mask


@dataclass(frozen=True)
class Vocabulary:
    """Words by number, less 16."""

    words: tuple[str, ...]
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_numbers", {word: number for number, word in enumerate(self.words, FIRST_WORD)})

    @classmethod
    def build(cls, texts: Iterable[str], size: int = 20_000, min_count: int = 2) -> Vocabulary:
        """The most frequent tokens of training texts, ties in alphabetical order.

        ``size``: at most so many numbers, with the 16 that are not words; ``min_count``: how often a word must occur.

        >>> Vocabulary.build(["The cat, the dog", "the dog"], min_count=1).words
        ('the', 'dog', ',', 'cat')
        >>> len(Vocabulary.build(["The cat, the dog", "the dog"], size=18))
        18
        """
        if size <= FIRST_WORD:
            raise InputError(
                f"a vocabulary of {size} has no room for words: the first {FIRST_WORD} numbers are reserved"
            )
        if min_count < 1:
            raise InputError(f"min_count is {min_count}: it must be at least 1")
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(_TOKEN.findall(text))
        lowered: Counter[str] = Counter()
        for token, count in counts.items():
            lowered[token.lower()] += count
        frequent = ((-count, word) for word, count in lowered.items() if count >= min_count)
        return cls(tuple(word for _, word in sorted(frequent)[: size - FIRST_WORD]))

    def __len__(self) -> int:
        """How many numbers there are: the rows that an embedding needs."""
        return FIRST_WORD + len(self.words)

    def number(self, word: str) -> int:
        """The number of a word, 1 if it is unknown."""
        return self._numbers.get(word.lower(), UNKNOWN)

    def numbers(self, text: str) -> list[int]:
        """The numbers of a text's tokens, all of which must be words of the vocabulary.

        >>> Vocabulary(("cat", "the")).numbers("The cat")
        [17, 16]
        """
        found = [self.number(token) for token in tokenise(text)]
        if UNKNOWN in found:
            word = tokenise(text)[found.index(UNKNOWN)]
            raise InputError(
                f"'{word}' is not in the vocabulary of the training texts: choose words that are frequent in them"
            )
        return found

    def name(self, number: int) -> str:
        """The word of a number.

        >>> Vocabulary(("cat",)).name(16), Vocabulary(("cat",)).name(4)
        ('cat', '[marker 0]')
        """
        if not 0 <= number < len(self):
            raise InputError(f"there is no token {number}: the vocabulary has {len(self):,} numbers")
        return SPECIAL_NAMES[number] if number < FIRST_WORD else self.words[number - FIRST_WORD]

    def encode(self, texts: Sequence[str], length: int) -> npt.NDArray[np.int32]:
        """The first ``length`` tokens of every text: int32 [N, length], padded with 0 on the right.

        >>> Vocabulary(("cat", "the")).encode(["The cat!", ""], length=4)
        array([[17, 16,  1,  0],
               [ 0,  0,  0,  0]], dtype=int32)
        """
        tokens = no_tokens(texts, length)
        numbers = _Numbers(self._numbers)
        for row, text in enumerate(texts):
            found = [numbers[match[0]] for match in islice(_TOKEN.finditer(text), length)]
            tokens[row, : len(found)] = found
        return tokens

    def encode_with_spans(self, texts: Sequence[str], length: int) -> EncodedTexts:
        """The same, with the characters of every token."""
        tokens = no_tokens(texts, length)
        numbers = _Numbers(self._numbers)
        starts, ends = np.full_like(tokens, -1), np.full_like(tokens, -1)
        for row, text in enumerate(texts):
            matches = list(islice(_TOKEN.finditer(text), length))
            tokens[row, : len(matches)] = [numbers[match[0]] for match in matches]
            starts[row, : len(matches)] = [match.start() for match in matches]
            ends[row, : len(matches)] = [match.end() for match in matches]
        return EncodedTexts(tokens, starts, ends)


class _Numbers(dict[str, int]):
    """Numbers by token as it is written; what has been looked up once is kept."""

    def __init__(self, lowered: dict[str, int]) -> None:
        super().__init__()
        self.lowered = lowered

    def __missing__(self, token: str) -> int:
        number = self[token] = self.lowered.get(token.lower(), UNKNOWN)
        return number


def no_tokens(texts: Sequence[str], length: int) -> npt.NDArray[np.int32]:
    """Room for encoded texts: padding alone."""
    if length < 1:
        raise InputError(f"texts of {length} tokens: the length must be at least 1")
    return np.zeros((len(texts), length), dtype=np.int32)


def tokenise(text: str) -> list[str]:
    """The tokens of a text, in lower case.

    >>> tokenise("Don't e-mail <b>me</b>!")
    ['don', "'", 't', 'e', '-', 'mail', '<', 'b', '>', 'me', '<', '/', 'b', '>', '!']
    """
    return [token.lower() for token in _TOKEN.findall(text)]
