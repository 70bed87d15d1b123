"""Downloads against a server of our own: whole, cut, resumed, wrong, impossible."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from filelock import FileLock

from einstellung.errors import InputError
from einstellung.sources import downloading
from einstellung.sources.downloading import download
from tests.sources.web import CONTENT, NAME, PUBLISHED

TARGET, PART = Path("data") / NAME, Path("data") / f"{NAME}.part"


def left_behind() -> list[str]:
    return sorted(name for name in os.listdir("data") if not name.endswith(".lock"))


def test_a_whole_download_and_a_second_one(server):
    progress: list[tuple[int, int | None]] = []
    fetched = download(PUBLISHED, Path("data"), server.url, lambda *step: progress.append(step))
    assert fetched.path == TARGET
    assert not fetched.was_there
    assert TARGET.read_bytes() == CONTENT
    assert left_behind() == [NAME]
    assert progress[-1] == (len(CONTENT), len(CONTENT))
    assert [received for received, _ in progress] == sorted({received for received, _ in progress})
    assert download(PUBLISHED, Path("data"), server.url).was_there
    assert server.asked == [None]


def test_a_cut_connection_then_the_rest(server):
    server.hang_up_after = 600_000
    with pytest.raises(InputError, match=r"stopped after 0.6 MB \(.*\); rerun the command to resume"):
        download(PUBLISHED, Path("data"), server.url)
    assert PART.read_bytes() == CONTENT[:600_000]
    assert not TARGET.exists()
    server.hang_up_after = None
    progress: list[tuple[int, int | None]] = []
    download(PUBLISHED, Path("data"), server.url, lambda *step: progress.append(step))
    assert server.asked == [None, "bytes=600000-"]
    assert progress[0][0] > 600_000
    assert progress[-1] == (len(CONTENT), len(CONTENT))
    assert TARGET.read_bytes() == CONTENT
    assert left_behind() == [NAME]


def test_a_server_without_ranges_starts_anew(server):
    server.ranges = False
    PART.parent.mkdir()
    PART.write_bytes(CONTENT[:1000])
    download(PUBLISHED, Path("data"), server.url)
    assert server.asked == ["bytes=1000-"]
    assert TARGET.read_bytes() == CONTENT


def test_a_part_longer_than_the_file_starts_anew(server):
    PART.parent.mkdir()
    PART.write_bytes(CONTENT + b"more")
    download(PUBLISHED, Path("data"), server.url)
    assert server.asked == [f"bytes={len(CONTENT) + 4}-", None]
    assert TARGET.read_bytes() == CONTENT


def test_a_part_that_is_complete_needs_no_server():
    PART.parent.mkdir()
    PART.write_bytes(CONTENT)
    download(PUBLISHED, Path("data"), "http://127.0.0.1:1/")
    assert TARGET.read_bytes() == CONTENT


@pytest.mark.parametrize("start", [0, 1000])
def test_a_wrong_checksum_leaves_nothing_behind(server, start):
    PART.parent.mkdir()
    if start:
        PART.write_bytes(bytes(start))
    else:
        server.content = CONTENT[:-1] + b"x"
    with pytest.raises(
        InputError, match=rf"is not the published {NAME} \(md5 \w+, should be {PUBLISHED.archive_md5}\)"
    ):
        download(PUBLISHED, Path("data"), server.url)
    assert left_behind() == []


def test_a_server_that_never_ends_is_left(server):
    server.content = CONTENT * 40
    progress: list[int] = []
    with pytest.raises(InputError, match="is not the published"):
        download(PUBLISHED, Path("data"), server.url, lambda received, _: progress.append(received))
    assert max(progress) < 3 * len(CONTENT)
    assert left_behind() == []


def test_a_server_that_says_no_length(server):
    server.length = False
    progress: list[tuple[int, int | None]] = []
    download(PUBLISHED, Path("data"), server.url, lambda *step: progress.append(step))
    assert progress[-1] == (len(CONTENT), None)
    assert TARGET.read_bytes() == CONTENT


def test_a_wrong_file_of_that_name_is_replaced(server):
    TARGET.parent.mkdir()
    TARGET.write_bytes(b"something else")
    assert not download(PUBLISHED, Path("data"), server.url).was_there
    assert TARGET.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("status", "words"), [(404, "answers 404 Not Found"), (503, "answers 503 Service Unavailable")]
)
def test_a_server_that_refuses(server, status, words):
    server.status = status
    with pytest.raises(InputError, match=f"{words}: give another address with --url"):
        download(PUBLISHED, Path("data"), server.url)
    assert left_behind() == []


def test_nobody_there():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/{NAME}"
        with pytest.raises(InputError, match=r"cannot reach .* \(.*refused.*\): check the connection"):
            download(PUBLISHED, Path("data"), url)


def test_a_server_that_falls_silent(monkeypatch):
    monkeypatch.setattr(downloading, "_TIMEOUT", 0.2)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(InputError, match=r"cannot reach .*timed out"):
            download(PUBLISHED, Path("data"), f"http://127.0.0.1:{silent.getsockname()[1]}/")


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x", "/etc/passwd", "http://", "http://[", "x"]
)
def test_other_addresses_are_refused(url):
    with pytest.raises(InputError, match=r"--url .*: give an address that begins with http:// or https://"):
        download(PUBLISHED, Path("data"), url)
    assert not Path("data").exists()


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://127.0.0.1:1/x"])
def test_a_redirect_to_anything_else_is_refused(server, location):
    server.location = location
    with pytest.raises(InputError, match=r"answers 302|unknown url type"):
        download(PUBLISHED, Path("data"), server.url)
    assert left_behind() == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk(server):
    PART.parent.mkdir()
    PART.symlink_to("/dev/full")
    with pytest.raises(
        InputError, match=r"no space left while writing .*: free some space and rerun the command to resume"
    ):
        download(PUBLISHED, Path("data"), server.url)


def test_a_folder_that_cannot_be_made(server):
    Path("data").touch()
    with pytest.raises(InputError, match=r"cannot write to data: .*; choose another folder with --to"):
        download(PUBLISHED, Path("data"), server.url)


def test_two_at_once_do_not_write_into_one_part(server):
    Path("data").mkdir()
    with FileLock(Path("data") / f".{NAME}.lock"), pytest.raises(InputError, match="another einstellung process"):
        download(PUBLISHED, Path("data"), server.url)


def test_a_server_that_sends_a_byte_now_and_then(server, monkeypatch):
    """Patience is for a rate, not for each byte: otherwise a megabyte may take a month."""
    monkeypatch.setattr(downloading, "_PATIENCE", 0.3)
    server.pause = 0.05
    with pytest.raises(
        InputError, match=r"stopped after 0\.0 MB \(it has become too slow\); rerun the command to resume"
    ):
        download(PUBLISHED, Path("data"), server.url)
    server.pause = 0.0
    assert download(PUBLISHED, Path("data"), server.url).path.read_bytes() == CONTENT
    assert server.asked[-1] is not None  # it resumed
