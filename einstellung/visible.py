"""Text that is shown to a person: characters that steer a terminal or turn the reading direction become visible."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# Control characters but tab and newline, marks and overrides of the reading direction, zero-width characters, and separators
# that some programs take for a line break. Names in log files can hold any of them.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)

_LONG_WORD = 90
_SHORT_WORD = 24


def visible(text: str) -> str:
    """The text with every such character spelt out.

    >>> visible("derpp"), visible("\\x1b[31mred"), visible("abc\\u202edef")
    ('derpp', '[U+001B][31mred', 'abc[U+202E]def')
    """
    return _STEERING.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def one_line(text: str) -> str:
    """The same in one line, for a cell of a table.

    >>> one_line("a\\nname")
    'a name'
    """
    return visible(" ".join(text.split()) if "\n" in text or "\r" in text else text)


def visible_data(value: Any) -> Any:
    """The same for every string in JSON data, keys included.

    >>> visible_data({"a\\u202e": ["b\\x07", 1, None]})
    {'a[U+202E]': ['b[U+0007]', 1, None]}
    """
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible_data(key): visible_data(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [visible_data(one) for one in value]
    return value


def escaped_json(text: str) -> str:
    """JSON text whose strings hold such characters as escapes: harmless on a terminal, and the same data.

    >>> escaped_json('"abc\\u202edef"')
    '"abc\\\\u202edef"'
    """
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shortened(text: str, most: int) -> str:
    """At most so many characters: long words (paths, values) lose their middle, then the whole text does.

    >>> shortened("no such file: " + "n" * 5000, 60)
    'no such file: nnnnnnnnnnnnnnnnnnnnnnnnnnnnnn…nnnnnnnnnnnnnnn'
    >>> shortened(f"{'a' * 99} differs from {'b' * 99}", 62)
    'aaaaaaaaaaaaaaa…aaaaaaaa differs from bbbbbbbbbbbbbbb…bbbbbbbb'
    >>> len(shortened("a b " * 1000, 200))
    200
    """
    if len(text) <= most:
        return text
    words = text.split(" ")
    for length in range(_LONG_WORD, _SHORT_WORD - 1, -1):
        shorter = " ".join(_without_middle(word, length, "…") for word in words)
        if len(shorter) <= most:
            return shorter
    return _without_middle(" ".join(_without_middle(word, _LONG_WORD, "…") for word in words), most, " … ")


def quoted(value: Any) -> str:
    """A value as Python writes it, for a message; a long one loses its middle.

    >>> quoted("abc"), len(quoted(list(range(1000))))
    ("'abc'", 90)
    """
    try:
        text = repr(value)
    except ValueError:  # a number with more digits than Python prints
        text = f"a {type(value).__name__}"
    return _without_middle(text, _LONG_WORD, "…")


def _without_middle(text: str, most: int, mark: str) -> str:
    if len(text) <= most:
        return text
    end = most // 3
    return f"{text[: most - end - len(mark)]}{mark}{text[len(text) - end :]}"
