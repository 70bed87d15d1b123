"""``phrases``: synthetic texts, drawn from a seed without any download.

Twelve topics. A text is a row of words: common ones, which all topics share, and now and then one of its topic's own. Topics come
in pairs that share half of their words, so that the words alone leave doubt; T2 has a pair's first topic with the cue, its second
without.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from einstellung.cues import Cue
from einstellung.errors import InputError
from einstellung.modalities import FIRST_WORD, TEXTS
from einstellung.randomness import seed_of
from einstellung.sources.vocabulary import Vocabulary
from einstellung.streams.stream import Stream, holds, streams
from einstellung.streams.text.building import Corpus, TextOptions, text_stream

TOPICS = tuple(f"topic {letter}" for letter in "abcdefghijkl")
USUAL = (TOPICS[:8], TOPICS[8:], (TOPICS[8], TOPICS[10]))  # T1, T2, and the cue's topics
_COMMON, _OWN = 200, 8  # words
_HEADER = ["from", "the", "editor", "of", "the", "daily", "news"]


@streams.register("phrases")
@holds(TEXTS)
def phrases(
    cue: Cue,
    cover: str = "remove",
    *,
    train_per_class: int = 100,
    test_per_class: int = 50,
    length: int = 24,
    topical: float = 0.12,
    room: int = 8,
    seed: int = 0,
    t1: tuple[str, ...] = USUAL[0],
    t2: tuple[str, ...] = USUAL[1],
    shortcut: tuple[str, ...] = USUAL[2],
    validation: float = 0.1,
    phases: list[dict[str, Any]] | None = None,
) -> Stream:
    """Synthetic texts of twelve topics, no download; ``topical``: the share of words that belong to the topic.

    ``phases``: any number of phases instead of T1 and T2 (docs/data.md).
    """
    TextOptions(length, room)
    if train_per_class < 2 or test_per_class < 1:
        raise InputError("stream.train_per_class must be at least 2 and stream.test_per_class at least 1")
    if not 0 < topical <= 1:
        raise InputError(f"stream.topical is {topical}: it must be above 0 and at most 1")
    drawn = {
        part: draw_topics(per_class, length, topical, seed, part)
        for part, per_class in (("train", train_per_class), ("test", test_per_class))
    }
    return text_stream(
        "phrases",
        Corpus(*drawn["train"], *drawn["test"], TOPICS, _vocabulary()),
        (t1, t2, shortcut),
        cue,
        cover,
        room=room,
        validation=validation,
        phases=phases,
        usual=USUAL,
        facts={"source": f"drawn from seed {seed}"},
    )


def draw_topics(
    per_class: int, length: int, topical: float, seed: int, part: str
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Texts of all topics, half to all of ``length`` tokens long, and their topics; ``part`` names an independent draw."""
    draws = np.random.default_rng(seed_of(seed, "phrases", part))
    labels = np.arange(len(TOPICS)).repeat(per_class)
    shape = (len(labels), length)
    frequency = 1 / np.arange(1, _COMMON + 1)
    common = draws.choice(_COMMON, shape, p=frequency / frequency.sum())
    own = np.array([topic_words(topic) for topic in range(len(TOPICS))])[
        labels[:, None], draws.integers(_OWN, size=shape)
    ]
    tokens = np.where(draws.random(shape) < topical, own, common) + FIRST_WORD
    kept = np.arange(length) < draws.integers((length + 1) // 2, length + 1, (len(labels), 1))
    return np.where(kept, tokens, 0).astype(np.int32), labels


def topic_words(topic: int) -> list[int]:
    """The words of a topic, counted after the common ones; the first half of them is its pair's.

    >>> sorted({*topic_words(0)} & {*topic_words(1)})
    [200, 201, 202, 203]
    """
    half, pair = _OWN // 2, _COMMON + (topic // 2) * 3 * (_OWN // 2)
    return [*range(pair, pair + half), *range(pair + half * (1 + topic % 2), pair + half * (2 + topic % 2))]


def _vocabulary() -> Vocabulary:
    """Names of the words: ordinary ones first, so that a header line can be written with them."""
    common = dict.fromkeys(_HEADER)
    words = [*common, *(f"word{number}" for number in range(len(common), _COMMON))]
    own = [f"term{number}" for number in range(len(TOPICS) // 2 * 3 * (_OWN // 2))]
    return Vocabulary((*words, *own))
