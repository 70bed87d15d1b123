"""Compiled code is cached until any source file of the kernels changes; forked processes make threads of their own."""

from __future__ import annotations

import os

import pytest
import torch

from einstellung.kernels import jit

pytest.importorskip("numba")


def test_every_kernel_is_stamped_with_all_sources():
    from einstellung.kernels.compilation import _calls

    stamps = {kernel._cache._cache_file._source_stamp for _, kernel, _ in _calls()}
    assert stamps == {jit.sources_digest()}


def test_the_stamp_changes_with_any_source(tmp_path, monkeypatch):
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.setattr(jit, "__file__", str(tmp_path / "one.py"))

    def stamp():
        jit.sources_digest.cache_clear()
        return jit.sources_digest()

    before = stamp()
    assert stamp() == before
    (tmp_path / "two.py").write_text("x = 2\n")
    after = stamp()
    assert after != before
    (tmp_path / "two.py").rename(tmp_path / "three.py")
    assert stamp() not in (before, after)
    monkeypatch.undo()
    jit.sources_digest.cache_clear()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_makes_threads_of_its_own() -> None:
    torch.set_num_threads(2)
    assert sum(jit.over_threads(lambda first, last: last - first, 4)) == 4
    child = os.fork()
    if child == 0:
        # no pool is left that would wait for threads of the other process for ever
        os._exit(0 if jit._pool.cache_info().currsize == 0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
