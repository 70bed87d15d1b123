"""Only the authors' archives are unpacked, and only into the folder that was named."""

from __future__ import annotations

import hashlib
import stat
import zipfile
from pathlib import Path

import pytest

from einstellung.errors import InputError
from einstellung.scenes import published
from einstellung.scenes.published import check_published_zip, unpack_published


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """Writes an archive and has it pass for the published one of the unconfounded variant."""

    def write(members: dict[str | zipfile.ZipInfo, str]) -> Path:
        path = tmp_path / "unconfounded.zip"
        with zipfile.ZipFile(path, "w") as opened:
            for name, content in members.items():
                opened.writestr(name, content)
        _pass_for_published(path, monkeypatch)
        return path

    return write


def _pass_for_published(path: Path, monkeypatch) -> None:
    monkeypatch.setitem(published.SHA256, "unconfounded", hashlib.sha256(path.read_bytes()).hexdigest())


def test_the_published_hashes_are_those_of_three_files():
    assert set(published.SHA256) == set(published.CASES)
    assert {len(value) for value in published.SHA256.values()} == {64}


def test_a_published_archive_appears_whole(archive, tmp_path):
    path = archive({"unconfounded/test/images/t0/1/a.png": "one", "unconfounded/test/images/t0/0/a.png": "two"})
    assert check_published_zip(path) == "unconfounded"
    target = unpack_published(path, tmp_path / "data")
    assert target == tmp_path / "data" / "unconfounded"
    assert (target / "test/images/t0/1/a.png").read_text() == "one"
    assert list((tmp_path / "data").iterdir()) == [target]
    with pytest.raises(InputError, match="exists: delete it"):
        unpack_published(path, tmp_path / "data")


def test_any_other_file_is_refused(archive, tmp_path):
    path = archive({"unconfounded/a.png": "one"})
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(InputError, match="is not one of ConCon's published archives"):
        unpack_published(path, tmp_path / "data")
    assert not (tmp_path / "data").exists()
    with pytest.raises(InputError, match="cannot read"):
        check_published_zip(tmp_path / "none.zip")


def link() -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo("unconfounded/link")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../outside.png", "a path outside the folder"),
        ("unconfounded/../../outside.png", "a path outside the folder"),
        ("/outside.png", "a path outside the folder"),
        ("..\\outside.png", "a path outside the folder"),
        ("C:outside.png", "a path outside the folder"),
        (link(), "holds the link"),
    ],
)
def test_nothing_is_written_elsewhere(name, message, archive, tmp_path):
    path = archive({"unconfounded/a.png": "one", name: "two"})
    with pytest.raises(InputError, match=message):
        unpack_published(path, tmp_path / "data")
    assert list((tmp_path / "data").iterdir()) == []
    assert not list(tmp_path.rglob("*outside*"))


def test_a_damaged_archive_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "unconfounded.zip"
    path.write_bytes(b"PK no zip at all")
    _pass_for_published(path, monkeypatch)
    with pytest.raises(InputError, match="is damaged"):
        unpack_published(path, tmp_path / "data")
    assert list((tmp_path / "data").iterdir()) == []


def test_an_archive_of_something_else_is_named(archive, tmp_path):
    with pytest.raises(InputError, match="has no folder unconfounded"):
        unpack_published(archive({"strict/a.png": "one"}), tmp_path / "data")
    assert list((tmp_path / "data").iterdir()) == []
