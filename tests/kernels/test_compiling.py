"""Compiled code is kept until a source file of the kernels changes, whichever it is."""

from __future__ import annotations

import pytest

from einstellung.kernels import compiling

pytest.importorskip("numba")


def test_every_kernel_is_stamped_with_all_sources():
    from einstellung.kernels.loading import _kernels

    stamps = {kernel._cache._cache_file._source_stamp for kernel in _kernels().values()}
    assert stamps == {compiling.sources_digest()}


def test_the_stamp_changes_with_any_source(tmp_path, monkeypatch):
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.setattr(compiling, "__file__", str(tmp_path / "one.py"))

    def stamp():
        compiling.sources_digest.cache_clear()
        return compiling.sources_digest()

    before = stamp()
    assert stamp() == before
    (tmp_path / "two.py").write_text("x = 2\n")
    after = stamp()
    assert after != before
    (tmp_path / "two.py").rename(tmp_path / "three.py")
    assert stamp() not in (before, after)
    monkeypatch.undo()
    compiling.sources_digest.cache_clear()
