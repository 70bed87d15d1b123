"""An overview on a terminal, in a pipe, and where there is no unicode."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from einstellung.checks import Check
from einstellung.report.tables import Cell, Table
from einstellung.report.terminal import Overview, Paragraph, print_overview

HEADS = tuple(f"facet {number}" for number in range(9))
TABLE = Table(
    "Toy",
    "Mean ± standard deviation.",
    ("method", *HEADS, "verdict"),
    (
        (Cell("sgd"), *(Cell(f"−0.12{number}\n±0.010") for number in range(9)), Cell("red-flag", tone="bad")),
        (Cell("a_very_long_name_of_a_method"), *(Cell("–", "never measured"),) * 9, Cell("fine", tone="good")),
    ),
    (),
)
OVERVIEW = Overview(TABLE, ["A plain sentence [with brackets].", Paragraph("what it does", "sgd: ", "bad", indent=2)])


def printed(overview=OVERVIEW, checks=(), warnings=(), **options):
    stream = io.StringIO()
    print_overview(Console(file=stream, **options), overview, checks, warnings)
    return stream.getvalue()


def test_a_pipe_gets_plain_text_in_120_columns():
    text = printed()
    assert "\x1b" not in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 120
    row = next(line for line in text.splitlines() if line.startswith("sgd"))
    assert row.split() == ["sgd", *(f"−0.12{number}" for number in range(9)), "red-flag"]
    below = text.splitlines()[text.splitlines().index(row) + 1]
    assert below.split() == ["±0.010"] * 9


def test_a_terminal_gets_colours():
    assert "\x1b[1;31mred-flag" in printed(
        width=120, force_terminal=True, color_system="standard", legacy_windows=False
    )


def test_reasons_notes_and_paragraphs_follow_the_table():
    text = printed()
    places = [
        text.index(words)
        for words in (
            "a_very_long_name_of_a_method: never measured",
            "Mean ± standard deviation.",
            "A plain sentence [with brackets].",
            "\n  sgd: what it does",
        )
    ]
    assert places == sorted(places)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_terminal_gets_the_columns_in_blocks(width):
    text = printed(width=width, force_terminal=True, color_system=None)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert len([line for line in text.splitlines() if line.startswith("sgd ")]) > 1
    assert "…" not in text
    for head in HEADS:
        assert text.count(head) == 1


def test_failed_checks_and_warnings_come_last():
    checks = [
        Check("seeds match", False, "seed 3 is alone"),
        Check("fine", True, "yes"),
        Check("open", None, "who knows"),
    ]
    text = printed(checks=checks, warnings=["odd [seed]"])
    assert text.rstrip().endswith("FAILED CHECK seeds match: seed 3 is alone\nwarning odd [seed]")
    assert "yes" not in text
    assert "who knows" not in text


def test_a_console_without_unicode_gets_ascii():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print_overview(Console(file=stream), OVERVIEW)
    stream.flush()
    text = stream.buffer.getvalue().decode("ascii")
    assert "-0.120" in text
    assert "+-0.010" in text
    spelled = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    table = Table("", "", ("method", "Δ"), ((Cell("sgd"), Cell("–")),), ())
    print_overview(Console(file=spelled), Overview(table, ["at τ ≤ 0.6"]))
    spelled.flush()
    assert "delta" in (text := spelled.buffer.getvalue().decode("ascii"))
    assert "at tau <= 0.6" in text


def test_the_width_of_the_console_is_given_back():
    console = Console(file=io.StringIO(), width=70)
    print_overview(console, OVERVIEW)
    assert console.width == 70
