"""A card on a terminal: a table, sentences, then the warnings and the checks that failed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rich.box import SIMPLE_HEAD, Box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from einstellung.checks import Check
from einstellung.input_words import IMAGE_WORDS, InputWords
from einstellung.report.notation import DASH, MINUS
from einstellung.report.tables import Cell, Table
from einstellung.visible import visible

_COLOURS = {
    "bad": "bold red",
    "odd": "magenta",
    "warning": "yellow",
    "info": "blue",
    "good": "green",
    "strong": "bold",
    "faint": "dim",
}
_PLAIN_WIDTH = 120  # where there is no terminal to ask
_FIRST_COLUMN = 18
_ASCII = str.maketrans(
    {"±": "+-", MINUS: "-", DASH: "-", "Δ": "delta", "τ": "tau", "…": "..", "≥": ">=", "≤": "<=", "×": "x", "↑": "^"}
)


@dataclass(frozen=True)
class Paragraph:
    """A sentence or more. ``lead`` stands before it in bold; ``tone`` is one of the words for colours; ``indent`` in columns."""

    text: str
    lead: str = ""
    tone: str | None = None
    indent: int = 0
    after_blank: bool = True


@dataclass(frozen=True)
class Overview:
    """What a terminal shows of a card. Plain strings are paragraphs without a lead."""

    table: Table
    paragraphs: Sequence[Paragraph | str] = ()


def print_overview(
    console: Console,
    overview: Overview,
    checks: Iterable[Check] = (),
    warnings: Iterable[str] = (),
    inputs: InputWords = IMAGE_WORDS,
) -> None:
    """Print an overview, in the words for the inputs; where ``console`` is not a terminal, as text of 120 columns or more."""
    asked = console.width
    if not console.is_terminal:
        console.width = max(asked, _PLAIN_WIDTH)
    try:
        _print_table(console, overview.table.in_words(inputs))
        for paragraph in overview.paragraphs:
            shown = Paragraph(paragraph) if isinstance(paragraph, str) else paragraph
            shown = replace(shown, text=inputs.say(shown.text))
            if shown.after_blank:
                console.print()
            _say(console, shown)
        failed = [check for check in checks if check.passed is False]
        listed = list(warnings)
        if failed or listed:
            console.print()
        for check in failed:
            _say(
                console,
                Paragraph(inputs.say(f"{check.name}: {check.detail}"), "FAILED CHECK ", "bad"),
                lead_style="bold red",
            )
        for warning in listed:
            _say(console, Paragraph(inputs.say(warning), "warning ", "warning"), lead_style="yellow")
    finally:
        console.width = asked


def _print_table(console: Console, table: Table) -> None:
    """The table, in blocks of columns below each other where the console is too narrow for all of them."""
    blocks = _blocks([_width(table, place) for place in range(len(table.head))], console.width)
    for number, places in enumerate(blocks):
        if number:
            console.print()
        console.print(_rich_table(console, table, [0, *places]))
    reasons = dict.fromkeys((row[0].text, cell.why) for row in table.rows for cell in row if cell.why is not None)
    if len(reasons) <= len(table.rows):
        for name, why in reasons:
            _say(console, Paragraph(str(why), f"{name}: "))
    if table.note:
        console.print()
        _say(console, Paragraph(table.note, tone="faint"))


def _width(table: Table, place: int) -> int:
    texts = [table.head[place], *(row[place].text for row in table.rows)]
    widest = max(cell_len(line) for text in texts for line in visible(text).split("\n"))
    return min(widest, _FIRST_COLUMN) if place == 0 else widest


def _blocks(widths: Sequence[int], available: int) -> list[list[int]]:
    """The columns after the first, in as few blocks as fit, each beside the first.

    >>> _blocks([8, 10, 10, 10], 34), _blocks([8, 10, 10, 10], 60)
    ([[1, 2], [3]], [[1, 2, 3]])
    """
    blocks: list[list[int]] = [[]]
    used = widths[0] + 2
    for place, width in enumerate(widths[1:], start=1):
        if blocks[-1] and used + width + 2 > available:
            blocks.append([])
            used = widths[0] + 2
        blocks[-1].append(place)
        used += width + 2
    return blocks


def _rich_table(console: Console, table: Table, places: Sequence[int]) -> RichTable:
    shown = RichTable(box=_box(console), pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    words = {place for place in places if place < table.words or _is_text(table, place)}
    for place in places:
        head = _printable(console, table.head[place])
        if place == 0:
            shown.add_column(head, max_width=_FIRST_COLUMN, overflow="fold")
        else:
            shown.add_column(head, justify="left" if place in words else "right", no_wrap=True)
    for row in table.rows:
        shown.add_row(*(_cell(console, row[place]) for place in places))
    return shown


def _is_text(table: Table, place: int) -> bool:
    """Whether a column holds words: verdicts, certainties."""
    return any(row[place].text[:1].isalpha() for row in table.rows)


def _cell(console: Console, cell: Cell) -> Text:
    return Text(_printable(console, cell.text), _COLOURS.get(cell.tone or "", ""))


def _say(console: Console, paragraph: Paragraph, lead_style: str = "bold") -> None:
    words = Text(_printable(console, paragraph.lead), lead_style)
    words.append(_printable(console, paragraph.text), _COLOURS.get(paragraph.tone or "", ""))
    console.print(Padding(words, (0, 0, 0, paragraph.indent), expand=False))


def _box(console: Console) -> Box | None:
    return None if console.options.ascii_only else SIMPLE_HEAD


def _printable(console: Console, text: str) -> str:
    """The text without characters that steer a terminal, in ASCII where the console can print nothing else."""
    text = visible(text)
    return text.translate(_ASCII).encode("ascii", "replace").decode() if console.options.ascii_only else text
