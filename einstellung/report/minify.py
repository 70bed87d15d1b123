"""Scripts without what only their readers need: comments, indentation, and spaces that separate nothing."""

from __future__ import annotations

import re
from functools import cache

_NAME = re.compile(r"[\w$]")
_BEFORE_REGEX = "(,=:[!&|?{};>\n"  # after any of these a slash begins a pattern; otherwise it divides
_GOES_ON = ";{,([=:?&|<>\n"  # after any of these no statement ends
_WORD_BEFORE_REGEX = re.compile(r"\b(return|typeof|case|in|of)\s*$")


@cache
def minify(code: str) -> str:
    r"""The same script in fewer characters; texts and patterns stay as they are, and so do line ends that may end a statement.

    >>> minify('// why\nif (x) {\n  /* what */ y(a + b, "c  // d");\n\n}')
    'if(x){y(a+b,"c  // d");}'
    >>> minify("const a = /[/ ] +/.test(`b ${c ? ` (d)` : 1} e`); // end")
    'const a=/[/ ] +/.test(`b ${c?` (d)`:1} e`);'
    >>> minify("a - -b + +c / d")
    'a- -b+ +c/d'
    """
    kept = _Kept()
    _code(code, 0, kept, nested=False)
    return kept.text().strip("\n")


class _Kept:
    """What is kept of a script; a space only where two names, or two equal signs, would grow together without it."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._space = False

    def space(self) -> None:
        self._space = True

    def line(self) -> None:
        """The end of a line, where it may end a statement."""
        self._space = False
        if self.last not in _GOES_ON:
            self._parts.append("\n")

    def add(self, part: str) -> None:
        last = self.last
        grow = _NAME.match(last) and _NAME.match(part[0])
        if self._space and last and (grow or (last in "+-" and part[0] == last)):
            self._parts.append(" ")
        self._space = False
        self._parts.append(part)

    @property
    def last(self) -> str:
        return self._parts[-1][-1] if self._parts else ""

    def begins_regex(self) -> bool:
        return not self.last or self.last in _BEFORE_REGEX or bool(_WORD_BEFORE_REGEX.search("".join(self._parts[-8:])))

    def text(self) -> str:
        return "".join(self._parts)


def _code(code: str, at: int, kept: _Kept, *, nested: bool) -> int:
    """Keep code from a place on; of what is nested in a template, up to the brace that ends it."""
    depth = 0
    while at < len(code):
        char, pair = code[at], code[at : at + 2]
        if pair == "//":
            at = _upto(code, "\n", at)
        elif pair == "/*":
            at = code.index("*/", at) + 2
            kept.space()
        elif char in "\"'":
            end = _quoted(code, at, char)
            kept.add(code[at:end])
            at = end
        elif char == "`":
            at = _template(code, at, kept)
        elif char == "/" and kept.begins_regex():
            end = _quoted(code, at, "/")
            kept.add(code[at:end])
            at = end
        elif char in " \t":
            kept.space()
            at += 1
        elif char == "\n":
            kept.line()
            at += 1
        elif nested and char == "}" and depth == 0:
            return at
        else:
            depth += (char == "{") - (char == "}")
            kept.add(char)
            at += 1
    return at


def _upto(code: str, sign: str, at: int) -> int:
    found = code.find(sign, at)
    return len(code) if found < 0 else found


def _quoted(code: str, at: int, quote: str) -> int:
    """The end of a text or a pattern that begins at a place."""
    in_class = False
    at += 1
    while code[at] != quote or in_class:
        if quote == "/":
            in_class = code[at] == "[" or (in_class and code[at] != "]")
        at += 2 if code[at] == "\\" else 1
    return at + 1


def _template(code: str, at: int, kept: _Kept) -> int:
    """Keep a template as it is, except for the code in it."""
    start = at
    at += 1
    while code[at] != "`":
        if code[at : at + 2] == "${":
            kept.add(code[start : at + 2])
            start = at = _code(code, at + 2, kept, nested=True)
        at += 2 if code[at] == "\\" else 1
    kept.add(code[start : at + 1])
    return at + 1
