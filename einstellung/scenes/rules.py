"""Read rules from files: the published pair of JSON files, or a single JSON or YAML file.

The published pair maps task numbers to lists of patterns: the ground truth in ``IF-gt.json``, the confounders in
``IF-conf.json``; an empty string leaves an attribute free. Our own format is one file::

    ground_truth: [{shape: sphere}, {shape: cube, size: small}]
    confounders: [[{color: blue}], [{material: metal}], [{size: large}]]
    objects: 4
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.foreign_files import read_text
from einstellung.registry import suggestion
from einstellung.scenes.counting import mask_counts
from einstellung.scenes.predicates import confounders, ground_truth
from einstellung.scenes.rule_book import PAPER_RULES, ObjectPattern, Rule, RuleBook, rule_words, rules_digest

__all__ = [
    "PAPER_RULES",
    "ObjectPattern",
    "Rule",
    "RuleBook",
    "check_rules",
    "read_rules",
    "rule_words",
    "rules_digest",
    "rules_in",
]

_MOST_BYTES = 2**20
_KEYS = ("ground_truth", "confounders", "objects")
_ATTRIBUTES = tuple(field.name for field in fields(ObjectPattern))
_OBJECTS = RuleBook.objects  # default of a file
_PAIR_SUFFIXES = ("gt", "conf")  # file name endings of the published pair


def read_rules(path: Path | None) -> RuleBook:
    """The rules in a file, in a published pair (its folder, or one of the two files), or the paper's (``None``).

    >>> read_rules(None).confounder_words(1)
    'metal'
    """
    if path is None:
        return PAPER_RULES
    try:
        if path.is_dir():
            path = _pair_in(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    data = _read(path)
    if isinstance(data, Mapping) and data and all(str(key).isdigit() for key in data):
        truth_file, confounder_file = _pair_files(path)
        truths, rules = _published(truth_file), _published(confounder_file)
        truth = _shared_ground_truth(truth_file, truths)
        if len(truths) != len(rules):
            raise InputError(
                f"{truth_file} has {len(truths)} tasks, {confounder_file.name} has {len(rules)}: a task is missing"
            )
        book = _book(path, truth, rules, _OBJECTS)
        check_rules(book, str(path))
        return book
    return rules_in(path, data)


def rules_in(path: Path, data: Any) -> RuleBook:
    """The rules in ``data`` in our own format; ``path`` is the file named in error messages."""
    if not isinstance(data, Mapping):
        raise InputError(f"{path} must hold 'ground_truth' and 'confounders', not a {type(data).__name__}")
    book = _own_format(path, data)
    check_rules(book, str(path))
    return book


def check_rules(book: RuleBook, where: str) -> None:
    """Refuse a rule that holds in no scene, or in every scene."""
    counted = mask_counts(book)
    for predicate in (ground_truth(book), *confounders(book)):
        number = counted.number(predicate.holds(counted.masks))
        if number in (0, counted.total):
            how = "is a contradiction: no scene" if number == 0 else "is a tautology: every scene"
            raise InputError(
                f"{where}: {predicate.formula} ({predicate.words}) {how} of {book.objects} objects satisfies it"
            )


def _own_format(path: Path, data: Mapping[Any, Any]) -> RuleBook:
    for key in data:
        if key not in _KEYS:
            raise InputError(f"{path}: unknown key '{key}': {suggestion(str(key), _KEYS)}")
    for key in _KEYS[:2]:
        if key not in data:
            raise InputError(f"{path}: '{key}' is missing; a file of rules has 'ground_truth' and 'confounders'")
    if not isinstance(data["confounders"], list):
        raise InputError(f"{path}: confounders must be a list with a list of patterns for every task")
    rules = [_rule(path, f"confounders[{number}]", one) for number, one in enumerate(data["confounders"])]
    objects = data.get("objects", _OBJECTS)
    if isinstance(objects, bool) or not isinstance(objects, int):
        raise InputError(f"{path}: objects is {objects!r}: it must be an integer")
    return _book(path, _rule(path, "ground_truth", data["ground_truth"]), rules, objects)


def _book(path: Path, truth: Rule, rules: list[Rule], objects: int) -> RuleBook:
    try:
        return RuleBook(truth, tuple(rules), objects)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _rule(path: Path, key: str, data: Any) -> Rule:
    if not isinstance(data, list):
        raise InputError(f"{path}: {key} must be a list of patterns such as {{shape: sphere}}, not {data!r}")
    if not data:
        raise InputError(f"{path}: {key} is empty; give it one or more patterns such as {{shape: sphere}}")
    return tuple(_pattern(path, f"{key}[{number}]", one) for number, one in enumerate(data))


def _pattern(path: Path, key: str, data: Any) -> ObjectPattern:
    if not isinstance(data, Mapping):
        raise InputError(f"{path}: {key} must be a pattern such as {{shape: sphere}}, not {data!r}")
    for name, value in data.items():
        if name not in _ATTRIBUTES:
            raise InputError(f"{path}: {key} has an unknown attribute '{name}': {suggestion(str(name), _ATTRIBUTES)}")
        if not isinstance(value, str):
            raise InputError(f"{path}: {key}.{name} is {value!r}: it must be a string, '' for any")
    try:
        return ObjectPattern(**data)
    except InputError as error:
        raise InputError(f"{path}: {key}: {error}") from None


def _published(path: Path) -> list[Rule]:
    """The rules in one file of the pair, by task."""
    data = _read(path)
    by_task = {str(key): value for key, value in data.items()} if isinstance(data, Mapping) else {}
    if not by_task or any(str(number) not in by_task for number in range(len(by_task))):
        raise InputError(f"{path} must map task numbers, from '0', to lists of patterns")
    return [_rule(path, f"'{number}'", by_task[str(number)]) for number in range(len(by_task))]


def _shared_ground_truth(path: Path, rules: list[Rule]) -> Rule:
    for task, rule in enumerate(rules):
        if rule != rules[0]:
            raise InputError(
                f"{path}: task {task} has the ground truth '{rule_words(rule)}' and task 0 '{rule_words(rules[0])}'; "
                "all tasks must share one"
            )
    return rules[0]


def _pair_in(folder: Path) -> Path:
    found = sorted(folder.glob("*-gt.json"))
    if len(found) != 1:
        raise InputError(f"{folder} holds {len(found)} files named *-gt.json; give the file itself")
    return found[0]


def _pair_files(path: Path) -> tuple[Path, Path]:
    """The ground truth and confounder files of a published pair, given one of them."""
    for half, other in (_PAIR_SUFFIXES, _PAIR_SUFFIXES[::-1]):
        if path.stem.endswith(half):
            partner = path.with_name(path.stem.removesuffix(half) + other + path.suffix)
            if not partner.is_file():
                raise InputError(f"{path} is half of a pair and {partner} is missing; put both into one folder")
            return (path, partner) if half == "gt" else (partner, path)
    raise InputError(
        f"{path} holds rules by task: name the pair NAME-gt.json and NAME-conf.json, or write one file with "
        "'ground_truth' and 'confounders'"
    )


def _read(path: Path) -> Any:
    missing = f"no such file of rules: {path}"
    if path.suffix.lower() != ".json":
        from einstellung.yaml_text import read_yaml

        return read_yaml(path, missing)
    try:
        return json.loads(read_text(path, _MOST_BYTES, missing=missing))
    except (ValueError, RecursionError) as error:  # ValueError: also for numbers with too many digits
        raise InputError(f"{path} is not valid JSON: {error}") from None
