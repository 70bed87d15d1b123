"""``einstellung data get`` and ``data check`` as a user types them."""

# ruff: noqa: F811  (fixtures of another folder)

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from einstellung import sources
from einstellung.cli.data import data
from einstellung.errors import InputError
from tests.sources.archives import FOLDER, write_archive, write_folder
from tests.sources.conftest import _own_places, files, published, server  # noqa: F401
from tests.sources.web import CONTENT, NAME, PUBLISHED


@pytest.fixture(autouse=True)
def _small_ones(monkeypatch, published):
    """The record of the small data set, with the archive that the tests' server sends."""
    record = replace(published, archive_md5=PUBLISHED.archive_md5, archive_bytes=PUBLISHED.archive_bytes)
    monkeypatch.setattr(sources, "PUBLISHED", {"cifar100": record})
    monkeypatch.setenv("EINSTELLUNG_DATA", "")  # so that what --data sets is put back afterwards


def typed(*words: str) -> Result:
    return CliRunner().invoke(data, words)


def test_get_and_get_again(server):
    first = typed("get", "cifar100", "--url", server.url)
    assert first.exit_code == 0
    assert first.stdout == f"data/{NAME} is complete, with the right md5\n"
    assert f"{NAME}: 1 of 1 MB" in first.stderr
    assert (Path("data") / NAME).read_bytes() == CONTENT
    again = typed("get", "cifar100", "--url", server.url)
    assert again.stdout == f"data/{NAME} already exists, with the right md5\n"
    assert again.stderr == ""
    assert len(server.asked) == 1


def test_get_into_another_folder(server):
    typed("get", "cifar100", "--url", server.url, "--to", "some/where")
    assert (Path("some/where") / NAME).read_bytes() == CONTENT


def test_get_takes_the_published_address(server, monkeypatch):
    monkeypatch.setattr(sources, "PUBLISHED", {"cifar100": replace(PUBLISHED, address=server.url)})
    assert typed("get", "cifar100").exit_code == 0
    assert (Path("data") / NAME).read_bytes() == CONTENT


def test_what_goes_wrong_is_an_error_of_the_user(server):
    server.status = 404
    assert isinstance(typed("get", "cifar100", "--url", server.url).exception, InputError)
    assert typed("get", "cifar10").exit_code == 2


def test_check_where_nothing_lies():
    Path("data").mkdir()
    shown = typed("check")
    assert shown.exit_code == 2
    assert shown.stdout.splitlines() == [
        "cifar100: no usable copy: run 'einstellung data get cifar100'",
        "  ./data: no copy",
        "  ./data/CIFAR100: no such folder",
        f"cache: {Path('cache').absolute()}, 0 bytes",
    ]


def test_check_takes_the_names_that_get_takes(files, published):
    write_archive(Path("data") / f"{FOLDER}.zip", files)
    assert typed("check", "cifar100").stdout == typed("check").stdout
    wrong = typed("check", "cifar10")
    assert wrong.exit_code == 2
    assert "'cifar10' is not one of 'cifar100', 'newsgroups'" in wrong.output


def test_check_names_every_copy_and_the_one_that_is_used(files, published):
    write_folder(Path("data") / FOLDER, {**files, "meta": b"other"})
    write_archive(Path("data") / f"{FOLDER}.zip", files)
    shown = typed("check")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[0] == f"cifar100: usable, from data/{FOLDER}.zip"
    assert lines[2].startswith(f"    data/{FOLDER}: 'meta' in data/{FOLDER} is not the published file (md5 ")
    assert lines[3] == f"    data/{FOLDER}.zip: intact (md5 of every file)"


def test_check_as_json(files, published):
    write_archive(Path("mine") / f"{FOLDER}.tar.gz", files)
    shown = typed("check", "--json", "--data", "mine")
    assert shown.exit_code == 0
    answer = json.loads(shown.stdout)
    archive = str((Path("mine") / f"{FOLDER}.tar.gz").absolute())
    assert answer["cifar100"]["usable"] is True
    assert answer["cifar100"]["used"] == archive
    places = answer["cifar100"]["places"]
    assert [place["place"] for place in places] == ["EINSTELLUNG_DATA=mine", "./data", "./data/CIFAR100"]
    assert places[0]["found"] == [{"path": archive, "md5_right": True, "problem": None}]
    assert places[1] == {"place": "./data", "path": str(Path("data").absolute()), "exists": False, "found": []}
    assert answer["cache"] == {"path": str(Path("cache").absolute()), "bytes": 0, "problem": None}


def test_check_counts_the_cache(files, published):
    write_archive(Path("data") / f"{FOLDER}.zip", files)
    sources.load_cifar100(published)
    in_the_cache = sum(file.stat().st_size for file in Path("cache").rglob("*.*"))
    assert json.loads(typed("check", "--json").stdout)["cache"]["bytes"] == in_the_cache
    assert in_the_cache > 300 * 3072


def test_check_with_all_copies_broken(files):
    write_archive(Path("data") / f"{FOLDER}.zip", {"train": files["train"]})
    shown = typed("check", "--json")
    assert shown.exit_code == 2
    assert json.loads(shown.stdout)["cifar100"]["places"][0]["found"][0]["problem"].endswith("lacks test, meta")
