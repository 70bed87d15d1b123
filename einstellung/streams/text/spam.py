"""``spam``: SpamAssassin's mails in two phases, with a natural cue: header lines or HTML that reveal where a mail came from.

The five folders of the corpus are the classes. T1 has the older ham and spam, T2 the newer ones and hard ham. Nothing is painted:
evaluation covers the header lines (or the HTML parts) of the spam of T2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from einstellung.cues import Cue
from einstellung.errors import InputError
from einstellung.modalities import TEXTS
from einstellung.sources.spamassassin import SpamAssassin, load_spamassassin
from einstellung.streams.boxed import MarkedCue, boxed_stream
from einstellung.streams.by_name import parts_by_name
from einstellung.streams.planted import HELD_OUT, HeadClasses, TwoPhaseImages, exact_share, planted_stream
from einstellung.streams.stream import ImageSet, Stream, holds, streams
from einstellung.streams.text.building import (
    UNSCALED,
    TextOptions,
    Tokens,
    in_vocabulary,
    token_names,
    with_room,
    with_usual_tag,
)

FOLDERS = ("easy_ham", "easy_ham_2", "hard_ham", "spam", "spam_2")
_TEST = 6  # salt: which mails are for testing


@streams.register("spam")
@holds(TEXTS)
def spam(
    cue: Cue,
    cover: str = "remove",
    *,
    path: str = "",
    t1: tuple[str, ...] = ("easy_ham", "spam"),
    t2: tuple[str, ...] = ("easy_ham_2", "hard_ham", "spam_2"),
    shortcut: tuple[str, ...] = ("spam_2",),
    cue_in_texts: Literal["headers", "html", "none"] = "headers",
    headers: tuple[str, ...] = (),
    header_length: int = 96,
    length: int = 256,
    vocabulary: int = 20_000,
    min_count: int = 2,
    word_pieces: str = "",
    room: int = 8,
    test: float = 0.25,
    validation: float = 0.1,
) -> Stream:
    """SpamAssassin's corpus; 'einstellung data check spamassassin' says whether your copy is found.

    ``cue_in_texts``: what evaluation covers: the lines named by ``headers`` (all if empty), the HTML parts, or ``none``, where
    the planted ``cue`` is used. A mail has at most ``header_length`` tokens of its header and ``length`` in all. Of mails that
    occur more than once, all but the first are left out. ``word_pieces``: as for newsgroups.
    """
    options = TextOptions(length, room, vocabulary, min_count, word_pieces)
    if not 1 <= header_length < length:
        raise InputError(f"stream.header_length is {header_length}: give 1 to {length - 1}, below stream.length")
    if not 0 < test < 1:
        raise InputError(f"stream.test is {test}: it must lie between 0 and 1")
    mails = _Mails.read(load_spamassassin(Path(path).expanduser() if path else None), test)
    labels = torch.from_numpy(mails.labels)
    found = parts_by_name(
        FOLDERS,
        t1,
        t2,
        shortcut,
        train=labels[~mails.tested],
        test=labels[mails.tested],
        validation=validation,
        one="mail",
    )
    encoded = mails.encoded(options, header_length, {*found["t1"], *found["t2"]})
    planted = in_vocabulary(cue, encoded.vocabulary)
    texts = with_room(encoded.tokens, room)
    if cue_in_texts == "none":
        texts = with_usual_tag(planted, texts)
    order = (*found["t1"], *found["shortcut"], *(one for one in found["t2"] if one not in found["shortcut"]))
    head = torch.full((len(FOLDERS),), -1)
    head[list(order)] = torch.arange(len(order))
    ends = (len(found["t1"]), len(found["t1"]) + len(found["shortcut"]), len(order))
    classes = HeadClasses(
        tuple(range(ends[0])),
        tuple(range(ends[0], ends[1])),
        tuple(range(ends[1], ends[2])),
        tuple(FOLDERS[one] for one in order),
    )

    def part(rows: Tensor, wanted: tuple[int, ...]) -> ImageSet:
        chosen = (rows & torch.isin(head[labels], torch.tensor(wanted))).nonzero().flatten()
        return ImageSet.without_cue(texts[chosen], head[labels[chosen]], chosen)

    t2_all = part(~mails.tested, classes.t2)
    held_out = exact_share(t2_all.index, t2_all.labels, validation, HELD_OUT)
    trained = [
        part(~mails.tested, classes.t1),
        *(t2_all.take(rows.nonzero().flatten()) for rows in (~held_out, held_out)),
    ]
    tests = [part(mails.tested, some) for some in (classes.t1, classes.sc, classes.nsc)]
    sets = without_shared(trained, tests)
    images = TwoPhaseImages(*sets)
    facts: dict[str, object] = {
        "source": f"SpamAssassin's public corpus: {len(labels):,} of {mails.available:,} mails, each once",
        "text_length": f"{texts.shape[-1]} tokens, at most {header_length} of them header, {room} free at each end",
        "vocabulary": options.describe(encoded.vocabulary, "mails"),
        "shared": f"{sum(map(len, (*trained, *tests))) - sum(map(len, sets)):,} mails left out whose tokens equal those of a "
        "mail in another set",
    }
    settings = {"modality": TEXTS, "uneven_classes": True, "token_names": token_names(encoded.vocabulary), **UNSCALED}
    if cue_in_texts == "none":
        return planted_stream("spam", images, classes, planted, cover, facts, **settings)
    marked = encoded.marks(mails, cue_in_texts, headers)
    if not bool(marked[images.sc_test.index.numpy()].any()):
        raise InputError(f"no test mail of {', '.join(shortcut)} has the {_described(cue_in_texts, headers)} to cover")
    facts["natural_cue"] = _described(cue_in_texts, headers)
    where = torch.from_numpy(np.pad(marked, ((0, 0), (room, room))))[:, None, :]
    natural = MarkedCue(torch.arange(len(labels)), where, _described(cue_in_texts, headers))
    with_cue = natural.has(images.sc_test.index)
    images = TwoPhaseImages(
        *(getattr(images, name) for name in ("t1_train", "t2_train", "t2_val", "t1_test")),
        images.sc_test.take(with_cue.nonzero().flatten()),
        images.nsc_test,
    )
    return boxed_stream("spam", images, classes, natural, cover, facts, **settings)


def without_shared(trained: Sequence[ImageSet], tests: Sequence[ImageSet]) -> list[ImageSet]:
    """All sets, each without the inputs that an earlier training set has, too: mails may begin alike and be cut short."""
    seen: set[bytes] = set()
    kept = []
    for position, one in enumerate((*trained, *tests)):
        contents = [row.tobytes() for row in one.images.contiguous().numpy()]
        kept.append(one.take(torch.tensor([row for row, content in enumerate(contents) if content not in seen]).long()))
        if position < len(trained):
            seen.update(contents)
    return kept


def _described(kind: str, headers: tuple[str, ...]) -> str:
    if kind == "html":
        return "HTML parts"
    return f"header lines {', '.join(headers)}" if headers else "header lines"


@dataclass(frozen=True)
class _Encoded:
    """Tokens [N, T]; the first ``head`` columns are the header's. Characters of all tokens, in header or body."""

    tokens: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    head: int
    vocabulary: Tokens

    def marks(self, mails: _Mails, kind: str, headers: tuple[str, ...]) -> npt.NDArray[np.bool_]:
        """Which tokens are part of the natural cue."""
        marked = np.zeros(self.tokens.shape, dtype=bool)
        for row, mail in enumerate(mails.source.mails[number] for number in mails.numbers):
            spans = mail.content.html if kind == "html" else mail.content.header_spans(*headers)
            for start, end in spans:
                marked[row] |= (self.starts[row] < end) & (self.ends[row] > start)
        return marked & (self.starts >= 0)


@dataclass(frozen=True)
class _Mails:
    """The mails in use by their number in the corpus, their classes, and which are for testing."""

    source: SpamAssassin
    numbers: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    tested: Tensor

    @classmethod
    def read(cls, source: SpamAssassin, test: float) -> _Mails:
        again = {number for group in source.duplicates() for number in group[1:]}
        numbers = np.array([number for number in range(len(source.mails)) if number not in again])
        labels = np.array([FOLDERS.index(source.mails[number].folder) for number in numbers])
        index = torch.arange(len(numbers))
        return cls(source, numbers, labels, exact_share(index, torch.from_numpy(labels), test, _TEST))

    @property
    def available(self) -> int:
        return len(self.source.mails)

    def encoded(self, options: TextOptions, header_length: int, used: set[int]) -> _Encoded:
        """Header and body apart, so that a long header leaves room for the body."""
        contents = [self.source.mails[number].content for number in self.numbers]
        trained = [
            one.text
            for one, label, tested in zip(contents, self.labels, self.tested.tolist(), strict=True)
            if not tested and int(label) in used
        ]
        words = options.tokens_of(trained)
        head = words.encode_with_spans([one.text[: one.body] for one in contents], header_length)
        body = words.encode_with_spans([one.text[one.body :] for one in contents], options.length - header_length)
        shift = np.array([one.body for one in contents], dtype=np.int32)[:, None]
        moved = [np.where(values >= 0, values + shift, -1) for values in (body.starts, body.ends)]
        return _Encoded(
            np.concatenate((head.tokens, body.tokens), axis=1),
            np.concatenate((head.starts, moved[0]), axis=1),
            np.concatenate((head.ends, moved[1]), axis=1),
            header_length,
            words,
        )
