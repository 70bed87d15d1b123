"""The page of a family of studies: of confounded tasks, or of several shortcuts; a page shows studies of one kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.metrics.confounding import KIND as CONFOUNDING
from einstellung.metrics.confounding_splits import are_confounding
from einstellung.metrics.shortcuts import KIND as SHORTCUTS
from einstellung.metrics.shortcuts_splits import are_shortcuts
from einstellung.report import confounding_family, shortcuts_family
from einstellung.report.family_page import Cards, finished_timelines

_IN_WORDS = {CONFOUNDING: "confounded tasks", SHORTCUTS: "several shortcuts"}


def kind_of(splits: Iterable[str]) -> str | None:
    """The kind of the card of a study that is measured on these splits; None for the rigidity index, which has no kind.

    >>> kind_of(["T1_val", "group_0_11"]), kind_of(["T1_positive"]), kind_of(["T1_all", "T2_val"])
    ('shortcuts', 'confounding', None)
    """
    names = list(splits)
    if are_confounding(names):
        return CONFOUNDING
    return SHORTCUTS if are_shortcuts(names) else None


def in_words(kind: str) -> str:
    """What studies of a kind are about."""
    return _IN_WORDS[kind]


def family_kind(splits: Mapping[str, Iterable[str]]) -> str:
    """The kind that all studies have, by name the splits that each is measured on; another kind, or two kinds, are refused.

    >>> family_kind({"switch": ["group_0_11"], "plain": ["T1_all"]})
    Traceback (most recent call last):
    einstellung.errors.InputError: study plain is neither of confounded tasks nor of several shortcuts, and only such studies \
have a page together: run it by itself
    """
    kinds = {name: kind_of(found) for name, found in splits.items()}
    first: tuple[str, str] | None = None
    for name, kind in kinds.items():
        if kind is None:
            raise InputError(
                f"study {name} is neither of {' nor of '.join(_IN_WORDS.values())}, and only such studies have a page "
                "together: run it by itself"
            )
        first = first or (name, kind)
        if kind != first[1]:
            raise InputError(
                f"study {first[0]} is of {_IN_WORDS[first[1]]} and study {name} of {_IN_WORDS[kind]}: a family is of one "
                "kind; put them into configurations and folders of their own"
            )
    assert first is not None, "a family has studies"
    return first[1]


def report_family(root: Path, names: Sequence[str]) -> tuple[dict[str, dict[str, Any]], Path]:
    """Report every study of a family that has finished runs, then the family; the cards by name, and the page's path."""
    timelines = finished_timelines(root, names)
    if family_kind({name: timeline.splits for name, timeline in timelines.items()}) == CONFOUNDING:
        return confounding_family.report_family(root, names)
    return shortcuts_family.report_family(root, names)


def family_answer(cards: Cards) -> list[str]:
    """The answer of a family in words, for its page and for the terminal."""
    kind = next(iter(cards.values()))["kind"]
    return confounding_family.family_answer(cards) if kind == CONFOUNDING else shortcuts_family.family_answer(cards)
