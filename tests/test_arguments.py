"""Values of command-line options, right and wrong."""

from __future__ import annotations

import os

import pytest

from einstellung.arguments import add_data_location, grid, names, numbers, whole_numbers, workers_from
from einstellung.errors import InputError


@pytest.mark.parametrize(
    ("parse", "words"),
    [
        (lambda: numbers("--margins", "1,x", 2), "--margins 1,x: give 2 numbers"),
        (lambda: numbers("--margins", "1,2", 3), "give 3 numbers"),
        (lambda: numbers("--rates", "inf"), "--rates inf: give numbers separated by commas"),
        (lambda: names("--methods", " , "), "give names separated by commas"),
        (lambda: whole_numbers("--seeds", "1.5"), "give whole numbers"),
        (lambda: grid("--tau-grid", "0.6:0.3:0.1"), "write first:last:step"),
        (lambda: grid("--tau-grid", "0:1:0.001"), "with at most 200 steps"),
        (lambda: workers_from("--workers", "0"), "--workers is 0: give a number from 1, or auto"),
        (lambda: workers_from("workers", True), "workers is True"),
    ],
)
def test_wrong_values_are_named_with_their_option(parse, words):
    with pytest.raises(InputError, match=words):
        parse()


def test_a_grid_holds_both_ends_whatever_the_rounding():
    assert grid("--tau-grid", "0.1:0.7:0.2") == (0.1, 0.3, 0.5, 0.7)
    assert grid("--tau-grid", "0.5,0.25") == (0.5, 0.25)


def test_a_given_data_folder_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_DATA", "elsewhere")
    add_data_location(None)
    assert os.environ["EINSTELLUNG_DATA"] == "elsewhere"
    add_data_location(tmp_path)
    assert os.environ["EINSTELLUNG_DATA"] == os.pathsep.join([str(tmp_path), "elsewhere"])
    with pytest.raises(InputError, match="no such file or folder"):
        add_data_location(tmp_path / "missing")
