"""A Griffe extension: our docstrings, which are reStructuredText with doctests, as the Markdown that mkdocstrings renders."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod):`~?([^`]+)`")
_MATH = re.compile(r"^\.\. math:: *(.*(?:\n[ \t]+\S.*)*)", flags=re.MULTILINE)
_DOCTEST = re.compile(r"^>>> .*(?:\n.+)*", flags=re.MULTILINE)


class Docstrings(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    r"""Roles become code, formulas and doctests code blocks.

    >>> as_markdown("See :class:`~a.B`.\n\n>>> 1 + 1\n2")
    'See `a.B`.\n\n```pycon\n>>> 1 + 1\n2\n```'
    """
    text = _MATH.sub(lambda match: f"```latex\n{match[1].strip()}\n```", text)
    text = _DOCTEST.sub(lambda match: f"```pycon\n{match[0]}\n```", text)
    return _ROLE.sub(r"`\1`", text)
