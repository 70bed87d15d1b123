"""Cues for texts: token numbers [N, 1, 1, tokens].

Streams of texts keep a few places free at both ends (``stream.room``), so that a cue at ``start`` or ``end`` overwrites no
word, and the cover ``remove`` gives back the text without it. Elsewhere a cue overwrites words, as a patch does pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from einstellung.cues.planted import cues
from einstellung.cues.spans import ENDS, SpanCue, span
from einstellung.errors import InputError
from einstellung.modalities import INSERTED, PADDING
from einstellung.options import internal

_LANGUAGES = INSERTED[:2]  # the usual tag, and the cue's
_FREE = INSERTED[2:]


class Encoder(Protocol):
    """What a cue of words needs of a stream's vocabulary."""

    def numbers(self, text: str) -> list[int]:
        """The token numbers of a text; an error names a word that the vocabulary lacks."""
        ...


@dataclass(frozen=True)
class _TextCue(SpanCue):
    """A span of tokens."""

    modality: ClassVar[str] = "text"

    def tokens(self) -> Tensor:
        """The numbers of its tokens, int32 [size]."""
        raise NotImplementedError

    def paint(self, images: Tensor, index: Tensor, generator: torch.Generator | None = None) -> Tensor:
        width = images.shape[-1]
        first = self.first(index, width, generator)
        painted = images.clone()
        rows = torch.arange(len(images)).view(-1, 1)
        painted[rows, 0, 0, first.view(-1, 1) + torch.arange(self.size)] = self.tokens().to(images.dtype)
        return painted


@cues.register("tokens")
@dataclass(frozen=True)
class TokensCue(_TextCue):
    """``size`` tokens that no text contains, one word repeated, before the text unless ``place`` says otherwise.

    ``marker`` (0 to 11) chooses among different ones.

    >>> text = torch.full((1, 1, 1, 6), 20, dtype=torch.int32)
    >>> TokensCue(place=2).paint(text, torch.tensor([0])).flatten().tolist()
    [20, 20, 4, 4, 20, 20]
    """

    size: int = 2
    marker: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_marker(self.marker)

    def tokens(self) -> Tensor:
        return torch.full((self.size,), _FREE[self.marker], dtype=torch.int32)

    def other(self) -> TokensCue:
        """Another marker, on the opposite side."""
        return replace(self, marker=(self.marker + 1) % len(_FREE), away=not self.away)


@cues.register("header")
@dataclass(frozen=True)
class HeaderCue(_TextCue):
    """A header line of ordinary words, which the vocabulary must contain.

    Each word also occurs elsewhere: only the line as a whole is a cue.
    """

    size: int = internal(0)  # the number of words
    words: str = "from the editor of the daily news"
    numbers: tuple[int, ...] = internal(())

    def __post_init__(self) -> None:
        if not self.words.split():
            raise InputError("cue.words is empty: give the words of a header line")
        object.__setattr__(self, "size", len(self.numbers) or len(self.words.split()))
        super().__post_init__()

    def in_vocabulary(self, vocabulary: Encoder) -> HeaderCue:
        """The cue with the numbers of its words."""
        try:
            return replace(self, numbers=tuple(vocabulary.numbers(self.words)))
        except InputError as error:
            raise InputError(f"cue.words: {error}") from None

    def tokens(self) -> Tensor:
        assert self.numbers, "a stream of texts gives the cue its vocabulary"
        return torch.tensor(self.numbers, dtype=torch.int32)

    def other(self) -> HeaderCue:
        """The same words in reverse, on the opposite side."""
        words = " ".join(reversed(self.words.split()))
        return replace(self, words=words, numbers=self.numbers[::-1], away=not self.away)


@cues.register("tag")
@dataclass(frozen=True)
class TagCue(_TextCue):
    """A language tag: every text begins with one token, and texts with the cue have another one there than the rest.

    The stream writes the usual tag (:meth:`usual`) into all texts, where the cue replaces it.
    """

    size: int = internal(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.place not in ENDS:
            raise InputError(f"cue.place is {self.place}: a tag is the first or the last token, give start or end")

    def tokens(self) -> Tensor:
        return torch.tensor([_LANGUAGES[1]], dtype=torch.int32)

    def usual(self, texts: Tensor, index: Tensor) -> Tensor:
        """The texts with the usual tag."""
        where = span(self.first(index, texts.shape[-1]), 1, texts.shape[-1])
        return torch.where(where, torch.tensor(_LANGUAGES[0], dtype=texts.dtype), texts)


@cues.register("style")
@dataclass(frozen=True)
class StyleCue:
    """A mark of style: a token that no text contains in the place of every ``every``-th word, to the end of the text."""

    modality: ClassVar[str] = "text"
    every: int = 10
    marker: int = 0
    share: float = 1.0
    share_nsc: float = 0.0
    offset: int = internal(0)

    def __post_init__(self) -> None:
        for key in ("share", "share_nsc"):
            if not 0 <= getattr(self, key) <= 1:
                raise InputError(f"cue.{key} is {getattr(self, key)}: it must lie between 0 and 1")
        if self.every < 2:
            raise InputError(f"cue.every is {self.every}: it must be at least 2")
        _check_marker(self.marker)

    def region(self, index: Tensor, height: int, width: int) -> Tensor:
        places = torch.arange(width) % self.every == self.offset
        return places.view(1, 1, 1, -1).expand(len(index), 1, 1, width).clone()

    def paint(self, images: Tensor, index: Tensor, generator: torch.Generator | None = None) -> Tensor:
        where = self.region(index, 1, images.shape[-1]) & (images != PADDING)
        return torch.where(where, torch.tensor(_FREE[self.marker], dtype=images.dtype), images)

    def elsewhere(self) -> StyleCue:
        """The same mark on words between the usual ones."""
        return replace(self, offset=(self.offset + self.every // 2) % self.every)


def _check_marker(marker: int) -> None:
    if not 0 <= marker < len(_FREE):
        raise InputError(f"cue.marker is {marker}: give a number from 0 to {len(_FREE) - 1}")
