"""What stands in the way of the kernels, and what is compiled."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from einstellung.kernels import compilation

pytest.importorskip("numba")

from einstellung.kernels import winograd


@pytest.fixture(autouse=True)
def _uncached() -> Iterator[None]:
    compilation.obstacle.cache_clear()
    yield
    compilation.obstacle.cache_clear()


def test_there_is_no_obstacle_where_numba_is() -> None:
    assert compilation.obstacle() is None


def test_without_numba_nothing_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "find_spec", lambda name: None)
    monkeypatch.setattr(compilation, "import_module", lambda name: pytest.fail(f"{name} imported"))
    assert compilation.obstacle() == "which needs numba: pip install 'einstellung[fast]'"


def test_where_numba_can_cache_nothing_the_reason_is_given_and_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def import_module(name: str) -> None:
        asked.append(name)
        raise RuntimeError("cannot cache function '_input4': no locator available for file 'winograd.py'")

    monkeypatch.setattr(compilation, "import_module", import_module)
    for _ in range(2):
        reason = compilation.obstacle()
        assert reason is not None
        assert "no locator available" in reason
        assert "NUMBA_CACHE_DIR" in reason
    assert len(asked) == 1


def test_code_counts_as_compiled_by_its_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file for an older source, or another processor's, is not enough."""
    compilation.load()
    assert compilation.is_compiled()
    stored = winograd.input4._cache._cache_file
    with monkeypatch.context() as patched:
        patched.setattr(stored, "_source_stamp", "another")
        assert not compilation.is_compiled()
    entries = {(key[0], ("another", "processor"), *key[2:]): name for key, name in stored._load_index().items()}
    assert entries
    monkeypatch.setattr(stored, "_load_index", lambda: entries)
    assert not compilation.is_compiled()
