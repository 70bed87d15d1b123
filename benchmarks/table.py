"""The results as Markdown: a table per verb, the long form before the short form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FORMS = ("long", "short")
OPENING = """# Benchmark results

Renewed by `make bench` (the short form) and `python -m benchmarks` (the long form); the same figures and more as data
in `results.json`. A core-second is a second of one core's time, whoever else was at work; a ratio was taken within one repeat
of works done in turn, and stands with its lowest and highest value and the number of repeats.
"""


def as_markdown(results: Mapping[str, Mapping[str, Any]]) -> str:
    """``results``: by verb, and within it by form."""
    parts = [OPENING]
    for verb, forms in results.items():
        parts.append(f"## {verb}\n")
        parts += [_form(form, forms[form]) for form in FORMS if form in forms]
    return "\n".join(parts)


def mark(row: Mapping[str, Any]) -> str:
    """Whether a row reached its target.

    >>> mark({"reach": "at least 2", "reached": True}), mark({"reach": "at least 2", "reached": None})
    ('yes', 'not on this machine')
    >>> mark({"reach": "within the spread", "reached": None, "undecided": "not shown with 2 seeds"})
    'not shown with 2 seeds'
    """
    if row["reached"] is None:
        return "" if row["reach"] == "no target" else str(row.get("undecided", "not on this machine"))
    return "yes" if row["reached"] else "no"


def _form(form: str, result: Mapping[str, Any]) -> str:
    machine = result["machine"]
    lines = [
        f"{form.capitalize()} form: `{result['command']}`, {result['measured']}, took {result['took']:.0f} s;",
        f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}, code {result['code_hash']}",
        "",
        "| what | measured | to reach | reached |",
        "| --- | --- | --- | --- |",
        *(f"| {row['what']} | {row['measured']} | {row['reach']} | {mark(row)} |" for row in result["rows"]),
    ]
    return "\n".join(lines) + "\n"
