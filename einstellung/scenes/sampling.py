"""Exact sampling of scenes: uniform over all tuples of objects that satisfy the predicate of a class, without rejection.

The scenes of a class are numbered in a fixed order, and a scene is drawn by drawing its number (rank). A rank is decoded object
by object: the number of completions after an object depends only on the patterns matched so far, and is computed backwards from
the last object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError
from einstellung.registry import suggestion
from einstellung.scenes.attributes import KINDS, Codes
from einstellung.scenes.predicates import VARIANTS, class_predicates
from einstellung.scenes.rule_book import N_PLACES, Masks, RuleBook

__all__ = ["SPLITS", "VARIANTS", "ClassDistribution", "class_distribution", "draw_attributes", "scene_generator"]

SPLITS = ("train", "val", "test")

Ranks = npt.NDArray[np.int64]


def scene_generator(seed: int, variant: str, split: str, task: int, label: int, number: int) -> np.random.Generator:
    """The generator of a single scene, so that a scene depends neither on others nor on their number.

    >>> one, again = (scene_generator(0, "strict", "train", 0, 1, 7) for _ in range(2))
    >>> one.random() == again.random()
    True
    """
    if seed < 0:
        raise InputError(f"seed is {seed}: give 0 or more")
    for kind, name, known in (("variant", variant, VARIANTS), ("split", split, SPLITS)):
        if name not in known:
            raise InputError(f"unknown {kind} '{name}': {suggestion(name, known)}")
    address = (VARIANTS.index(variant), SPLITS.index(split), task, label, number)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=address)))


def draw_attributes(
    book: RuleBook, variant: str, task: int, label: int, generators: Sequence[np.random.Generator]
) -> tuple[Codes, Codes | None]:
    """Draw one scene per generator: codes [N, K, 4], and places [N, K] if the rules distinguish them.

    >>> from einstellung.scenes.rule_book import PAPER_RULES
    >>> generators = [scene_generator(0, "strict", "test", 0, 1, number) for number in range(5)]
    >>> attributes, places = draw_attributes(PAPER_RULES, "strict", 0, 1, generators)
    >>> PAPER_RULES.truths(attributes)[:, :2].all()  # sphere and small cube, and blue
    np.True_
    """
    distribution = class_distribution(book, variant, task, label)
    ranks = np.fromiter(
        (generator.integers(distribution.size) for generator in generators), dtype=np.int64, count=len(generators)
    )
    return distribution.scenes(ranks)


@dataclass(frozen=True)
class _Step:
    """The choice of one object: rows are states (patterns matched so far), columns the distinct signatures.

    ``ways``: completions after one object of that signature. ``before``: scenes ranked before those with that signature.
    ``onward``: the row of the resulting state in the next step.
    """

    ways: Ranks
    before: Ranks
    onward: npt.NDArray[np.intp]


@dataclass(frozen=True)
class ClassDistribution:
    """The uniform distribution over all scenes of a class, ranked from 0 to ``size`` - 1."""

    size: int
    steps: tuple[_Step, ...]
    kinds: npt.NDArray[np.intp]  # grouped by signature
    starts: npt.NDArray[np.intp]  # start of each signature's group
    uses_places: bool

    def scenes(self, ranks: Ranks) -> tuple[Codes, Codes | None]:
        """Decode ranks to scenes."""
        state, remaining = np.zeros(len(ranks), dtype=np.intp), np.asarray(ranks)
        chosen = np.empty((len(ranks), len(self.steps)), dtype=np.int64)
        for place, step in enumerate(self.steps):
            # The last signature that starts at or before the rank; one without completions starts where the next one does.
            signature = (step.before[state] <= remaining[:, None]).sum(axis=1) - 1
            remaining = remaining - step.before[state, signature]
            kind, remaining = np.divmod(remaining, step.ways[state, signature])
            chosen[:, place] = self.kinds[self.starts[signature] + kind]
            state = step.onward[state, signature]
        if not self.uses_places:
            return KINDS[chosen], None
        return KINDS[chosen // N_PLACES], (chosen % N_PLACES).astype(np.uint8)


@lru_cache(maxsize=64)
def class_distribution(book: RuleBook, variant: str, task: int, label: int) -> ClassDistribution:
    """The distribution of one class of a task; a class without scenes is an error.

    >>> from einstellung.scenes.rule_book import PAPER_RULES
    >>> sum(class_distribution(PAPER_RULES, "unconfounded", 0, label).size for label in (0, 1)) == 96**4
    True
    """
    if label not in (0, 1):
        raise InputError(f"label is {label}: give 1 (positive) or 0 (negative)")
    predicate = class_predicates(book, variant, task)[1 - label]
    signatures, numbers = np.unique(book.signatures, return_counts=True)
    states: list[Masks] = [np.zeros(1, dtype=np.int64)]
    for _ in range(book.objects):
        states.append(np.unique(states[-1][:, None] | signatures))
    ways = predicate.holds(states[-1]).astype(np.int64)
    steps: list[_Step] = []
    for now, then in zip(states[-2::-1], states[:0:-1], strict=True):
        onward = np.searchsorted(then, now[:, None] | signatures)
        after = ways[onward]
        sums = np.cumsum(after * numbers, axis=1)
        steps.insert(0, _Step(after, sums - after * numbers, onward))
        ways = sums[:, -1]
    size = int(ways[0])
    if size == 0:
        which = "positives" if label else "negatives"
        raise InputError(
            f"the {variant} set of task {task} has no {which}: no scene of {book.objects} objects is '{predicate.words}'; "
            "change the rules, or remove this variant"
        )
    kinds = np.argsort(book.signatures, kind="stable")
    return ClassDistribution(size, tuple(steps), kinds, np.cumsum(numbers) - numbers, book.uses_places)
