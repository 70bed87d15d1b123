"""The gate's answer as Markdown, short enough for a comment on a pull request."""

from __future__ import annotations

from einstellung.gating.result import GateResult
from einstellung.gating.tables import WORST_SHOWN, comparison, detail_tables
from einstellung.gating.verdict import rigidity_words
from einstellung.report.table_formats import to_markdown
from einstellung.report.tables import Table


def to_pull_request(result: GateResult) -> str:
    """Verdict, table, warnings; groups, classes and seeds folded."""
    parts = [f"### Reliance gate: {result.verdict}\n", f"{_escaped(result.summary)}.\n"]
    if result.baseline is not None:
        parts.append(f"{_escaped(rigidity_words(result.baseline))}\n")
    main = comparison(result)
    parts.append(to_markdown(main))
    parts += [f"- {_escaped(warning)}" for warning in result.warnings]
    for table in detail_tables(result, WORST_SHOWN).values():
        parts.append(f"\n<details><summary>{table.title}</summary>\n\n{_body(table)}\n</details>")
    return "\n".join(parts) + "\n"


def _body(table: Table) -> str:
    return to_markdown(Table("", table.note, table.head, table.rows, table.values, table.words)).removeprefix("**.** ")


def _escaped(text: str) -> str:
    """Names of files and classes are text, whatever they hold."""
    for character in "\\`*_[]<>|#":
        text = text.replace(character, f"\\{character}" if character != "<" else "&lt;")
    return text
