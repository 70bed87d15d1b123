"""The table of streams that each method runs on is what happens."""

from __future__ import annotations

import pytest

from einstellung.backbones import backbones
from einstellung.learners import learners
from tests.learners import where
from tests.learners.conftest import SmallNet


def test_the_page_names_every_method_on_every_stream(tmp_path):
    found = {(method, stream) for method, stream, _ in where.cells(where.shown())}
    assert found == {(method, stream) for method in learners for stream in where.columns(tmp_path)}


@pytest.mark.parametrize("name", ["shapes", "folder", "concon", "composites", "phrases", "waves", "concon, attributes"])
def test_the_page_says_what_happens(own_names, tmp_path, name):
    """A step in every phase. CIFAR-100, whose images take long to read, is tried when the table is written."""
    backbones.add("small", SmallNet)
    expected = {method: note for method, stream, note in where.cells(where.shown()) if stream == name}
    assert where.reasons(where.columns(tmp_path)[name]) == expected


def test_a_table_is_read_back(monkeypatch):
    note = next(iter(where.REASONS.values()))
    found = {"one": dict.fromkeys(learners), "two": dict.fromkeys(learners) | {"er": note}}
    assert {cell for cell in where.cells(where.table(found)) if cell[2]} == {("er", "two", note)}
