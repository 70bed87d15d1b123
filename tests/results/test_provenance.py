"""Provenance: what is recorded about the code, the packages and the machine."""

from __future__ import annotations

import json

import einstellung
from einstellung.results import provenance as module
from einstellung.results.provenance import code_hash, file_hashes, git_commit, provenance


def test_all_that_traces_a_number_back_is_recorded():
    record = provenance("einstellung run small.yaml", {"T1": "abc"})
    assert json.loads(json.dumps(record)) == record
    assert (record["command"], record["data"], record["finished"]) == (
        "einstellung run small.yaml",
        {"T1": "abc"},
        None,
    )
    assert record["code_version"] == einstellung.__version__
    assert record["code_hash"] == code_hash()
    assert record["packages"]["torch"]
    assert record["machine"]["cores"] >= 1


def test_equal_files_have_equal_hashes(tmp_path):
    for name, text in (("a", "x"), ("b", "x"), ("c", "y")):
        (tmp_path / name).write_text(text)
    hashes = file_hashes(sorted(tmp_path.iterdir()))
    assert hashes[str(tmp_path / "a")] == hashes[str(tmp_path / "b")] != hashes[str(tmp_path / "c")]


def test_without_git_there_is_no_commit(monkeypatch):
    def missing(*_):
        raise FileNotFoundError("git")

    monkeypatch.setattr(module, "_git", missing)
    assert git_commit() is None
