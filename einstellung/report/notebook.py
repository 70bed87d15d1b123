"""What objects show of themselves in a notebook: a heading, sentences and a table, as HTML and as Markdown.

Styles are inline and colours come from the notebook, so that it reads on light and dark grounds and survives being exported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup, escape

from einstellung.report.markup import symbols, typeset
from einstellung.report.table_formats import to_markdown
from einstellung.report.tables import Cell, Table

# Solid badges with white text: a contrast of 5 or more on any ground.
_BADGES = {"bad": "#b3261e", "odd": "#7a2e68", "warning": "#8a4b00", "info": "#0b5291", "good": "#0b6b4a"}
_LINE = "1px solid rgba(128,128,128,.35)"


def notebook_html(title: str, sentences: Sequence[str], table: Table | None, notes: Sequence[str] = ()) -> str:
    """A heading, the answer in bold, the other sentences, the table, and small print. Everything is escaped."""
    parts = [f'<div style="font-weight:600;opacity:.7">{escape(title)}</div>']
    for number, sentence in enumerate(sentences):
        weight = "font-weight:600;font-size:1.05em" if number == 0 else ""
        parts.append(f'<p style="margin:.3em 0;max-width:60em;{weight}">{typeset(sentence)}</p>')
    if table is not None:
        parts.append(html_table(table))
    for note in notes:
        parts.append(f'<p style="margin:.3em 0;max-width:60em;font-size:.85em;opacity:.8">{typeset(note)}</p>')
    return f'<div class="einstellung">{"".join(parts)}</div>'


def notebook_markdown(title: str, sentences: Sequence[str], table: Table | None, notes: Sequence[str] = ()) -> str:
    """The same as Markdown."""
    answer = [
        f"**{_plain(sentence)}**" if number == 0 else _plain(sentence) for number, sentence in enumerate(sentences)
    ]
    parts = [f"*{_plain(title)}*", *answer]
    if table is not None:
        parts.append(_markdown_table(table))
    return "\n\n".join([*parts, *(_plain(note) for note in notes)]) + "\n"


def html_table(table: Table) -> Markup:
    """A table whose coloured cells are badges; the reason for a dash shows on hover.

    >>> html_table(Table("", "", ("a",), ((Cell("<b>"),),), ())).count("&lt;b&gt;")
    1
    """
    words = [number < table.words or not _has_numbers(table, number) for number in range(len(table.head))]
    heads = [_cell("th", _lines(head), is_word, "") for head, is_word in zip(table.head, words, strict=True)]
    rows = [
        "".join(_cell("td", _content(cell), is_word, cell.why or "") for cell, is_word in zip(row, words, strict=True))
        for row in table.rows
    ]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    # A page without a doctype, as some exports are, gives tables colours and sizes of their own.
    style = "border-collapse:collapse;margin:.5em 0;font:inherit;color:inherit;font-variant-numeric:tabular-nums"
    shown = f'<table style="{style}"><thead><tr>{"".join(heads)}</tr></thead><tbody>{body}</tbody></table>'
    return Markup(f'<div style="overflow-x:auto">{shown}</div>')


def _has_numbers(table: Table, column: int) -> bool:
    """Whether a cell of the column starts as a number does."""
    return any(row[column].text[:2].strip("+−<±").isdigit() or row[column].text[:1].isdigit() for row in table.rows)


def _cell(tag: str, content: Markup, is_word: bool, why: str) -> str:
    style = f"text-align:{'left' if is_word else 'right'};padding:.25em .7em;border-bottom:{_LINE};white-space:nowrap"
    title = f' title="{escape(why)}"' if why else ""
    return f'<{tag} style="{style}"{title}>{content}</{tag}>'


def _content(cell: Cell) -> Markup:
    text = _lines(cell.text)
    colour = _BADGES.get(cell.tone or "")
    if colour is None:
        return Markup(f'<span style="opacity:.65">{text}</span>') if cell.tone == "faint" else text
    badge = f"background:{colour};color:#fff;border-radius:1em;padding:.1em .7em;font-weight:600"
    return Markup(f'<span style="{badge}">{text}</span>')


def _lines(text: str) -> Markup:
    return Markup("<br>").join(symbols(line) for line in text.split("\n"))


def _markdown_table(table: Table) -> str:
    """The rows alone, each on one line: title and note stand elsewhere."""
    rows = tuple(tuple(replace(cell, text=" ".join(cell.text.split())) for cell in row) for row in table.rows)
    lines = to_markdown(
        replace(table, head=tuple(" ".join(head.split()) for head in table.head), rows=rows)
    ).splitlines()
    return "\n".join(lines[2:]).rstrip()


def _plain(sentence: str) -> str:
    """A sentence that Markdown shows as it is."""
    for letter in "\\`*_<[|":
        sentence = sentence.replace(letter, f"\\{letter}" if letter != "<" else "&lt;")
    return sentence
