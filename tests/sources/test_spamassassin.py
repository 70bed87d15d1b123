"""SpamAssassin's corpus in small in every layout, and the real one where it lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from einstellung.errors import InputError
from einstellung.sources.spamassassin import PublishedSpamAssassin, load_spamassassin
from tests.sources.hostile import announcing, mail_named, write_files, write_tar

REAL = os.environ.get("EINSTELLUNG_DATA")
FOLDERS = {"easy_ham": 3, "easy_ham_2": 2, "hard_ham": 1, "spam": 2, "spam_2": 1}
OTHER_NAMES = {
    "easy_ham": "easy-ham-1",
    "easy_ham_2": "easy-ham-2",
    "hard_ham": "hard-ham-1",
    "spam": "spam-1",
    "spam_2": "spam-2",
}
SMALL = PublishedSpamAssassin(mails=FOLDERS, changed={})


def mails(folder: str) -> dict[str, bytes]:
    contents = [f"Subject: {folder} {number}\n\nHello.\n".encode() for number in range(FOLDERS[folder])]
    return {mail_named(number, content): content for number, content in enumerate(contents)}


def put(layout: str, place: Path) -> Path:
    if layout == "folders":
        files = {f"{folder}/{name}": text for folder in FOLDERS for name, text in mails(folder).items()}
        return write_files(place, files | {f"{folder}/cmds": b"mv a b" for folder in FOLDERS})
    if layout == "archives":
        for folder in FOLDERS:
            files = {f"{folder}/{name}": text for name, text in mails(folder).items()} | {f"{folder}/cmds": b"x"}
            date = "20050311" if folder == "spam_2" else "20030228"
            write_tar(place / f"{date}_{folder}.tar.bz2", files)
        write_tar(place / "20021010_spam.tar.bz2", {"spam/0001.bfc8d64d12b325ff385cca8d07b84288": b"older"})
        return place
    files = {"LICENSE": b"CC0"}
    for folder, other in OTHER_NAMES.items():
        for name, text in mails(folder).items():
            files |= {f"data/{other}/{name}.txt": text, f"data/{other}/{name}.json": b"{}"}
    return write_tar(place / "spam-assassin.tar.xz", files)


@pytest.mark.parametrize("layout", ["folders", "archives", "one archive"])
def test_every_layout(layout):
    copy = put(layout, Path("data"))
    found = load_spamassassin(published=SMALL)
    assert found.found == copy
    assert found.labels.tolist() == [0] * 6 + [1] * 3
    assert [mail.folder for mail in found.mails] == [folder for folder, count in FOLDERS.items() for _ in range(count)]
    assert [mail.content.text for mail in found.mails][3] == "Subject: easy_ham_2 0\n\nHello.\n"
    assert [mail.name for mail in found.mails] == [name for folder in FOLDERS for name in sorted(mails(folder))]
    assert found.duplicates() == []


def test_folders_may_be_unpacked_beside_archives_that_are_missing(tmp_path):
    put("archives", tmp_path)
    (tmp_path / "20030228_easy_ham.tar.bz2").unlink()
    write_files(tmp_path / "easy_ham", mails("easy_ham"))
    assert len(load_spamassassin(tmp_path, published=SMALL).mails) == 9


def test_a_mail_that_was_removed_later_is_left_out(tmp_path):
    put("folders", tmp_path)
    removed = mail_named(99, b"no spam")
    write_files(tmp_path / "spam_2", {removed: b"no spam"})
    with pytest.raises(InputError, match="has 2 mails in spam_2, where the published corpus has 1"):
        load_spamassassin(tmp_path, published=SMALL)
    published = PublishedSpamAssassin(FOLDERS, {}, frozenset({removed}))
    assert len(load_spamassassin(tmp_path, published=published).mails) == 9


@pytest.mark.parametrize("layout", ["folders", "one archive"])
def test_a_changed_mail_is_named_by_its_md5(layout, tmp_path):
    name = next(iter(mails("spam_2")))
    if layout == "folders":
        copy = put(layout, tmp_path)
        (copy / "spam_2" / name).write_bytes(b"changed")
    else:
        files = {f"{OTHER_NAMES[folder]}/{own}.txt": text for folder in FOLDERS for own, text in mails(folder).items()}
        copy = write_tar(tmp_path / "a.tar.xz", files | {f"spam-2/{name}.txt": b"changed"})
    with pytest.raises(InputError, match=f"spam_2/{name} in {copy} is not the published mail"):
        load_spamassassin(copy, published=SMALL)
    known = PublishedSpamAssassin(FOLDERS, {name.split(".")[1]: "8977dfac2f8e04cb96e66882235f5aba"})
    assert len(load_spamassassin(copy, published=known).mails) == 9


def test_what_is_missing_is_named(tmp_path):
    copy = put("folders", tmp_path)
    (copy / "hard_ham" / next(iter(mails("hard_ham")))).unlink()
    with pytest.raises(InputError, match=f"no usable SpamAssassin's corpus: {copy} has 0 mails in hard_ham, where"):
        load_spamassassin(copy, published=SMALL)


def test_nothing_found_names_the_archives():
    with pytest.raises(
        InputError, match=r"20030228_easy_ham.tar.bz2, .*20050311_spam_2.tar.bz2 from https://spamassassin"
    ):
        load_spamassassin()


@pytest.mark.parametrize("kind", ["cut", "junk"])
def test_a_damaged_archive(kind, tmp_path):
    path = put("one archive", tmp_path)
    path.write_bytes(path.read_bytes()[:-100] if kind == "cut" else b"junk" * 1000)
    with pytest.raises(InputError, match=f"{path} is damaged"):
        load_spamassassin(path, published=SMALL)


def test_hostile_members(tmp_path):
    path = write_tar(tmp_path / "up.tar.bz2", {"../spam/0001.bfc8d64d12b325ff385cca8d07b84288": b"x"})
    with pytest.raises(InputError, match="leads out of"):
        load_spamassassin(path, published=SMALL)
    large = announcing(tmp_path / "large.tar", "spam/0001.bfc8d64d12b325ff385cca8d07b84288", 2 * 10**9)
    with pytest.raises(InputError, match="has 2,000,000,000 bytes; at most"):
        load_spamassassin(large, published=SMALL)


@pytest.fixture(scope="module")
def real():
    if REAL is None:
        pytest.skip("SpamAssassin's corpus not found: EINSTELLUNG_DATA is not set")
    try:
        return load_spamassassin(REAL)
    except InputError as error:
        pytest.skip(str(error))


def test_the_real_corpus(real):
    assert len(real.mails) == 6046
    assert int(real.labels.sum()) == 1896
    # the first line of every header's span is its name, and the text is that of the mail
    for mail in real.mails:
        for name, (start, _) in mail.content.headers:
            assert mail.content.text[start:].lower().startswith("from " if name.startswith("(") else f"{name}:")
    html = [bool(mail.content.html) for mail in real.mails]
    assert 1000 < sum(html) < 1500
    assert sum(len(group) - 1 for group in real.duplicates()) == 119
