"""Rules about scenes: the ground truth, and one confounder per task."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError
from einstellung.files import digest
from einstellung.registry import suggestion
from einstellung.scenes.attributes import ATTRIBUTES, COLUMNS, KINDS, Codes, kind_numbers

Bools = npt.NDArray[np.bool_]
Masks = npt.NDArray[np.int64]

# Places as seen by the camera. The code is side + 2 * depth: 0 left-front, 1 right-front, 2 left-back, 3 right-back.
PLACES = {"side": ("left", "right"), "depth": ("front", "back")}
N_PLACES = 4

MOST_PATTERNS = 20  # time and memory of counting double with every pattern
_INT64_LIMIT = 2**63  # scenes are counted and numbered in 64-bit integers


@dataclass(frozen=True)
class ObjectPattern:
    """What one object must be; an empty string leaves an attribute free.

    >>> ObjectPattern(shape="cube", size="small").words
    'small cube'
    >>> ObjectPattern(color="bleu")
    Traceback (most recent call last):
    einstellung.errors.InputError: color is 'bleu': did you mean 'blue'?
    """

    shape: str = ""
    size: str = ""
    material: str = ""
    color: str = ""
    side: str = ""
    depth: str = ""

    def __post_init__(self) -> None:
        for name, known in (ATTRIBUTES | PLACES).items():
            value = getattr(self, name)
            if value and value not in known:
                raise InputError(f"{name} is {value!r}: {suggestion(str(value), known)}")
        if not self.to_dict():
            raise InputError("a pattern without attributes matches every object; give it an attribute")

    @property
    def words(self) -> str:
        what = " ".join(word for word in (self.size, self.color, self.material, self.shape) if word) or "object"
        where = [f"on the {self.side}"] * bool(self.side) + [f"at the {self.depth}"] * bool(self.depth)
        return " ".join([what, *where])

    def matches(self, attributes: Codes, places: Codes | None) -> Bools:
        """Which objects [..., 4] at these places [...] match; ``places`` is needed only if the pattern constrains them."""
        matched = np.ones(attributes.shape[:-1], dtype=bool)
        for column, name in enumerate(COLUMNS):
            if value := getattr(self, name):
                matched &= attributes[..., column] == ATTRIBUTES[name].index(value)
        for step, (name, known) in enumerate(PLACES.items()):
            if value := getattr(self, name):
                if places is None:
                    raise InputError(f"the rule '{self.words}' constrains places, but these scenes have none")
                matched &= (places >> step) & 1 == known.index(value)
        return matched

    def to_dict(self) -> dict[str, str]:
        """The attributes that are not free."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name))}


Rule = tuple[ObjectPattern, ...]  # holds if every pattern is matched by some object; one object may match several


def rule_words(rule: Rule) -> str:
    """A rule in words.

    >>> rule_words((ObjectPattern(shape="sphere"), ObjectPattern(shape="cube", size="small")))
    'sphere and small cube'
    """
    return " and ".join(pattern.words for pattern in rule)


@dataclass(frozen=True)
class RuleBook:
    """The ground truth shared by all tasks, the confounder of each task, and the number of objects per scene.

    Whether a rule holds depends only on which patterns the scene matches. A scene's mask has one bit per pattern of
    :attr:`patterns` and is the bitwise OR of its objects' signatures.

    >>> book = RuleBook((ObjectPattern(shape="sphere"),), ((ObjectPattern(color="blue"),),), objects=2)
    >>> scene = np.array([[[1, 0, 0, 0], [0, 1, 0, 2]]], dtype=np.uint8)  # a gray sphere and a blue cube
    >>> book.truths(scene).tolist()
    [[True, True]]
    """

    ground_truth: Rule
    confounders: tuple[Rule, ...]
    objects: int = 4

    def __post_init__(self) -> None:
        if not self.ground_truth:
            raise InputError("the ground truth is empty; give it one or more patterns")
        if not self.confounders:
            raise InputError("there are no confounders; give one for every task")
        for task, rule in enumerate(self.confounders):
            if not rule:
                raise InputError(f"the confounder of task {task} is empty; give it one or more patterns")
        if len(self.patterns) > MOST_PATTERNS:
            raise InputError(
                f"the rules have {len(self.patterns)} different patterns; at most {MOST_PATTERNS} are supported"
            )
        most = next(number for number in range(1, 64) if self.n_kinds ** (number + 1) >= _INT64_LIMIT)
        if not 1 <= self.objects <= most:
            raise InputError(f"objects is {self.objects}: give 1 to {most} with these rules")

    @property
    def tasks(self) -> int:
        return len(self.confounders)

    @cached_property
    def patterns(self) -> tuple[ObjectPattern, ...]:
        """The distinct patterns in order of first use; the index of a pattern is its bit in a mask."""
        return tuple(dict.fromkeys(pattern for rule in (self.ground_truth, *self.confounders) for pattern in rule))

    @cached_property
    def uses_places(self) -> bool:
        return any(pattern.side or pattern.depth for pattern in self.patterns)

    @property
    def n_kinds(self) -> int:
        """The number of kinds of objects: 96, or 384 if the rules distinguish places."""
        return len(KINDS) * (N_PLACES if self.uses_places else 1)

    @cached_property
    def signatures(self) -> Masks:
        """The mask of patterns that each kind of object matches; with places, indexed by kind * 4 + place."""
        places = np.tile(np.arange(N_PLACES, dtype=np.uint8), len(KINDS)) if self.uses_places else None
        kinds = np.repeat(KINDS, N_PLACES, axis=0) if self.uses_places else KINDS
        found = np.zeros(len(kinds), dtype=np.int64)
        for bit, pattern in enumerate(self.patterns):
            found |= pattern.matches(kinds, places).astype(np.int64) << bit
        return found

    def mask_of(self, rule: Rule) -> int:
        """The bits a scene's mask needs for ``rule`` to hold."""
        return sum(1 << self.patterns.index(pattern) for pattern in dict.fromkeys(rule))

    def masks(self, attributes: Codes, places: Codes | None = None) -> Masks:
        """The mask of every scene, from codes [N, K, 4] and, if the rules use them, places [N, K]."""
        numbers = kind_numbers(attributes)
        if self.uses_places:
            if places is None:
                raise InputError("the rules constrain places (left, right, front, back), but these scenes have none")
            numbers = numbers * N_PLACES + places
        return np.asarray(np.bitwise_or.reduce(self.signatures[numbers], axis=-1))

    def truths(self, attributes: Codes, places: Codes | None = None) -> Bools:
        """Whether g, c_1, ..., c_T hold in every scene: [N, 1 + T]."""
        masks = self.masks(attributes, places)
        needed = np.array([self.mask_of(rule) for rule in (self.ground_truth, *self.confounders)])
        return np.asarray(masks[:, None] & needed == needed)

    def ground_truth_words(self) -> str:
        return rule_words(self.ground_truth)

    def confounder_words(self, task: int) -> str:
        return rule_words(self.confounders[task])

    def to_dict(self) -> dict[str, Any]:
        """The rules in our own file format."""
        return {
            "ground_truth": [pattern.to_dict() for pattern in self.ground_truth],
            "confounders": [[pattern.to_dict() for pattern in rule] for rule in self.confounders],
            "objects": self.objects,
        }


def rules_digest(book: RuleBook) -> str:
    """A short hash of the rules, for cache keys and records.

    >>> rules_digest(PAPER_RULES) == rules_digest(RuleBook(PAPER_RULES.ground_truth, PAPER_RULES.confounders))
    True
    """
    return digest(book.to_dict())


PAPER_RULES = RuleBook(
    ground_truth=(ObjectPattern(shape="sphere"), ObjectPattern(shape="cube", size="small")),
    confounders=((ObjectPattern(color="blue"),), (ObjectPattern(material="metal"),), (ObjectPattern(size="large"),)),
)
