"""A table as Markdown, LaTeX (booktabs) and CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from einstellung.files import write_text
from einstellung.report.notation import DASH, MINUS
from einstellung.report.tables import Cell, Table
from einstellung.visible import one_line

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    MINUS: r"$-$",
    DASH: "--",
    "Δ": r"$\Delta$",
    "τ": r"$\tau$",
    "…": r"\ldots{}",
    "×": r"$\times$",
    "↑": r"$\uparrow$",
}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a formula may begin in a spreadsheet
_LATEX_HEADS = {
    "SFR_rel": r"SFR$_{\mathrm{rel}}$",
    "CSR_rel": r"CSR$_{\mathrm{rel}}$",
    "Δ_S": r"$\Delta_S$",
    "pull_S": r"pull$_S$",
    "SC patched": r"$\mathcal{A}_{SC}^{\mathrm{patch}}$",
    "SC masked": r"$\mathcal{A}_{SC}^{\mathrm{mask}}$",
    "T1 after T2": r"$\mathcal{A}_{T1}$ (after T2)",
    "T1 after T1": r"$\mathcal{A}_{T1}$ (after T1)",
    "NSC": r"$\mathcal{A}_{NSC}$",
}


def write_table(folder: Path, name: str, table: Table) -> None:
    """Write ``name.md``, ``name.tex`` and ``name.csv``."""
    write_text(folder / f"{name}.md", to_markdown(table))
    write_text(folder / f"{name}.tex", to_latex(table, label=name))
    write_text(folder / f"{name}.csv", to_csv(table))


def footnotes(table: Table) -> dict[str, str]:
    """Every reason for a dash, once, with the letter that marks it.

    >>> footnotes(Table("", "", ("a",), ((Cell("–", "never measured"),), (Cell("–", "never measured"),)), ()))
    {'never measured': 'a'}
    """
    reasons = dict.fromkeys(cell.why for row in table.rows for cell in row if cell.why is not None)
    return {reason: _letter(place) for place, reason in enumerate(reasons)}


def _letter(place: int) -> str:
    return (_letter(place // 26 - 1) if place >= 26 else "") + chr(ord("a") + place % 26)


def to_markdown(table: Table) -> str:
    """A Markdown table with its title, note and footnotes."""
    notes = footnotes(table)

    def text(cell: Cell) -> str:
        escaped = one_line(cell.text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("_", "\\_")
        return escaped + (f" ({notes[cell.why]})" if cell.why is not None else "")

    end = "" if table.title.endswith(("?", "!", ".")) else "."
    lines = [f"**{table.title}{end}** {table.note}", ""]
    lines.append("| " + " | ".join(text(Cell(head)) for head in table.head) + " |")
    lines.append("|" + " --- |" * table.words + " ---: |" * (len(table.head) - table.words))
    lines += ["| " + " | ".join(text(cell) for cell in row) + " |" for row in table.rows]
    lines += ["", *(f"({letter}) {text(Cell(reason))}  " for reason, letter in notes.items())] if notes else []
    return "\n".join(lines) + "\n"


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is.

    >>> escape_latex("ewc_on 50% −0.1")
    'ewc\\\\_on 50\\\\% $-$0.1'
    """
    return "".join(_LATEX.get(letter, letter) for letter in text)


def to_latex(table: Table, *, label: str) -> str:
    """A ``table`` environment that needs the package booktabs."""
    notes = footnotes(table)

    def text(cell: Cell) -> str:
        return escape_latex(one_line(cell.text)) + (rf"$^{{{notes[cell.why]}}}$" if cell.why is not None else "")

    heads = " & ".join(_LATEX_HEADS.get(head, escape_latex(head)) for head in table.head)
    explained = [rf"$^{{{letter}}}$ {escape_latex(reason)}." for reason, letter in notes.items()]
    caption = " ".join([f"{escape_latex(table.title)}. {escape_latex(table.note)}", *explained])
    lines = [r"% needs \usepackage{booktabs}", r"\begin{table}", r"\centering", rf"\caption{{{caption}}}"]
    columns = "l" * table.words + "r" * (len(table.head) - table.words)
    lines += [rf"\label{{tab:{label}}}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    lines += [rf"{heads} \\", r"\midrule", *(" & ".join(map(text, row)) + r" \\" for row in table.rows)]
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def to_csv(table: Table) -> str:
    """The numbers in full; an undefined one is an empty field. Text that a spreadsheet would run as a formula is quoted."""
    stream = io.StringIO()
    fields = list(dict.fromkeys(key for row in table.values for key in row)) if table.values else list(table.head)
    writer = csv.DictWriter(stream, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _no_formula(value) for key, value in row.items()} for row in table.values)
    return stream.getvalue()


def _no_formula(value: Any) -> Any:
    """A name that begins like a formula, with an apostrophe before it; numbers stay as they are.

    >>> _no_formula("=cmd|' /C calc'!A0"), _no_formula("-0.5"), _no_formula(-0.5), _no_formula("sgd")
    ("'=cmd|' /C calc'!A0", '-0.5', -0.5, 'sgd')
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
