"""Tables as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io

from einstellung.report.table_formats import escape_latex, footnotes, to_csv, to_latex, to_markdown, write_table
from einstellung.report.tables import Cell, Table

TABLE = Table(
    "Toy",
    "Mean ± standard deviation of Δ.",
    ("method", "PD", "Δ_S"),
    (
        (Cell("ewc_on"), Cell("−0.120 ± 0.020"), Cell("–", "never measured")),
        (Cell("a|b_<i>"), Cell("–", "no < baseline"), Cell("–", "never measured")),
    ),
    ({"method": "ewc_on", "PD_mean": -0.1234567890123, "n": 3}, {"method": "a|b_<i>", "PD_mean": None, "n": 0}),
)


def test_latex_escapes_what_latex_would_read_as_code():
    assert escape_latex(r"a_b & 50% #1 {x} $y^2~\z") == (
        r"a\_b \& 50\% \#1 \{x\} \$y\textasciicircum{}2\textasciitilde{}\textbackslash{}z"
    )
    latex = to_latex(TABLE, label="toy")
    assert r"ewc\_on & $-$0.120 $\pm$ 0.020 & --$^{a}$ \\" in latex
    assert r"$^{b}$ no \textless{} baseline." in latex
    assert not set("−±–Δτ") & set(latex)
    assert latex.count(r"\toprule") == latex.count(r"\bottomrule") == 1


def test_markdown_keeps_odd_names_in_their_cell():
    lines = to_markdown(TABLE).splitlines()
    row = next(line for line in lines if line.startswith("| a"))
    assert row.startswith(r"| a\|b\_&lt;i> | – (b) | – (a) |")
    assert row.replace(r"\|", "").count("|") == lines[2].count("|")
    assert "(b) no &lt; baseline  " in lines


def test_every_reason_has_one_letter():
    assert footnotes(TABLE) == {"never measured": "a", "no < baseline": "b"}


def test_csv_holds_the_full_numbers_and_empty_fields():
    rows = list(csv.DictReader(io.StringIO(to_csv(TABLE))))
    assert rows[0] == {"method": "ewc_on", "PD_mean": "-0.1234567890123", "n": "3"}
    assert rows[1]["PD_mean"] == ""


def test_a_table_is_written_in_three_formats(tmp_path):
    write_table(tmp_path, "toy", TABLE)
    assert {path.name for path in tmp_path.iterdir()} == {"toy.md", "toy.tex", "toy.csv"}
