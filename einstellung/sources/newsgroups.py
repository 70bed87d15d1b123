"""20 Newsgroups: about 19,000 posts in 20 groups, split by date into training and test posts.

Two distributions are read. ``posts``: 20news-bydate (Jason Rennie's home page, scikit-learn), raw messages as a folder or
as 20news-bydate.tar.gz. ``words``: two tables of lower-case words without headers, 20newsgroups-train.tab and -test.tab (Orange),
also packed as .xz.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from os.path import isdir, isfile
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError
from einstellung.sources.corpora import Limits, files_within, first_usable, is_tar, read_packed
from einstellung.sources.locations import DataLocation

Headers = Literal["subject", "all", "none"]

_MOST_TABLE = 2**26
_LIMITS = Limits(file_bytes=2**21, all_bytes=2**28)
_PARTS = ("train", "test")
_FIRST_LINES = ("Category\tText", "d\tstring", "class")
_HEADER_END = re.compile(r"\r?\n[ \t]*\r?\n")
_SUBJECT = re.compile(r"^subject:[ \t]*(.*)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class LabelledTexts:
    """Texts in file order, and the number of each one's class."""

    texts: tuple[str, ...]
    labels: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Newsgroups:
    """Training and test posts, the names of the groups by label, the distribution (``posts``, ``words``), where it was found."""

    train: LabelledTexts
    test: LabelledTexts
    groups: tuple[str, ...]
    distribution: str
    found: Path


@dataclass(frozen=True)
class PublishedNewsgroups:
    """How many posts the raw distribution has, and the sha256 of the unpacked tables; ``groups``: how many there are."""

    posts: Mapping[str, int]
    tables: Mapping[str, str]
    groups: int = 20
    name: str = "newsgroups"
    title: str = "20 Newsgroups"
    address: str = "https://ndownloader.figshare.com/files/5975967"  # scikit-learn's copy; its home is qwone.com/~jason
    archive: str = "20news-bydate.tar.gz"
    archive_hash: tuple[str, str] = ("sha256", "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610")
    archive_bytes: int = 2**24  # at most: the archive has about 14 MB

    @property
    def how_to_get(self) -> str:
        """What to do if it is missing, for error messages."""
        return "run 'einstellung data get newsgroups'"

    def copies(self, location: DataLocation) -> list[Path]:
        """Folders, archives and folders of tables at a location."""
        return newsgroups_copies(location)

    def check(self, copy: Path) -> str:
        """Read a copy, and say by what it is known to be intact."""
        distribution = _load(copy, "subject", self).distribution
        return "number of posts" if distribution == "posts" else "sha256 of both tables"


NEWSGROUPS = PublishedNewsgroups(
    posts={"train": 11_314, "test": 7_532},
    tables={
        "train": "3287f997870c109a5ed8f58087afb95ae3f863c75092d47b07eebf1700d6ef9c",
        "test": "34a4c6261eda98d87f66d8e12a2cccba06918b7877442536ef6a13810a47ba39",
    },
)


def load_newsgroups(
    path: Path | str | None = None, headers: Headers = "subject", published: PublishedNewsgroups = NEWSGROUPS
) -> Newsgroups:
    """The first intact copy in ``path`` or else in the data locations.

    ``headers``, of raw posts: keep only the text of the subject, as in the tables of words (whose other headers are gone
    too), or ``all`` of the header, whose line 'Newsgroups:' names the group, or ``none``.
    """
    if headers not in ("subject", "all", "none"):
        raise InputError(f"headers is '{headers}': give subject, all or none")
    return first_usable(
        published.title,
        None if path is None else Path(path).expanduser(),
        newsgroups_copies,
        lambda copy: _load(copy, headers, published),
        f"{published.how_to_get}, or set EINSTELLUNG_DATA to the folder that holds it "
        "(20news-bydate-train/ and -test/, 20news-bydate.tar.gz, or 20newsgroups-*.tab)",
    )


def newsgroups_copies(location: DataLocation) -> list[Path]:
    """Folders, archives and folders of tables at a location; whether they are intact is not checked."""
    place = location.path
    if isfile(place):
        return [place] if is_tar(place) else []
    inside = [place, place / "20news-bydate", place / "20newsgroups"]
    folders = [folder for folder in inside if any(isdir(folder / f"20news-bydate-{part}") for part in _PARTS)]
    archives = [folder / name for folder in inside for name in ("20news-bydate.tar.gz", "20newsbydate.tar.gz")]
    tables = [folder for folder in inside if any(_table(folder, part) for part in _PARTS)]
    return [*folders, *(archive for archive in archives if isfile(archive)), *tables]


def _table(folder: Path, part: str) -> Path | None:
    files = (folder / f"20newsgroups-{part}.tab{ending}" for ending in ("", ".xz"))
    return next((file for file in files if isfile(file)), None)


def _load(copy: Path, headers: Headers, published: PublishedNewsgroups) -> Newsgroups:
    if isdir(copy) and not any(isdir(copy / f"20news-bydate-{part}") for part in _PARTS):
        found, distribution = _tables(copy, published), "words"
    else:
        found, distribution = _posts(copy, headers, published), "posts"
    groups = tuple(sorted({group for part in found.values() for group, _ in part}))
    number = {group: label for label, group in enumerate(groups)}
    if len(groups) != published.groups:
        raise InputError(f"{copy} has {len(groups)} groups, not {published.groups}")
    for part in _PARTS:
        if missing := sorted(set(groups) - {group for group, _ in found[part]}):
            raise InputError(f"{copy} has no {part} posts of {missing[0]}")
    train, test = (
        LabelledTexts(tuple(text for _, text in found[part]), np.array([number[group] for group, _ in found[part]]))
        for part in _PARTS
    )
    return Newsgroups(train, test, groups, distribution, copy)


def _posts(copy: Path, headers: Headers, published: PublishedNewsgroups) -> dict[str, list[tuple[str, str]]]:
    named = {f"20news-bydate-{part}": part for part in _PARTS}
    found: dict[str, list[tuple[tuple[str, str], str]]] = {part: [] for part in _PARTS}

    def wanted(parts: tuple[str, ...]) -> bool:
        return 3 <= len(parts) <= 4 and parts[-3] in named and not parts[-1].startswith(".")

    def add(place: Path, above: tuple[str, ...]) -> None:
        for below, content in files_within(place, lambda parts: wanted((*above, *parts)), _LIMITS):
            *_, part, group, name = (*above, *below)
            found[named[part]].append(((group, name), _without_headers(content.decode("latin-1"), headers)))

    if isdir(copy):  # nothing but the two parts: there may be much else beside them
        for name in named:
            add(copy / name, (name,))
    else:
        add(copy, ())
    for part in _PARTS:
        if len(found[part]) != published.posts[part]:
            raise InputError(f"{copy} is incomplete: {len(found[part]):,} of {published.posts[part]:,} {part} posts")
    # the order of an archive's members is not that of a folder
    return {part: [(group, text) for (group, _), text in sorted(found[part])] for part in _PARTS}


def _without_headers(post: str, headers: Headers) -> str:
    """
    >>> _without_headers("From: a\\nSubject: Re: b\\n\\nc", "subject"), _without_headers("From: a\\n\\nc", "none")
    ('Re: b\\nc', 'c')
    """
    end = _HEADER_END.search(post)
    if headers == "all" or end is None:
        return post
    body = post[end.end() :]
    subject = _SUBJECT.search(post, 0, end.start())
    return f"{subject[1].strip()}\n{body}" if headers == "subject" and subject else body


def _tables(folder: Path, published: PublishedNewsgroups) -> dict[str, list[tuple[str, str]]]:
    found = {}
    for part in _PARTS:
        file = _table(folder, part)
        if file is None:
            raise InputError(f"{folder} lacks 20newsgroups-{part}.tab or 20newsgroups-{part}.tab.xz")
        content = read_packed(file, _MOST_TABLE)
        if (is_now := hashlib.sha256(content).hexdigest()) != published.tables[part]:
            raise InputError(
                f"{file} is not the published table (sha256 unpacked {is_now}, should be {published.tables[part]})"
            )
        found[part] = _rows(file, content)
    return found


def _rows(file: Path, content: bytes) -> list[tuple[str, str]]:
    try:
        lines = content.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not text in UTF-8 (byte {error.start + 1:,})") from None
    if tuple(line.strip() for line in lines[:3]) != _FIRST_LINES:
        raise InputError(f"{file} does not begin with the three lines of a table of Category and Text")
    rows = []
    for number, line in enumerate(lines[3:], start=4):
        if not line.strip():
            continue
        group, tab, text = line.partition("\t")
        if not tab or "\t" in text:
            raise InputError(f"{file}, line {number}: {line.count(chr(9)) + 1} columns where there are two")
        rows.append((group, text))
    return rows
