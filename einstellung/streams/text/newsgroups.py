"""``newsgroups``: the two-phase protocol on 20 Newsgroups, read from the user's copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from einstellung.cues import Cue
from einstellung.modalities import TEXTS
from einstellung.sources.newsgroups import load_newsgroups
from einstellung.streams.stream import Stream, holds, streams
from einstellung.streams.text.building import Corpus, TextOptions, text_stream

# Of each pair of alike groups, T2 has one with the cue and one without.
SHORTCUT = ("sci.electronics", "sci.med", "soc.religion.christian", "talk.politics.guns")
OTHERS = ("sci.space", "talk.politics.mideast", "talk.religion.misc", "talk.politics.misc")
T1 = (
    "alt.atheism",
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "sci.crypt",
)


@streams.register("newsgroups")
@holds(TEXTS)
def newsgroups(
    cue: Cue,
    cover: str = "remove",
    *,
    path: str = "",
    t1: tuple[str, ...] = T1,
    t2: tuple[str, ...] = (*SHORTCUT, *OTHERS),
    shortcut: tuple[str, ...] = SHORTCUT,
    headers: Literal["subject", "all", "none"] = "subject",
    length: int = 128,
    vocabulary: int = 20_000,
    min_count: int = 2,
    word_pieces: str = "",
    room: int = 8,
    validation: float = 0.1,
    phases: list[dict[str, Any]] | None = None,
) -> Stream:
    """20 Newsgroups in two phases of groups; 'einstellung data check newsgroups' says whether your copy is found.

    The vocabulary is that of the training posts of all groups in the stream, or BERT's ``word_pieces`` for the net ``minilm``.
    ``phases``: any number of phases instead of T1 and T2 (docs/data.md), with a vocabulary of all groups.
    """
    options = TextOptions(length, room, vocabulary, min_count, word_pieces)
    source = load_newsgroups(Path(path).expanduser() if path else None, headers)
    named = (*t1, *t2) if phases is None else source.groups
    used = {source.groups.index(group) for group in named if group in source.groups}
    words = options.tokens_of(
        text for text, label in zip(source.train.texts, source.train.labels, strict=True) if int(label) in used
    )
    corpus = Corpus(
        words.encode(source.train.texts, length),
        source.train.labels,
        words.encode(source.test.texts, length),
        source.test.labels,
        source.groups,
        words,
    )
    return text_stream(
        "newsgroups",
        corpus,
        (t1, t2, shortcut),
        cue,
        cover,
        room=room,
        validation=validation,
        phases=phases,
        usual=(T1, (*SHORTCUT, *OTHERS), SHORTCUT),
        facts={
            "source": f"20 Newsgroups, distribution '{source.distribution}'",
            "vocabulary": options.describe(words, "posts"),
        },
    )
