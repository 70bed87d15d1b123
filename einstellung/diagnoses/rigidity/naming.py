"""Sentences about T2 and T1, told of the phase that plays T2 and of the phases before it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from pydantic import BaseModel

T = TypeVar("T")


def history_name(earlier: tuple[str, ...]) -> str:
    """The phases before one in a word.

    >>> history_name(("T1",)), history_name(("T1", "T2", "T3")), history_name(("day", "dusk"))
    ('T1', 'T1-T3', 'day to dusk')
    """
    if len(earlier) < 2:
        return earlier[0] if earlier else "earlier phases"
    numbered = all(re.fullmatch(r"T\d+", phase) for phase in earlier)
    return f"{earlier[0]}{'-' if numbered else ' to '}{earlier[-1]}"


@dataclass(frozen=True)
class Naming:
    """The phase in the role of T2, the history in that of T1, and names (of methods) that stay as they are.

    >>> naming = Naming("T4", "T1-T3", ("my T2",))
    >>> naming.text("T2_shortcut_normal of my T2 over phase 2, after T1")
    'T4_shortcut_normal of my T2 over T4, after T1-T3'
    >>> naming.text(naming.text("T1_all after T2"))
    'T1-T3 after T4'
    """

    phase: str
    history: str
    kept: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        return (self.phase, self.history) == ("T2", "T1")

    @cached_property
    def pattern(self) -> str:
        """One expression, for Python and for the browser: what is kept (group 1), T2_ (2), T2 (3), T1 (4)."""
        names = sorted({*self.kept, self.phase, self.history}, key=len, reverse=True)
        kept = "|".join(re.sub(r"([\\^$.*+?()\[\]{}|/])", r"\\\1", name) for name in names)
        return rf"(?<![\w-])({kept})(?![\w-])|\b(T2)(?=_[a-z])|\b(T2|[Pp]hase 2)\b|\b(T1_all|T1|[Pp]hase 1)\b"

    def text(self, text: str) -> str:
        if self.is_plain:
            return text
        return re.sub(self.pattern, self._replaced, text)

    def _replaced(self, match: re.Match[str]) -> str:
        kept, _, _, history = match.groups()
        return str(kept) if kept is not None else self.history if history is not None else self.phase

    def apply(self, thing: T) -> T:
        """The same with all of its text told; keys of mappings stay as they are."""
        return thing if self.is_plain else self._applied(thing)

    def _applied(self, thing: Any) -> Any:
        if isinstance(thing, str):
            return self.text(thing)
        if isinstance(thing, tuple | list):
            return type(thing)(self._applied(one) for one in thing)
        if isinstance(thing, Mapping):
            return {key: self._applied(value) for key, value in thing.items()}
        if isinstance(thing, BaseModel):
            told = {name: self._applied(getattr(thing, name)) for name in type(thing).model_fields}
            return thing.model_copy(update=told)
        if is_dataclass(thing) and not isinstance(thing, type):
            texts = [one.name for one in fields(thing) if one.init and one.name != "key"]  # a key is looked up
            return replace(thing, **{name: self._applied(getattr(thing, name)) for name in texts})
        return thing
