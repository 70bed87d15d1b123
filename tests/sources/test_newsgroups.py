"""20 Newsgroups in every layout it is found in, in small, and the real tables where they lie."""

from __future__ import annotations

import hashlib
import lzma
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.sources.newsgroups import NEWSGROUPS, PublishedNewsgroups, load_newsgroups
from tests.sources.hostile import announcing, write_files, write_tar

REAL = os.environ.get("EINSTELLUNG_DATA")
POST = b"From: someone@somewhere\nSubject: Re: cats\nNewsgroups: alt.%s\n\nThe %s text \xe9.\n"
GROUPS = ("atheism", "cats", "dogs")


def posts() -> dict[str, bytes]:
    """Three groups of two training posts and one test post, not in alphabetical order."""
    found = {}
    for group in reversed(GROUPS):
        for part, numbers in (("train", (9, 10)), ("test", (11,))):
            for number in numbers:
                content = POST % (group.encode(), str(number).encode())
                found[f"20news-bydate-{part}/alt.{group}/{number}"] = content
    return found


def table(rows: list[tuple[str, str]]) -> bytes:
    lines = ["Category\tText", "d\tstring", "class\t", "", *(f"{group}\t{text}" for group, text in rows)]
    return ("\n".join(lines) + "\n").encode()


TABLES = {
    "train": table([("alt.b", "one two"), ("alt.a", "three"), ("alt.b", "four")]),
    "test": table([("alt.a", "five"), ("alt.b", "six")]),
}
SMALL = PublishedNewsgroups(posts={"train": 6, "test": 3}, tables={}, groups=3)
SMALL_TABLES = PublishedNewsgroups(
    posts={}, tables={part: hashlib.sha256(content).hexdigest() for part, content in TABLES.items()}, groups=2
)


def put(layout: str, place: Path) -> Path:
    """The copy that should be found."""
    if layout == "folders":
        return write_files(place, posts())
    if layout == "folder of folders":
        return write_files(place / "20news-bydate", posts())
    return write_tar(place / "20news-bydate.tar.gz", posts())


@pytest.mark.parametrize("layout", ["folders", "folder of folders", "archive"])
def test_raw_posts(layout, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_DATA", "mine")
    copy = put(layout, Path("mine"))
    found = load_newsgroups(published=SMALL)
    assert found.found == copy
    assert found.distribution == "posts"
    assert found.groups == ("alt.atheism", "alt.cats", "alt.dogs")
    assert found.train.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert found.train.labels.dtype == np.int64
    assert found.train.texts[0] == "Re: cats\nThe 10 text é.\n"  # the order of names
    assert found.test.texts[2] == "Re: cats\nThe 11 text é.\n"
    assert load_newsgroups(headers="none", published=SMALL).test.texts[0] == "The 11 text é.\n"
    whole = load_newsgroups(headers="all", published=SMALL).test.texts[1]
    assert whole == (POST % (b"cats", b"11")).decode("latin-1")


@pytest.mark.parametrize("ending", ["", ".xz"])
def test_tables_of_words(ending):
    pack = lzma.compress if ending else bytes
    copy = write_files(
        Path("data"), {f"20newsgroups-{part}.tab{ending}": pack(content) for part, content in TABLES.items()}
    )
    found = load_newsgroups(published=SMALL_TABLES)
    assert (found.found, found.distribution, found.groups) == (copy, "words", ("alt.a", "alt.b"))
    assert found.train.texts == ("one two", "three", "four")
    assert found.train.labels.tolist() == [1, 0, 1]
    assert found.test.labels.tolist() == [0, 1]


def test_a_path_is_searched_alone_and_may_be_an_archive(tmp_path):
    put("archive", tmp_path / "data")
    archive = write_tar(tmp_path / "other.tgz", posts())
    assert load_newsgroups(archive, published=SMALL).found == archive
    with pytest.raises(InputError, match="there is no nowhere"):
        load_newsgroups("nowhere", published=SMALL)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"20 Newsgroups not found in .*empty: run 'einstellung data get newsgroups'"):
        load_newsgroups(tmp_path / "empty", published=SMALL)


def test_nothing_found_is_one_line():
    with pytest.raises(InputError) as caught:
        load_newsgroups()
    assert str(caught.value).startswith(
        "20 Newsgroups not found in ./data, ./data/CIFAR100 (EINSTELLUNG_DATA is not set)"
    )
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda files: files.pop("20news-bydate-train/alt.cats/9"), "is incomplete: 5 of 6 train posts"),
        (lambda files: files.pop("20news-bydate-test/alt.cats/11"), "is incomplete: 2 of 3 test posts"),
        (
            lambda files: files.update(
                {"20news-bydate-test/alt.dogs/11b": files.pop("20news-bydate-test/alt.cats/11")}
            ),
            "has no test posts of alt.cats",
        ),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_missing_is_named(change, words, packed, tmp_path):
    files = posts()
    change(files)
    copy = write_tar(tmp_path / "a.tar.gz", files) if packed else write_files(tmp_path / "a", files)
    with pytest.raises(InputError, match=f"no usable 20 Newsgroups: {copy} {words}"):
        load_newsgroups(copy, published=SMALL)


def test_an_empty_group_is_named(tmp_path):
    files = {name: content for name, content in posts().items() if "alt.cats" not in name}
    copy = write_files(tmp_path / "a", files)
    (copy / "20news-bydate-train/alt.cats").mkdir()
    few = PublishedNewsgroups(posts={"train": 4, "test": 2}, tables={}, groups=3)
    with pytest.raises(InputError, match="has 2 groups, not 3"):
        load_newsgroups(copy, published=few)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "sha256 unpacked"),
        (TABLES["train"] + b"x", "is not the published table"),
    ],
)
def test_another_table_is_refused(content, words, tmp_path):
    write_files(tmp_path, {"20newsgroups-train.tab": content, "20newsgroups-test.tab": TABLES["test"]})
    with pytest.raises(InputError, match=words):
        load_newsgroups(tmp_path, published=SMALL_TABLES)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x00\xff\xfe", r"not text in UTF-8 \(byte 2\)"),
        (b"Category,Text\n", "does not begin with the three lines"),
        (table([("alt.a", "x\ty")]), "line 5: 3 columns where there are two"),
        (table([("alt.a", "x")]).replace(b"alt.a\tx", b"alt.a"), "line 5: 1 columns where there are two"),
    ],
)
def test_tables_of_another_form(content, words, tmp_path):
    own = PublishedNewsgroups(posts={}, tables={"train": hashlib.sha256(content).hexdigest(), "test": ""}, groups=2)
    write_files(tmp_path, {"20newsgroups-train.tab": content, "20newsgroups-test.tab": TABLES["test"]})
    with pytest.raises(InputError, match=words):
        load_newsgroups(tmp_path, published=own)


def test_a_table_alone(tmp_path):
    write_files(tmp_path, {"20newsgroups-train.tab": TABLES["train"]})
    with pytest.raises(InputError, match=r"lacks 20newsgroups-test.tab"):
        load_newsgroups(tmp_path, published=SMALL_TABLES)


def test_a_cut_table(tmp_path):
    packed = lzma.compress(TABLES["train"])
    write_files(tmp_path, {"20newsgroups-train.tab.xz": packed[:-20]})
    with pytest.raises(InputError, match=r"20newsgroups-train.tab.xz is damaged"):
        load_newsgroups(tmp_path, published=SMALL_TABLES)


@pytest.mark.parametrize("kind", ["cut", "junk", "gzip of junk"])
def test_a_damaged_archive(kind, tmp_path):
    path = write_tar(tmp_path / "a.tar.gz", posts())
    if kind == "cut":
        path.write_bytes(path.read_bytes()[:-60])
    else:
        import gzip

        junk = bytes(range(256)) * 40
        path.write_bytes(gzip.compress(junk) if kind == "gzip of junk" else junk)
    with pytest.raises(InputError, match=f"{path} is damaged"):
        load_newsgroups(path, published=SMALL)


def test_a_member_that_leads_out_of_the_archive(tmp_path):
    for number, name in enumerate(("../20news-bydate-train/alt.cats/1", "/20news-bydate-train/alt.cats/1")):
        path = write_tar(tmp_path / f"{number}.tar.gz", posts() | {name: b"x"})
        with pytest.raises(InputError, match=f"'{name}' leads out of {path}"):
            load_newsgroups(path, published=SMALL)
    assert not list(tmp_path.parent.glob("20news*"))


@pytest.mark.parametrize("name", ["20news-bydate-train/alt.cats/1", "elsewhere"])
def test_a_member_of_two_gigabytes_is_refused_by_its_header(name, tmp_path):
    path = announcing(tmp_path / "a.tar", name, 2 * 10**9)
    with pytest.raises(InputError, match=f"'{name}' in {path} has 2,000,000,000 bytes; at most"):
        load_newsgroups(path, published=SMALL)


def test_links_are_not_followed(tmp_path):
    files = posts()
    files.pop("20news-bydate-test/alt.cats/11")
    copy = write_files(tmp_path / "a", files)
    (tmp_path / "secret").write_bytes(b"x")
    (copy / "20news-bydate-test/alt.cats").mkdir()
    (copy / "20news-bydate-test/alt.cats/11").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="2 of 3 test posts"):
        load_newsgroups(copy, published=SMALL)


def test_wrong_headers():
    with pytest.raises(InputError, match="headers is 'some': give subject, all or none"):
        load_newsgroups(headers="some")  # type: ignore[arg-type]


def test_the_real_tables():
    if REAL is None:
        pytest.skip("20 Newsgroups not found: EINSTELLUNG_DATA is not set")
    try:
        found = load_newsgroups(REAL)
    except InputError as error:
        pytest.skip(str(error))
    assert len(found.groups) == 20
    assert len(set(found.groups)) == 20
    if found.distribution == "words":
        assert (len(found.train), len(found.test)) == (11_293, 7_528)
        assert Counter(found.train.labels.tolist())[found.groups.index("talk.religion.misc")] == 377
        assert all(text == text.lower() for text in found.train.texts)
    else:
        assert (len(found.train), len(found.test)) == tuple(NEWSGROUPS.posts.values())
