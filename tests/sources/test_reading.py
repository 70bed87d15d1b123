"""Archives of published files: whatever they hold, memory and time are bounded before anything is unpacked."""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import tracemalloc
from dataclasses import replace

import pytest

from einstellung.errors import InputError
from einstellung.sources.reading import read_files

from .archives import FOLDER, published_as, small_files, write_archive

BOMB = 200_000_000


class Zeros(io.RawIOBase):
    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        buffer[:] = bytes(len(buffer))
        return len(buffer)


def tar_of_zeros(mode: str, name: str) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        entry = tarfile.TarInfo(name)
        entry.size = BOMB
        archive.addfile(entry, Zeros())
    return stream.getvalue()


@pytest.mark.parametrize("name", [f"{FOLDER}/train", "another"])
def test_a_bomb_is_refused_by_its_header(tmp_path, name):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(tar_of_zeros("w:gz", name))
    assert path.stat().st_size < BOMB / 500
    tracemalloc.start()
    with pytest.raises(InputError, match=f"'{name}' in .* has 200,000,000 bytes, more than any published file"):
        read_files(path, published_as(small_files()))
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(("ending", "pack"), [("bz2", bz2.compress), ("xz", lzma.compress)])
def test_a_packed_file_that_is_no_archive_is_not_unpacked_as_a_whole(tmp_path, ending, pack):
    path = tmp_path / f"a.tar.{ending}"
    path.write_bytes(pack(b"x" * 50_000_000))
    tracemalloc.start()
    with pytest.raises(InputError, match="is damaged"):
        read_files(path, published_as(small_files()))
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("name", ["a.tar.gz", "a.tar.xz", "a.zip"])
def test_a_sound_archive_within_the_limits_is_read(tmp_path, name):
    files = small_files()
    published = replace(published_as(files), most_bytes=max(map(len, files.values())))
    assert read_files(write_archive(tmp_path / name, files), published) == files
    with pytest.raises(InputError, match="more than any published file"):
        read_files(tmp_path / name, replace(published, most_bytes=published.most_bytes - 1))
