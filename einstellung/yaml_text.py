"""The one loader of YAML: plain values, no key twice, and limits on length, depth and aliases."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from yaml.composer import Composer
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import Resolver
from yaml.scanner import Scanner

from einstellung.errors import InputError
from einstellung.foreign_files import read_text

MOST_BYTES = 2**20
MOST_NODES = 20_000  # with every alias counted as often as it stands for something
MOST_LEVELS = 40
_LONGEST_NUMBER = 400  # longer ones cannot be printed, and no setting needs them
_PLAIN = ("null", "bool", "int", "float", "str", "seq", "map")
_TAG = "tag:yaml.org,2002:"


class _Refused(yaml.MarkedYAMLError):
    """The document is valid YAML, and not accepted."""


class _Limited(Composer, SafeConstructor, Resolver):
    """Composes with limits, and constructs plain values only; dates stay text."""

    yaml_implicit_resolvers: Any = {  # noqa: RUF012 (the base class declares it as that of an instance)
        first: [(tag, pattern) for tag, pattern in known if tag.removeprefix(_TAG) in (*_PLAIN, "merge")]
        for first, known in Resolver.yaml_implicit_resolvers.items()
    }

    if TYPE_CHECKING:  # of the parser beside it

        def peek_event(self) -> Any: ...

    def __init__(self) -> None:
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)
        self._level = self._nodes = 0
        self._sizes: dict[Node, int] = {}

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        event: Any = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            mark: Any = event.start_mark
            node = super().compose_node(parent, index)
            if node not in self._sizes:  # it is being composed
                raise _Refused(problem=f"'{event.anchor}' contains itself", problem_mark=mark)
            self._count(self._sizes[node], event)
            return node
        before = self._nodes
        self._count(1, event)
        self._level += 1
        if self._level > MOST_LEVELS:
            raise _Refused(problem=f"it nests more than {MOST_LEVELS} levels", problem_mark=event.start_mark)
        node = super().compose_node(parent, index)
        self._level -= 1
        if node is not None:
            self._sizes[node] = self._nodes - before
        return node

    def _count(self, nodes: int, event: Any) -> None:
        self._nodes += nodes
        if self._nodes > MOST_NODES:
            raise _Refused(
                problem=f"it has more than {MOST_NODES:,} values (aliases count as what they stand for)",
                problem_mark=event.start_mark,
            )

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        kind = node.tag.removeprefix(_TAG)
        if kind not in (*_PLAIN, "merge") or not node.tag.startswith(_TAG):
            tag = node.tag.replace(_TAG, "!!")
            raise _Refused(problem=f"the YAML tag '{tag}' is not allowed", problem_mark=node.start_mark)
        if kind in ("int", "float") and len(node.value) > _LONGEST_NUMBER:
            raise _Refused(
                problem=f"a number of {len(node.value):,} characters; at most {_LONGEST_NUMBER} are read",
                problem_mark=node.start_mark,
            )
        try:
            return super().construct_object(node, deep=True)
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError):
            raise _Refused(problem=f"'{node.value}' is not a valid {kind}", problem_mark=node.start_mark) from None

    def construct_mapping(self, node: Node, deep: bool = False) -> dict[Hashable, Any]:
        if not isinstance(node, MappingNode):
            raise ConstructorError(None, None, "expected a mapping", node.start_mark)
        lines: dict[Hashable, int] = {}
        for key_node, _ in node.value:  # before << is resolved: what a mapping merges, its own keys may replace
            if not isinstance(key_node, ScalarNode):
                raise _Refused(problem="a key must be a word or a number", problem_mark=key_node.start_mark)
            key = self.construct_object(key_node) if key_node.tag != f"{_TAG}merge" else "<<"
            if key in lines:
                raise _Refused(
                    problem=f"the key '{key}' appears twice, first in line {lines[key]}: keep one",
                    problem_mark=key_node.start_mark,
                )
            lines[key] = key_node.start_mark.line + 1
        return super().construct_mapping(node, deep=True)


class _PythonLoader(_Limited, Reader, Scanner, Parser):
    """Where PyYAML was built without libyaml."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        _Limited.__init__(self)

    def dispose(self) -> None:
        Parser.dispose(self)


@cache
def _loader_class(compiled: bool) -> type:
    if not compiled:
        return _PythonLoader
    from yaml._yaml import CParser

    class CLoader(_Limited, CParser):
        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            _Limited.__init__(self)

        def dispose(self) -> None:
            CParser.dispose(self)

    return CLoader


def parse_yaml(text: str, where: str) -> Any:
    """The values of one YAML document: null, truth values, numbers, text, lists and mappings.

    ``where`` begins the message of an error, which names line and column.

    >>> parse_yaml("a: [1, 2.5, true, null, 2024-05-01]", "mine.yaml")
    {'a': [1, 2.5, True, None, '2024-05-01']}
    >>> parse_yaml("a: 1\\na: 2", "mine.yaml")
    Traceback (most recent call last):
    einstellung.errors.InputError: mine.yaml, line 2, column 1: the key 'a' appears twice, first in line 1: keep one
    """
    if len(text) > MOST_BYTES:
        raise InputError(f"{where} has {len(text):,} characters: at most {MOST_BYTES:,} are read as YAML")
    try:
        loader = _loader_class(yaml.__with_libyaml__)(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except _Refused as error:
        raise InputError(f"{_place(where, error)}: {error.problem}") from None
    except yaml.MarkedYAMLError as error:
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        raise InputError(f"{_place(where, error)}: not valid YAML ({reason})") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a lone surrogate
        raise InputError(f"{where} is not valid YAML: {str(error).partition(chr(10))[0]}") from None


def _place(where: str, error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return where if mark is None else f"{where}, line {mark.line + 1}, column {mark.column + 1}"


def read_yaml(path: Path, missing: str | None = None) -> Any:
    """The values of a YAML file; ``missing`` is the message where there is none."""
    return parse_yaml(read_text(path, MOST_BYTES, missing=missing), str(path))
