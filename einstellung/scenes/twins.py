"""Counterfactual twins: the same scene with its confounder taken away, or put in, and nothing else changed.

Candidates are drawn at random, and the first that keeps every promise is the twin: the truth of the ground truth as it was,
that of the confounder the other way round, those of the other confounders as they were where that is possible. So a twin is
drawn evenly from all that keep the promises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from einstellung.scenes.attributes import ATTRIBUTES, COLUMNS, Codes
from einstellung.scenes.rules import Pattern, RuleBook

Rows = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Fits = Callable[[Rows, Codes], Bools]  # whether scenes with these rows' layout and these attributes can be shown

_DRAWS = 64  # candidates of each scene and pattern: of four objects, one is never drawn in one scene of 10^8
_NO, _GOOD, _BEST = (
    0,
    1,
    2,
)  # a candidate that is none, one that changes another task's confounder too, one that does not


@dataclass(frozen=True)
class Twins:
    """The twins' attributes [M, K, 4] and the rows of their originals, in order; how many others have none, and why.

    ``wrong_start`` of the originals had the confounder already as it should become, ``no_candidate`` cannot change it without
    changing the truth of the ground truth, too, ``no_room`` could, but the objects would touch or hide each other.
    ``others_changed`` of the twins differ from their original in another task's confounder as well.
    """

    rows: Rows
    attributes: Codes
    wrong_start: int
    no_candidate: int
    no_room: int
    others_changed: int


def without_confounder(
    book: RuleBook,
    task: int,
    attributes: Codes,
    generators: Sequence[np.random.Generator],
    places: Codes | None = None,
    fits: Fits | None = None,
) -> Twins:
    """Twins of scenes that obey the task's confounder: every object that bears it gets another value, evenly drawn.

    Of a confounder with several patterns, the first that can be broken is broken; of a pattern with several attributes, the
    last is changed.

    >>> from einstellung.scenes.rules import PAPER_RULES
    >>> scene = np.array([[[1, 0, 0, 2], [0, 0, 0, 2], [2, 0, 1, 5], [2, 1, 0, 0]]], dtype=np.uint8)  # two blue objects
    >>> twins = without_confounder(PAPER_RULES, 0, scene, [np.random.default_rng(0)])
    >>> (twins.attributes != scene).any(axis=(0, 1)).tolist(), (twins.attributes != scene).any(axis=2).tolist()
    ([False, False, False, True], [[True, True, False, False]])
    """
    draws = _uniforms(generators, (len(book.confounders[task]), _DRAWS, attributes.shape[1]))
    parts = [
        _broken(pattern, attributes, draws[:, number], places) for number, pattern in enumerate(book.confounders[task])
    ]
    return _chosen(book, task, attributes, places, np.concatenate(parts, axis=1), fits, becomes=False)


def with_confounder(
    book: RuleBook,
    task: int,
    attributes: Codes,
    generators: Sequence[np.random.Generator],
    places: Codes | None = None,
    fits: Fits | None = None,
) -> Twins:
    """Twins of scenes that do not obey the task's confounder: an object, evenly drawn from those nearest to it, now bears it.

    Nearest are the objects of which fewest attributes must change. Each pattern that no object matches gets its own draw.

    >>> from einstellung.scenes.rules import PAPER_RULES
    >>> scene = np.array([[[1, 0, 0, 1], [1, 0, 0, 3], [2, 0, 1, 5], [2, 1, 0, 0]]], dtype=np.uint8)  # nothing blue
    >>> twins = with_confounder(PAPER_RULES, 0, scene, [np.random.default_rng(0)])
    >>> int((twins.attributes != scene).sum()), int((twins.attributes[..., 3] == 2).sum())
    (1, 1)
    """
    count, objects = attributes.shape[:2]
    draws = _uniforms(generators, (len(book.confounders[task]), _DRAWS, objects))
    changed = np.repeat(attributes[:, None], _DRAWS, axis=1)
    where = None if places is None else np.repeat(places[:, None], _DRAWS, axis=1)
    for number, pattern in enumerate(book.confounders[task]):
        _made_to_match(pattern, changed, draws[:, number], where)
    return _chosen(book, task, attributes, places, changed.reshape(count, _DRAWS, objects, -1), fits, becomes=True)


def _uniforms(generators: Sequence[np.random.Generator], shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    drawn = np.empty((len(generators), *shape))
    for row, generator in enumerate(generators):
        generator.random(out=drawn[row])
    return drawn


def _constrained(pattern: Pattern) -> dict[int, int]:
    """The codes that a pattern asks for, by column."""
    given = {column: getattr(pattern, name) for column, name in enumerate(COLUMNS)}
    return {column: ATTRIBUTES[COLUMNS[column]].index(value) for column, value in given.items() if value}


def _broken(pattern: Pattern, attributes: Codes, draws: npt.NDArray[np.float64], places: Codes | None) -> Codes:
    """Candidates [N, D, K, 4] in which no object matches the pattern; unchanged where it speaks of places alone."""
    changed = np.repeat(attributes[:, None], draws.shape[1], axis=1)
    if wanted := _constrained(pattern):
        column, code = list(wanted.items())[-1]
        values = len(ATTRIBUTES[COLUMNS[column]])
        others = (code + 1 + (draws * (values - 1)).astype(np.int64)) % values
        bears = pattern.matches(attributes, places)[:, None]
        changed[..., column] = np.where(bears, others, changed[..., column])
    return changed


def _made_to_match(pattern: Pattern, changed: Codes, draws: npt.NDArray[np.float64], places: Codes | None) -> None:
    """In candidates [N, D, K, 4] where no object matches the pattern, the drawn one of the nearest objects does from now on."""
    wanted = _constrained(pattern)
    missing = sum((changed[..., column] != code).astype(np.int64) for column, code in wanted.items())
    missing = np.broadcast_to(missing, changed.shape[:-1])
    if pattern.side or pattern.depth:  # where an object stands is not changed
        there = Pattern(side=pattern.side, depth=pattern.depth).matches(changed, places)
        missing = np.where(there, missing, len(COLUMNS) + 1)
    nearest = missing.min(axis=-1, keepdims=True)
    chosen = np.where(missing == nearest, draws, -1.0).argmax(axis=-1)
    changes = (nearest[..., 0] > 0) & (nearest[..., 0] <= len(COLUMNS))
    first, second = np.nonzero(changes)
    for column, code in wanted.items():
        changed[first, second, chosen[changes], column] = code


def _chosen(
    book: RuleBook,
    task: int,
    attributes: Codes,
    places: Codes | None,
    candidates: Codes,
    fits: Fits | None,
    becomes: bool,
) -> Twins:
    """The first of each scene's best candidates [N, D, K, 4] that fits."""
    truths = book.truths(attributes, places)
    start = truths[:, 1 + task] != becomes
    worth = _worth(book, task, truths, candidates, places, becomes)
    worth[~start] = _NO
    possible = worth.any(axis=1)
    found = np.full(len(attributes), -1)
    open_ = np.flatnonzero(possible)
    while len(open_):
        picked = worth[open_].argmax(axis=1)
        tried = candidates[open_, picked]
        good = np.ones(len(open_), dtype=bool) if fits is None else fits(open_, tried)
        found[open_[good]] = picked[good]
        failed = open_[~good]
        alike = (candidates[failed] == tried[~good][:, None]).all(axis=(2, 3))
        worth[failed] = np.where(alike, _NO, worth[failed])
        open_ = failed[worth[failed].any(axis=1)]
    rows = np.flatnonzero(found >= 0)
    return Twins(
        rows,
        candidates[rows, found[rows]],
        wrong_start=int((~start).sum()),
        no_candidate=int((start & ~possible).sum()),
        no_room=int((possible & (found < 0)).sum()),
        others_changed=int((worth[rows, found[rows]] == _GOOD).sum()),
    )


def _worth(
    book: RuleBook, task: int, truths: Bools, candidates: Codes, places: Codes | None, becomes: bool
) -> npt.NDArray[np.int64]:
    count, draws, objects, columns = candidates.shape
    where = None if places is None else np.repeat(places, draws, axis=0)
    new = book.truths(candidates.reshape(-1, objects, columns), where).reshape(count, draws, -1)
    keeps = new == truths[:, None]
    good = keeps[..., 0] & (new[..., 1 + task] == becomes)
    others = np.delete(keeps, [0, 1 + task], axis=-1).all(axis=-1)
    return np.where(good, np.where(others, _BEST, _GOOD), _NO)
