"""Files that others wrote: regular ones only, up to a size, below their folder."""

from __future__ import annotations

import io
import lzma
import os
import zipfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from einstellung.errors import InputError
from einstellung.foreign_files import (
    XzReader,
    below,
    open_regular,
    read_bytes,
    read_text,
    require_unpacked,
    usable_path,
)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe; give a regular file"):
        open_regular(tmp_path / "pipe")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs devices")
def test_a_device_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="/dev/zero is not a regular file"):
        read_bytes("/dev/zero", 100)
    with pytest.raises(InputError, match="is a folder"):
        read_bytes(tmp_path, 100)


def test_the_limit_is_that_of_the_file(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x" * 100)
    assert read_bytes(path, 100) == b"x" * 100
    with pytest.raises(InputError, match="has 100 bytes; at most 99 bytes are read"):
        read_bytes(path, 99)


def test_missing_files_have_their_own_message(tmp_path):
    with pytest.raises(InputError, match=r"^nothing there$"):
        read_text(tmp_path / "none", 10, missing="nothing there")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"^nothing there$"):
        read_text(tmp_path / "file" / "below", 10, missing="nothing there")


def test_links_that_lead_out_are_refused(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret").write_text("x")
    (inside / "link").symlink_to(tmp_path / "secret")
    (inside / "loop").symlink_to("loop")
    (inside / "own").symlink_to("real")
    (inside / "real").write_text("x")
    assert below(inside, "own", "table: file") == inside / "own"
    for name in ("link", "../secret", "/etc/passwd", "a/../../secret", "C:\\secret"):
        with pytest.raises(InputError, match=r"table: file .* leads out of"):
            below(inside, name, "table: file")
    for name in ("loop", "a\0b"):
        with pytest.raises(InputError):
            below(inside, name, "table: file")


def test_paths_that_the_system_cannot_look_up(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    for text, message in (
        ("", "is empty"),
        (" \t", "is empty"),
        ("n" * 300, "cannot use .*File name too long"),
        ("n/" * 2500, "2,500 folders"),
        ("file/x", "cannot use .*Not a directory"),
        ("loop", "cannot use .*symbolic links"),
        ("a\0b", "cannot use"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            usable_path(text)
        assert len(str(caught.value)) < 290
    assert usable_path("new/folder").name == "folder"


@given(st.lists(st.binary(max_size=2000), min_size=1, max_size=4), st.integers(0, 3), st.integers(1, 5000))
def test_xz_streams_one_after_the_other(parts, padding, size):
    packed = b"".join(lzma.compress(part, preset=0) + b"\0" * 4 * padding for part in parts)
    reader = XzReader(io.BytesIO(packed))
    assert b"".join(iter(lambda: reader.read(size), b"")) == b"".join(parts)


def test_xz_may_not_ask_for_any_memory():
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**20}]
    content = bytearray(lzma.compress(b"x" * 100, format=lzma.FORMAT_XZ, filters=filters))
    assert XzReader(io.BytesIO(content)).read(200) == b"x" * 100
    with pytest.raises(EOFError):
        XzReader(io.BytesIO(content[:-20])).readall()
    # a dictionary of 1.5 GiB in the block's header, with its checksum
    place = 12
    size = (content[place] + 1) * 4
    header = bytearray(content[place : place + size - 4])
    header[header.index(b"\x21\x01") + 2] = 37
    content[place : place + size] = header + zlib.crc32(header).to_bytes(4, "little")
    with pytest.raises(lzma.LZMAError, match=r"[Mm]emory"):
        XzReader(io.BytesIO(bytes(content))).read(200)


def test_archives_of_weights_are_not_packed(tmp_path):
    for method, refused in ((zipfile.ZIP_STORED, False), (zipfile.ZIP_DEFLATED, True)):
        with zipfile.ZipFile(tmp_path / "a.pt", "w", method) as archive:
            archive.writestr("archive/data/0", b"\0" * 5_000_000)
        if refused:
            with pytest.raises(InputError, match="unpacks to 5 MiB"):
                require_unpacked(tmp_path / "a.pt")
        else:
            require_unpacked(tmp_path / "a.pt")
