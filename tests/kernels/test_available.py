"""Where the kernels can be used, what stands in their way, and what is ready."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch

from einstellung import kernels
from einstellung.errors import InputError
from einstellung.kernels import compiling

pytest.importorskip("numba")

from einstellung.kernels import loading, winograd


@pytest.fixture(autouse=True)
def found_out_anew() -> Iterator[None]:
    kernels._obstacle.cache_clear()
    yield
    kernels._obstacle.cache_clear()


def test_they_are_where_numba_is() -> None:
    assert kernels.available()
    kernels.require_available()


def test_without_numba_nothing_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "find_spec", lambda name: None)
    monkeypatch.setattr(kernels, "import_module", lambda name: pytest.fail(f"{name} imported"))
    assert not kernels.available()
    with pytest.raises(InputError, match=r"needs numba: pip install 'einstellung\[fast\]', or give 'auto'"):
        kernels.require_available()


def test_where_numba_can_keep_nothing_the_reason_is_given_and_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def import_module(name: str) -> None:
        asked.append(name)
        raise RuntimeError("cannot cache function '_input4': no locator available for file 'winograd.py'")

    monkeypatch.setattr(kernels, "import_module", import_module)
    assert not kernels.available()
    with pytest.raises(InputError, match=r"no locator available.*NUMBA_CACHE_DIR.*, or give 'auto'"):
        kernels.require_available()
    assert len(asked) == 1


def test_code_counts_as_compiled_by_its_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file for an older source, or another processor's, is not enough."""
    loading.load()
    assert loading.compiled()
    stored = winograd.input4._cache._cache_file
    with monkeypatch.context() as patched:
        patched.setattr(stored, "_source_stamp", "another")
        assert not loading.compiled()
    entries = {(key[0], ("another", "processor"), *key[2:]): name for key, name in stored._load_index().items()}
    assert entries
    monkeypatch.setattr(stored, "_load_index", lambda: entries)
    assert not loading.compiled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_copied_process_makes_threads_of_its_own() -> None:
    torch.set_num_threads(2)
    assert sum(compiling.in_parts(lambda first, last: last - first, 4)) == 4
    child = os.fork()
    if child == 0:
        # no pool is left that would wait for threads of the other process for ever
        os._exit(0 if compiling._pool.cache_info().currsize == 0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
