"""Which splits are known, and which of them a misspelt name means; in a stream of many phases, those of every phase."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from einstellung.timeline.schema import KNOWN_SPLITS


def as_second_phase(split: str, phase: str) -> str | None:
    """A phase's own split under the name that it has where the phase is T2; None for a split of another phase.

    >>> as_second_phase("night_val", "night"), as_second_phase("T3_val", "T2")
    ('T2_val', None)
    """
    return f"T2_{split.removeprefix(phase)[1:]}" if split.startswith(f"{phase}_") else None


def is_known(split: str, phases: Iterable[str] = ()) -> bool:
    """Whether a split is one that the index reads, of T1 and T2 or of any of the given phases."""
    return split in KNOWN_SPLITS or any(
        split == f"{phase}_all" or as_second_phase(split, phase) in KNOWN_SPLITS for phase in phases
    )


def meant_split(split: str, phases: Iterable[str] = ()) -> str | None:
    """The known split that this misspells. Compared word by word: T2_nonshortcut_masked is a split of its own.

    >>> meant_split("T2_shortcut_nromal"), meant_split("night_shortcut_nromal", ["night"])
    ('T2_shortcut_normal', 'night_shortcut_normal')
    """
    for phase in phases:
        own = as_second_phase(split, phase)
        if own is not None and (meant := meant_split(own)) is not None:
            return f"{phase}{meant.removeprefix('T2')}"
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
