"""The second reading takes the cache, and the cache never says anything but what the files say."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.sources import cifar100, load_cifar100
from einstellung.sources.cache import cache_folder, cached
from tests.sources.archives import FOLDER, published_as, small_files, write_archive, write_folder

ARCHIVE = Path("data") / f"{FOLDER}.tar.gz"


@pytest.fixture
def openings(monkeypatch) -> list[Path]:
    """Every time that a copy's files are really read."""
    opened: list[Path] = []
    read_files = cifar100.read_files
    monkeypatch.setattr(cifar100, "read_files", lambda path, known: (opened.append(path), read_files(path, known))[1])
    return opened


def entry() -> Path:
    return next(Path("cache").iterdir())


def test_the_archive_is_opened_once(files, published, openings):
    write_archive(ARCHIVE, files)
    first, second = load_cifar100(published), load_cifar100(published)
    assert openings == [ARCHIVE]
    assert isinstance(second.train.images, np.memmap)
    assert np.array_equal(first.train.images, second.train.images)
    assert np.array_equal(first.test.fine, second.test.fine)
    assert first.coarse_names == second.coarse_names


def test_the_same_with_and_without_a_cache(files, published, monkeypatch):
    write_folder(Path("data") / FOLDER, files)
    with_cache = load_cifar100(published)
    Path("a file").touch()
    monkeypatch.setenv("EINSTELLUNG_CACHE", "a file")
    with pytest.warns(UserWarning, match="not cached, so the data are decoded on every run"):
        without = load_cifar100(published)
    for part in ("train", "test"):
        for name in ("images", "fine", "coarse"):
            one, other = (getattr(getattr(data, part), name) for data in (with_cache, without))
            assert one.dtype == other.dtype
            assert np.array_equal(one, other)


@pytest.mark.parametrize("kind", ["archive", "folder"])
def test_changed_files_never_meet_an_old_cache(kind, files, published, openings):
    other = small_files(seed=1)
    write = write_archive if kind == "archive" else write_folder
    path = ARCHIVE if kind == "archive" else Path("data") / FOLDER
    write(path, files)
    before = np.array(load_cifar100(published).train.images)
    write(path, other)
    with pytest.raises(InputError, match="is not the published file"):
        load_cifar100(published)
    assert not np.array_equal(load_cifar100(published_as(other)).train.images, before)
    assert len(openings) == 3


def test_a_cache_made_from_other_published_files_is_not_a_pass(files, published):
    """The md5 that are asked for belong to the entry's name."""
    write_archive(ARCHIVE, files)
    load_cifar100(published)
    with pytest.raises(InputError, match="is not the published file"):
        load_cifar100(published_as(small_files(seed=1)))


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def flip_a_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-7] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("name", ["train_images.npy", "test_fine.npy", "manifest.json"])
@pytest.mark.parametrize("harm", [truncate, flip_a_bit, Path.unlink, lambda file: file.write_bytes(b"")])
def test_a_harmed_cache_is_made_anew(name, harm, files, published, openings):
    write_archive(ARCHIVE, files)
    right = np.array(load_cifar100(published).train.images)
    harm(entry() / name)
    assert np.array_equal(load_cifar100(published).train.images, right)
    assert len(openings) == 2
    load_cifar100(published)
    assert len(openings) == 2  # and is whole again


def test_a_manifest_that_does_not_fit_its_arrays(files, published, openings):
    write_archive(ARCHIVE, files)
    load_cifar100(published)
    manifest = entry() / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"<i8"', '"<i4"'))
    load_cifar100(published)
    assert len(openings) == 2


def test_writing_to_the_arrays_leaves_the_cache_alone(files, published):
    write_archive(ARCHIVE, files)
    images = load_cifar100(published).train.images
    before = int(images[0, 0, 0, 0])
    images[0, 0, 0, 0] = 255 - before
    assert int(load_cifar100(published).train.images[0, 0, 0, 0]) == before


def test_an_unwritable_cache_costs_a_warning_and_no_more(files, published, monkeypatch):
    write_archive(ARCHIVE, files)
    Path("a file").touch()
    monkeypatch.setenv("EINSTELLUNG_CACHE", "a file")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            assert len(load_cifar100(published).train.fine) == 200
    assert len(caught) == 1  # said once
    assert "not cached, so the data are decoded on every run" in str(caught[0].message)
    assert "cannot write a file" in str(caught[0].message)


def test_nothing_is_left_half_written(files, published):
    write_archive(ARCHIVE, files)
    load_cifar100(published)
    assert sorted(file.name for file in entry().iterdir()) == sorted(
        [f"{part}_{what}.npy" for part in ("train", "test") for what in ("images", "fine", "coarse")]
        + ["fine_names.npy", "coarse_names.npy", "manifest.json"]
    )


def test_a_cached_pickle_is_refused_and_made_anew(tmp_path):
    """An array of objects would have to be unpickled."""
    cached("e", lambda: {"a": np.arange(3)}, tmp_path)
    np.save(tmp_path / "e" / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert cached("e", lambda: {"a": np.arange(4)}, tmp_path)["a"].tolist() == [0, 1, 2, 3]


_WRITER = """
import sys, time
from pathlib import Path
import numpy as np
from einstellung.sources.cache import cached

def make():
    time.sleep(0.3)  # long enough for all to find nothing
    return {"a": np.arange(100_000), "b": np.full((50, 50), 7, dtype=np.uint8)}

arrays = cached("shared", make, Path(sys.argv[1]))
print(int(arrays["a"].sum()), int(arrays["b"].sum()))
"""


def test_several_processes_at_once(tmp_path):
    command = [sys.executable, "-W", "error", "-c", _WRITER, str(tmp_path)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert {process.communicate(timeout=120)[0] for process in processes} == {"4999950000 17500\n"}
    assert cached("shared", dict, tmp_path)["a"].shape == (100_000,)
    assert sorted(file.name for file in (tmp_path / "shared").iterdir()) == ["a.npy", "b.npy", "manifest.json"]


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("EINSTELLUNG_CACHE", "/mine")
    assert cache_folder() == Path("/mine")
    monkeypatch.delenv("EINSTELLUNG_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "einstellung"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache_folder() == Path("/home/someone/.cache/einstellung")
