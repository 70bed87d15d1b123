"""Tables: cells of text for people, and the same numbers in full for machines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from einstellung.input_words import InputWords


@dataclass(frozen=True)
class Cell:
    """The content of a cell, and the reason for a dash. ``tone``: a word by which page and terminal may colour it."""

    text: str
    why: str | None = None
    tone: str | None = None

    def in_words(self, words: InputWords) -> Cell:
        """The same cell with its reason in the words for a study's inputs; the content may hold names."""
        return self if self.why is None else replace(self, why=words.say(self.why))


@dataclass(frozen=True)
class Table:
    """Text for people. ``values`` are the same rows as plain numbers, one column each, for CSV.

    ``words``: how many columns, from the left, hold words rather than numbers.
    """

    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    values: tuple[dict[str, Any], ...]
    words: int = 1

    def in_words(self, words: InputWords) -> Table:
        """The same table, which speaks of images, in the words for a study's inputs."""
        head = tuple(words.say(text) for text in self.head)
        rows = tuple(tuple(cell.in_words(words) for cell in row) for row in self.rows)
        return replace(self, title=words.say(self.title), note=words.say(self.note), head=head, rows=rows)


@dataclass(frozen=True)
class Missing:
    """A figure or a table that could not be made, and why. ``section``: where a page would have shown it."""

    name: str
    title: str
    why: str
    section: str = "tables"
