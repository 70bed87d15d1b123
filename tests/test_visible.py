"""Names from log files that try to steer a terminal, a page, a spreadsheet or a Markdown table."""

from __future__ import annotations

import csv
import json
import sys

import pytest

from einstellung.cli import main
from einstellung.visible import visible

ROWS = "method,seed,phase,epoch,split,acc,loss,n\n"
HOSTILE = {"escape": "red\x1b[31m", "turned": "abc\u202edef", "formula": "=cmd|' /C calc'!A0", "lines": "two\nlines"}


def score(tmp_path, monkeypatch, *options):
    """Score a log with a hostile method; the exit code."""
    with (tmp_path / "timeline.csv").open("w", newline="", encoding="utf-8") as stream:
        stream.write(ROWS)
        writer = csv.writer(stream, lineterminator="\n")
        for method in ("scratch_t2", *HOSTILE.values()):
            for epoch in range(4):
                for split in ("T2_shortcut_normal", "T2_shortcut_masked", "T2_nonshortcut_normal", "T1_all"):
                    writer.writerow([method, 1, "T2", epoch, split, 0.2 + 0.15 * epoch, 1.0, 100])
    words = ["einstellung", "score", str(tmp_path / "timeline.csv"), *options]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_a_terminal_shows_what_it_would_have_obeyed(tmp_path, monkeypatch, capsys):
    assert score(tmp_path, monkeypatch) == 0
    shown = capsys.readouterr().out
    assert shown == visible(shown)
    assert "red[U+001B][31m" in "".join(shown.split())  # the column of names is narrow and wraps
    assert "[U+202E]" in shown


def test_json_holds_the_names_and_only_escapes_them(tmp_path, monkeypatch, capsys):
    assert score(tmp_path, monkeypatch, "--json") == 0
    shown = capsys.readouterr().out
    assert shown == visible(shown)
    assert HOSTILE["turned"] in json.dumps(json.loads(shown), ensure_ascii=False)


def test_pages_and_tables(tmp_path, monkeypatch):
    out = tmp_path / "report"
    assert score(tmp_path, monkeypatch, "--out", str(out)) == 0
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page == visible(page)
    assert "\\u001b" not in page
    assert "abc[U+202E]def" in page
    tables = list((out / "tables").glob("*.csv"))
    assert tables
    for table in tables:
        with table.open(newline="", encoding="utf-8") as stream:
            cells = [cell for row in csv.reader(stream) for cell in row]
        assert not any(cell.startswith(("=", "+", "@")) for cell in cells), table
    assert any(f"'{HOSTILE['formula']}" in table.read_text(encoding="utf-8").replace('""', '"') for table in tables)
    for table in (out / "tables").glob("*.md"):
        text = table.read_text(encoding="utf-8")
        assert text == visible(text)
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert len({row.replace("\\|", "").count("|") for row in rows}) == 1, table
        assert "two lines" in text or "two" not in text


def test_an_error_does_not_steer_either(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["einstellung", "report", "no\x1b[31m\u202efolder"])
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().err == "einstellung: no such folder: no[U+001B][31m[U+202E]folder\n"
