"""Sets of scenes are drawn once, whoever asks, and are what their address says."""

from __future__ import annotations

import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest
from filelock import FileLock

from einstellung.scenes import store, work_chunks
from einstellung.scenes.rules import PAPER_RULES, ObjectPattern, RuleBook
from einstellung.scenes.store import attribute_set, cached_once, scene_set

SMALL = {"count": 3, "size": 16, "seed": 5, "backend": "numba"}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def drawings(monkeypatch) -> list[object]:
    """Every lot that is really drawn."""
    drawn: list[object] = []
    real = store.render_chunk

    def render_chunk(chunk, settings):
        drawn.append(chunk)
        return real(chunk, settings)

    monkeypatch.setattr(store, "render_chunk", render_chunk)
    return drawn


def test_what_a_set_holds():
    found = scene_set(PAPER_RULES, "strict", "val", 1, **SMALL)
    assert found.images.shape == (6, 16, 16, 3)
    assert found.masks.shape == (6, 16, 16)
    assert found.images.dtype == found.masks.dtype == np.uint8
    assert found.labels.tolist() == [1, 1, 1, 0, 0, 0]
    assert found.names[2:4] == ("t1/1/000002.png", "t1/0/000000.png")
    truths = PAPER_RULES.truths(found.attributes)
    assert truths[:, [0, 2]].tolist() == [[True, True]] * 3 + [[False, False]] * 3
    assert found.places is None
    some = found.take(np.array([4, 0]))
    assert some.names == ("t1/0/000001.png", "t1/1/000000.png")
    assert np.array_equal(some.scenes.position, found.scenes.position[[4, 0]])


def test_the_second_time_it_comes_from_the_cache(drawings):
    first = scene_set(PAPER_RULES, "strict", "test", 0, **SMALL)
    assert len(drawings) == 2
    second = scene_set(PAPER_RULES, "strict", "test", 0, **SMALL)
    assert len(drawings) == 2
    assert isinstance(second.images, np.memmap)
    assert np.array_equal(first.images, second.images)
    assert np.array_equal(first.scenes.lamps, second.scenes.lamps)


@pytest.mark.parametrize(
    "change",
    [
        {"count": 2},
        {"size": 24},
        {"seed": 6},
        {"backend": "torch"},
        {"task": 1},
        {"split": "val"},
        {"variant": "disjoint"},
    ],
)
def test_any_other_setting_is_another_entry(change, monkeypatch):
    keys = []

    def cached(entry, make, what, log):
        keys.append(entry)
        raise LookupError

    monkeypatch.setattr(store, "cached_once", cached)
    settings = {"variant": "strict", "split": "test", "task": 0, **SMALL}
    for one in (settings, settings, settings | change):
        with pytest.raises(LookupError):
            scene_set(PAPER_RULES, **one)
    with pytest.raises(LookupError):
        scene_set(replace(PAPER_RULES, objects=3), **settings)
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_fewer_scenes_are_the_first_of_more(monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", "off")
    more = scene_set(PAPER_RULES, "strict", "train", 0, **SMALL)
    fewer = scene_set(PAPER_RULES, "strict", "train", 0, **SMALL | {"count": 2})
    rows = [0, 1, 3, 4]
    assert fewer.names == tuple(more.names[row] for row in rows)
    assert np.array_equal(fewer.images, more.images[rows])
    assert np.array_equal(fewer.masks, more.masks[rows])


def test_the_attributes_alone_are_those_of_the_same_scenes():
    whole = scene_set(PAPER_RULES, "disjoint", "train", 2, **SMALL)
    bare = attribute_set(PAPER_RULES, "disjoint", "train", 2, count=3, seed=5)
    assert np.array_equal(bare.attributes, whole.attributes)
    assert (bare.names, bare.images, bare.scenes) == (whole.names, None, None)
    assert np.array_equal(bare.labels, whole.labels)


def test_several_workers_draw_the_same(monkeypatch):
    """Chunks of one scene each; that other processes give the same bytes is tested in test_dataset_writer."""
    asked = []
    monkeypatch.setattr(work_chunks, "CHUNK_SIZE", 1)
    monkeypatch.setattr(
        store, "map_in_processes", lambda work, pieces, workers: (asked.append(workers), map(work, pieces))[1]
    )
    monkeypatch.setenv("EINSTELLUNG_CACHE", "off")
    shared = scene_set(PAPER_RULES, "strict", "test", 0, **SMALL, workers=2)
    monkeypatch.setattr(work_chunks, "CHUNK_SIZE", 250)
    alone = scene_set(PAPER_RULES, "strict", "test", 0, **SMALL, workers=2)
    assert asked == [2, 1]  # six scenes are not worth a second process
    assert np.array_equal(shared.images, alone.images)
    assert shared.names == alone.names
    assert np.array_equal(shared.scenes.rotation, alone.scenes.rotation)


def test_places_where_the_rules_speak_of_them():
    book = RuleBook((ObjectPattern(shape="sphere", side="left"),), ((ObjectPattern(color="blue", depth="back"),),))
    whole = scene_set(book, "strict", "test", 0, **SMALL)
    bare = attribute_set(book, "strict", "test", 0, count=3, seed=5)
    assert whole.places.shape == (6, 4)
    assert np.array_equal(bare.places, whole.places)
    assert book.truths(whole.attributes, whole.places).all(axis=1).tolist() == [True] * 3 + [False] * 3


def test_without_a_cache_nothing_is_written(tmp_path, monkeypatch, drawings):
    with_cache = scene_set(PAPER_RULES, "unconfounded", "test", 0, **SMALL)
    monkeypatch.setenv("EINSTELLUNG_CACHE", "off")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    without = scene_set(PAPER_RULES, "unconfounded", "test", 0, **SMALL)
    assert len(drawings) == 4
    assert np.array_equal(with_cache.images, without.images)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_cannot_be_written_costs_a_warning(tmp_path, monkeypatch):
    (tmp_path / "a file").touch()
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "a file"))
    with pytest.warns(UserWarning, match="not cached, so the data are decoded on every run: cannot write"):
        assert cached_once("entry", lambda: {"numbers": np.arange(2)}, "numbers", print)["numbers"].tolist() == [0, 1]


def test_one_process_draws_while_others_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_QUIET_WAIT", 0.05)
    cache = tmp_path / "cache"
    cache.mkdir()
    messages, found = list[str](), list[object]()
    on_progress = threading.Event()

    def log(line: str) -> None:
        messages.append(line)
        on_progress.set()

    def ask() -> None:
        found.append(cached_once("entry", lambda: {"mine": np.zeros(1)}, "strict train", log)["theirs"])

    with FileLock(cache / ".entry.lock"):
        waiting = threading.Thread(target=ask)
        waiting.start()
        assert on_progress.wait(timeout=60)
        from einstellung.sources.cache import cached

        cached("entry", lambda: {"theirs": np.ones(1)})
    waiting.join(timeout=60)
    assert messages == ["strict train: another process is making the same data; waiting for it"]
    assert len(found) == 1  # what the other process made, not its own


def test_progress_is_logged(monkeypatch):
    monkeypatch.setattr(store, "progress_logger", lambda what, log: lambda done, total: log(f"{what} {done} {total}"))
    messages = list[str]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scene_set(PAPER_RULES, "strict", "test", 0, **SMALL, log=messages.append)
    assert messages == ["strict test t0 3 6", "strict test t0 6 6"]
