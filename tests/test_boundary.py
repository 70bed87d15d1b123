"""Whatever a command raises: one line, and the exit code that belongs to it."""

from __future__ import annotations

import errno
import io
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from einstellung.boundary import Finished, guarded
from einstellung.errors import CombinedInputError, InputError


def answer(capsys, error: BaseException, words: tuple[str, ...] = ()) -> tuple[int, list[str]]:
    def run() -> int:
        raise error

    code = guarded(run, "einstellung", words, "stopped")
    said = capsys.readouterr()
    assert said.out == ""
    return code, said.err.splitlines()


@pytest.mark.parametrize(
    ("error", "code", "lines"),
    [
        (InputError("a\nb is wrong"), 2, ["einstellung: a b is wrong"]),
        (CombinedInputError(["lr is -1", "epochs is 0"]), 2, ["einstellung: lr is -1", "einstellung: epochs is 0"]),
        (Finished(3), 3, []),
        (KeyboardInterrupt(), 130, ["einstellung: stopped"]),
        (
            OSError(errno.ENOSPC, "No space left on device", "/x"),
            2,
            ["einstellung: cannot use /x: No space left on device"],
        ),
        (MemoryError("8 TB"), 2, ["einstellung: not enough memory (8 TB): choose smaller sizes"]),
        (
            RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"),
            2,
            [
                "einstellung: not enough memory ([enforce fail] DefaultCPUAllocator: can't allocate memory: you tried): "
                "choose smaller sizes"
            ],
        ),
        (SystemExit(0), 2, ["einstellung: code that was loaded ended the program (sys.exit with 0): remove that call"]),
    ],
)
def test_what_is_foreseen(capsys, monkeypatch, error, code, lines):
    monkeypatch.setattr("einstellung.boundary.ignore_interrupts", lambda: None)
    assert answer(capsys, error) == (code, lines)


def test_what_nobody_foresaw_leaves_its_trace_in_a_file(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    code, lines = answer(capsys, ZeroDivisionError("first\nsecond"), ("run", "x" * 5000))
    assert code == 70
    found = re.fullmatch(r"einstellung: unexpected error, its trace is in (\S+): ZeroDivisionError: first", lines[0])
    assert found is not None, lines
    trace = Path(found[1]).read_text()
    assert "ZeroDivisionError: first\nsecond" in trace
    assert "'run'" in trace
    assert len(trace) < 5000
    assert len(lines) == 1


def test_a_trace_that_cannot_be_written_is_no_second_error(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    assert answer(capsys, KeyError("x")) == (
        70,
        ["einstellung: unexpected error, and its trace could not be written: KeyError: 'x'"],
    )


def test_arguments_that_are_no_text(capsys):
    code = guarded(lambda: 0, "einstellung", ["score", "a\udcffb"], "stopped")
    assert code == 2
    assert capsys.readouterr().err == "einstellung: the argument 'a\\\\udcffb' is not text in UTF-8\n"


def test_a_broken_pipe_is_an_error_while_somebody_listens(capsys, tmp_path, monkeypatch):
    with (tmp_path / "out").open("w") as listening:
        monkeypatch.setattr(sys, "stdout", listening)
        assert guarded(_broken_pipe, "einstellung", [], "stopped") == 70


def _broken_pipe() -> int:
    raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_long_messages_lose_what_they_quote(capsys):
    code, lines = answer(capsys, InputError(f"--set {'x' * 100_000}: no such key"))
    assert code == 2
    assert len(lines[0]) < 300
    assert lines[0].startswith("einstellung: --set xxx")
    assert lines[0].endswith("x: no such key")


def test_many_problems_are_not_a_thousand_lines(capsys):
    code, lines = answer(capsys, CombinedInputError(f"key {number}" for number in range(1000)))
    assert code == 2
    assert len(lines) == 21
    assert lines[-1] == "einstellung: and 980 more such problems"


@given(st.lists(st.text(min_size=1, max_size=400), min_size=1, max_size=8))
def test_a_problem_takes_one_line_of_fewer_than_300_characters(words):
    error = InputError(" ".join(words))
    said = io.StringIO()
    with redirect_stderr(said):
        guarded(_raising(error), "einstellung", [], "stopped")
    assert len(str(error)) <= 286
    assert "\n" not in str(error)
    (line,) = said.getvalue().splitlines()
    assert len(line) < 300


def test_an_unforeseen_error_of_any_length_names_the_file_with_its_trace(capsys):
    code, (line,) = answer(capsys, ZeroDivisionError("some long words " * 100))
    assert code == 70
    assert len(line) < 300
    assert Path(line.partition("its trace is in ")[2].partition(": Zero")[0]).exists()


def _raising(error: Exception) -> Callable[[], int]:
    def run() -> int:
        raise error

    return run
