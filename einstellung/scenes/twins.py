"""Counterfactual twins: the same scene with its confounder removed or inserted, and nothing else changed.

Candidates are drawn at random and the first valid one is the twin: the ground truth keeps its value, the confounder's value is
flipped, and the other confounders keep theirs if possible. So twins are uniformly distributed over all valid candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from einstellung.scenes.attributes import ATTRIBUTES, COLUMNS, Codes
from einstellung.scenes.rules import ObjectPattern, RuleBook

Rows = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Fits = Callable[[Rows, Codes], Bools]  # whether scenes with the layout of these rows and these attributes are valid

_DRAWS = 64  # candidates per scene and pattern: one of four objects is never drawn in 1 of 10^8 scenes
_INVALID, _VALID, _BEST = 0, 1, 2  # _VALID changes another task's confounder as well, _BEST does not


@dataclass(frozen=True)
class Twins:
    """The twins' attributes [M, K, 4], the sorted rows of their originals, and counts of originals without a twin.

    ``wrong_start``: the confounder already had the value it should get. ``no_candidate``: every change would flip the ground
    truth as well. ``no_room``: objects would touch or hide each other. ``others_changed`` counts twins that differ from their
    original in another task's confounder as well.
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
    """Twins of scenes with the task's confounder: every object that has it gets another value, uniformly drawn.

    If the confounder has several patterns, the first that can be removed is; if a pattern has several attributes, the last is
    changed.

    >>> from einstellung.scenes.rules import PAPER_RULES
    >>> scene = np.array([[[1, 0, 0, 2], [0, 0, 0, 2], [2, 0, 1, 5], [2, 1, 0, 0]]], dtype=np.uint8)  # two blue objects
    >>> twins = without_confounder(PAPER_RULES, 0, scene, [np.random.default_rng(0)])
    >>> (twins.attributes != scene).any(axis=(0, 1)).tolist(), (twins.attributes != scene).any(axis=2).tolist()
    ([False, False, False, True], [[True, True, False, False]])
    """
    draws = _uniforms(generators, (len(book.confounders[task]), _DRAWS, attributes.shape[1]))
    parts = [
        _remove_pattern(pattern, attributes, draws[:, number], places)
        for number, pattern in enumerate(book.confounders[task])
    ]
    return _choose_twins(book, task, attributes, places, np.concatenate(parts, axis=1), fits, target=False)


def with_confounder(
    book: RuleBook,
    task: int,
    attributes: Codes,
    generators: Sequence[np.random.Generator],
    places: Codes | None = None,
    fits: Fits | None = None,
) -> Twins:
    """Twins of scenes without the task's confounder: one object, uniformly drawn from the nearest, gets it.

    Nearest are the objects with the fewest attributes to change. Each unmatched pattern gets its own draw.

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
        _insert_pattern(pattern, changed, draws[:, number], where)
    return _choose_twins(book, task, attributes, places, changed.reshape(count, _DRAWS, objects, -1), fits, target=True)


def _uniforms(generators: Sequence[np.random.Generator], shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    drawn = np.empty((len(generators), *shape))
    for row, generator in enumerate(generators):
        generator.random(out=drawn[row])
    return drawn


def _required_codes(pattern: ObjectPattern) -> dict[int, int]:
    """The codes that a pattern requires, by column."""
    given = {column: getattr(pattern, name) for column, name in enumerate(COLUMNS)}
    return {column: ATTRIBUTES[COLUMNS[column]].index(value) for column, value in given.items() if value}


def _remove_pattern(
    pattern: ObjectPattern, attributes: Codes, draws: npt.NDArray[np.float64], places: Codes | None
) -> Codes:
    """Candidates [N, D, K, 4] in which no object matches the pattern; unchanged if it constrains places only."""
    changed = np.repeat(attributes[:, None], draws.shape[1], axis=1)
    if required := _required_codes(pattern):
        column, code = list(required.items())[-1]
        values = len(ATTRIBUTES[COLUMNS[column]])
        others = (code + 1 + (draws * (values - 1)).astype(np.int64)) % values
        has_confounder = pattern.matches(attributes, places)[:, None]
        changed[..., column] = np.where(has_confounder, others, changed[..., column])
    return changed


def _insert_pattern(
    pattern: ObjectPattern, changed: Codes, draws: npt.NDArray[np.float64], places: Codes | None
) -> None:
    """Make the drawn one of the nearest objects match, in place, in candidates [N, D, K, 4] where none does."""
    required = _required_codes(pattern)
    missing = sum((changed[..., column] != code).astype(np.int64) for column, code in required.items())
    missing = np.broadcast_to(missing, changed.shape[:-1])
    if pattern.side or pattern.depth:  # positions are not changed
        there = ObjectPattern(side=pattern.side, depth=pattern.depth).matches(changed, places)
        missing = np.where(there, missing, len(COLUMNS) + 1)
    nearest = missing.min(axis=-1, keepdims=True)
    chosen = np.where(missing == nearest, draws, -1.0).argmax(axis=-1)
    changes = (nearest[..., 0] > 0) & (nearest[..., 0] <= len(COLUMNS))
    first, second = np.nonzero(changes)
    for column, code in required.items():
        changed[first, second, chosen[changes], column] = code


def _choose_twins(
    book: RuleBook,
    task: int,
    attributes: Codes,
    places: Codes | None,
    candidates: Codes,
    fits: Fits | None,
    target: bool,
) -> Twins:
    """The first of each scene's best candidates [N, D, K, 4] that fits."""
    truths = book.truths(attributes, places)
    eligible = truths[:, 1 + task] != target
    rank = _rank(book, task, truths, candidates, places, target)
    rank[~eligible] = _INVALID
    possible = rank.any(axis=1)
    found = np.full(len(attributes), -1)
    pending = np.flatnonzero(possible)
    while len(pending):
        picked = rank[pending].argmax(axis=1)
        tried = candidates[pending, picked]
        good = np.ones(len(pending), dtype=bool) if fits is None else fits(pending, tried)
        found[pending[good]] = picked[good]
        failed = pending[~good]
        identical = (candidates[failed] == tried[~good][:, None]).all(axis=(2, 3))
        rank[failed] = np.where(identical, _INVALID, rank[failed])
        pending = failed[rank[failed].any(axis=1)]
    rows = np.flatnonzero(found >= 0)
    return Twins(
        rows,
        candidates[rows, found[rows]],
        wrong_start=int((~eligible).sum()),
        no_candidate=int((eligible & ~possible).sum()),
        no_room=int((possible & (found < 0)).sum()),
        others_changed=int((rank[rows, found[rows]] == _VALID).sum()),
    )


def _rank(
    book: RuleBook, task: int, truths: Bools, candidates: Codes, places: Codes | None, target: bool
) -> npt.NDArray[np.int64]:
    count, draws, objects, columns = candidates.shape
    where = None if places is None else np.repeat(places, draws, axis=0)
    new = book.truths(candidates.reshape(-1, objects, columns), where).reshape(count, draws, -1)
    keeps = new == truths[:, None]
    good = keeps[..., 0] & (new[..., 1 + task] == target)
    others = np.delete(keeps, [0, 1 + task], axis=-1).all(axis=-1)
    return np.where(good, np.where(others, _BEST, _VALID), _INVALID)
