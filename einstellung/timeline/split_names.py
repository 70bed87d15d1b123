"""Which known split a misspelt name means."""

from __future__ import annotations

import difflib
import re

from einstellung.timeline.schema import KNOWN_SPLITS


def meant_split(split: str) -> str | None:
    """The known split that this misspells. Compared word by word: T2_nonshortcut_masked is a split of its own."""
    words = re.split(r"[_\-. ]+", split.lower())
    for known in KNOWN_SPLITS:
        pairs = list(zip(words, known.lower().split("_"), strict=False))
        if len(words) == len(pairs) == known.count("_") + 1 and all(_alike(*pair) for pair in pairs):
            return known
    return None


def _alike(word: str, known: str) -> bool:
    if word == known:
        return True
    phase = re.fullmatch(r"t\d+", known) is not None
    negated = word.startswith("non") != known.startswith("non")
    return not phase and not negated and difflib.SequenceMatcher(None, word, known).ratio() >= 0.75
