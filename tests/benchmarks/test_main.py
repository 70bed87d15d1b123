"""The program: verbs, forms, files."""

from __future__ import annotations

import json
import os
import sys
import types

import pytest

from benchmarks import __main__ as program
from benchmarks.measuring import row
from benchmarks.peers.places import AVALANCHE_PYTHON, MAMMOTH, MAMMOTH_PYTHON


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """The program with files of its own and two verbs that say in which form they were asked."""
    monkeypatch.setattr(program, "HERE", tmp_path)
    for name in ("first", "second"):
        module = types.ModuleType(f"benchmarks_{name}")
        module.measure = lambda short, name=name: {
            "rows": [row(f"{name} thing", "3 s" if short else "9 s", "at most 5 s", short)],
            "seconds": [3.0],
        }
        monkeypatch.setitem(sys.modules, module.__name__, module)
    verbs = {"first": "benchmarks_first", "second": "benchmarks_second"}
    monkeypatch.setattr(program, "VERBS", verbs)
    monkeypatch.setattr(program, "LONG_ONLY", ("second",))
    return program.main


def test_a_short_run_leaves_the_long_figures_where_they_are(bench, tmp_path, capsys):
    assert bench(["first"]) == 0
    assert bench(["first", "--short"]) == 0
    table = (tmp_path / "RESULTS.md").read_text()
    assert table.index("| first thing | 9 s | at most 5 s | no |") < table.index(
        "| first thing | 3 s | at most 5 s | yes |"
    )
    assert "`python -m benchmarks first`" in table
    assert "`python -m benchmarks first --short`" in table
    found = json.loads((tmp_path / "results.json").read_text())["first"]
    assert set(found) == {"long", "short"}
    assert found["short"]["seconds"] == [3.0]
    assert found["long"]["code_hash"] in table
    assert found["long"]["machine"]["processor"] in table
    assert "9 s" not in capsys.readouterr().out.rpartition("# Benchmark results")[2]


def test_without_a_verb_all_that_have_the_form_are_measured(bench, tmp_path):
    assert bench(["--short"]) == 0
    assert list(json.loads((tmp_path / "results.json").read_text())) == ["first"]
    assert bench([]) == 0
    assert list(json.loads((tmp_path / "results.json").read_text())) == ["first", "second"]


def test_what_was_measured_stays_when_a_later_verb_fails(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["benchmarks_second"], "measure", lambda short: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bench([])
    assert list(json.loads((tmp_path / "results.json").read_text())) == ["first"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["frist"], "benchmarks: unknown verb 'frist': did you mean 'first'?"),
        (["second", "--short"], "benchmarks: 'second' has no short form: omit --short"),
        (["--mammoth", "/no/such/folder"], "benchmarks: --mammoth: there is no /no/such/folder"),
        (["--avalanche-python", "/no/python"], "benchmarks: --avalanche-python: there is no /no/python"),
        (["--mammoth", "/dev/null"], "benchmarks: --mammoth: /dev/null is not a folder: give a checkout of Mammoth"),
        (
            ["--mammoth-python", "/dev"],
            "benchmarks: --mammoth-python: /dev is a folder: give the interpreter itself, such as bin/python in it",
        ),
        (
            ["--avalanche-python", "/dev/null"],
            "benchmarks: --avalanche-python: /dev/null is not executable: give an interpreter",
        ),
    ],
)
def test_what_was_asked_wrongly_is_one_line_and_exit_2(bench, tmp_path, capsys, words, said):
    assert bench(words) == 2
    assert capsys.readouterr().err.splitlines() == [said]
    assert not list(tmp_path.iterdir())


def test_places_of_peers_reach_every_verb(bench, tmp_path, monkeypatch):
    monkeypatch.setenv(MAMMOTH, "elsewhere")
    monkeypatch.setenv(AVALANCHE_PYTHON, "unchanged")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "checkout").mkdir()
    assert bench(["first", "--mammoth", "checkout"]) == 0
    assert os.environ[MAMMOTH] == str(tmp_path / "checkout")
    assert os.environ[AVALANCHE_PYTHON] == "unchanged"


def test_places_are_recorded_as_words_and_never_as_paths(bench, tmp_path, monkeypatch):
    for name in (MAMMOTH, MAMMOTH_PYTHON):
        monkeypatch.setenv(name, "elsewhere")  # so that it is put back
    (tmp_path / "checkout").mkdir()
    places = ["--mammoth", str(tmp_path / "checkout"), "--mammoth-python", sys.executable]
    assert bench(["first", "--short", *places]) == 0
    found = json.loads((tmp_path / "results.json").read_text())["first"]["short"]
    assert found["command"] == "python -m benchmarks first --short --mammoth FOLDER --mammoth-python PYTHON"
    assert "checkout" not in (tmp_path / "results.json").read_text() + (tmp_path / "RESULTS.md").read_text()


def test_marks_say_yes_no_or_not_here():
    rows = [row("a", "1", *reach) for reach in _REACHES]
    rows.append(row("a", "1", "at least 2", undecided="not shown with 2 seeds"))
    marks = [program.as_markdown({"step": {"long": _result(one)}}) for one in rows]
    assert [table.strip().splitlines()[-1] for table in marks] == [
        "| a | 1 | at least 2 | yes |",
        "| a | 1 | at least 2 | no |",
        "| a | 1 | at least 2 | not on this machine |",
        "| a | 1 | no target |  |",
        "| a | 1 | at least 2 | not shown with 2 seeds |",
    ]


_REACHES = (("at least 2", True), ("at least 2", False), ("at least 2", None), ())


def _result(*rows):
    machine = {"processor": "a CPU", "cores": 2, "python": "3.11"}
    return {
        "rows": rows,
        "command": "python -m benchmarks",
        "measured": "now",
        "took": 1.0,
        "machine": machine,
        "code_hash": "c0de",
    }


def test_every_verb_is_a_module_that_measures():
    from importlib.util import find_spec

    assert [module for module in program.VERBS.values() if find_spec(module) is None] == []
