"""SpamAssassin's public corpus: 6,046 raw mails in three folders of ham and two of spam.

Read from the project's own archives (20030228_easy_ham.tar.bz2 and so on, one for each folder, of several the latest), from what
they unpack to, or from spam-assassin.tar.xz, one archive of all folders. A mail's name holds the md5 of its bytes, which is
compared.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from os import scandir
from os.path import isdir, isfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError
from einstellung.foreign_files import cannot_read
from einstellung.sources.corpora import Limits, files_within, first_usable, is_tar
from einstellung.sources.locations import DataLocation
from einstellung.sources.mails import ParsedMail, parse_mail

LABELS = ("ham", "spam")

_ALSO_CALLED = {
    "easy-ham-1": "easy_ham",
    "easy-ham-2": "easy_ham_2",
    "hard-ham-1": "hard_ham",
    "spam-1": "spam",
    "spam-2": "spam_2",
}
_ARCHIVES = (
    *("20030228_easy_ham.tar.bz2", "20030228_easy_ham_2.tar.bz2", "20030228_hard_ham.tar.bz2"),
    *("20030228_spam.tar.bz2", "20050311_spam_2.tar.bz2"),
)
_ARCHIVE = re.compile(r"(\d{8})_(\w+)\.(?:tar\.bz2|tar\.gz|tar\.xz|tar)")
_MAIL = re.compile(r"\d+\.([0-9a-f]{32})(?:\.txt)?")
_MIXED = "spam-assassin.tar.xz"
_LIMITS = Limits(file_bytes=2**23, all_bytes=2**28, files=50_000)


@dataclass(frozen=True)
class Mail:
    """A mail, the folder it comes from, its name there, and its label: 0 for ham, 1 for spam."""

    content: ParsedMail
    folder: str
    name: str
    label: int


@dataclass(frozen=True)
class SpamAssassin:
    """All mails in the order of folders and names, and where they were found."""

    mails: tuple[Mail, ...]
    found: Path

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        return np.array([mail.label for mail in self.mails], dtype=np.int64)

    def duplicates(self) -> list[list[int]]:
        """Groups of mails with the same subject and body, each in ascending order."""
        groups: dict[str, list[int]] = {}
        for number, mail in enumerate(self.mails):
            groups.setdefault(mail.content.digest, []).append(number)
        return [group for group in groups.values() if len(group) > 1]


@dataclass(frozen=True)
class PublishedSpamAssassin:
    """The mails of every folder, by the archives of 2003 and 2005; what was ``changed`` after it had been named (its md5 then
    and now), and what was ``removed`` in 2005 because it is no spam.
    """

    mails: Mapping[str, int]
    changed: Mapping[str, str]
    removed: frozenset[str] = frozenset()
    name: str = "spamassassin"
    title: str = "SpamAssassin's corpus"
    home: str = "https://spamassassin.apache.org/old/publiccorpus/"

    @property
    def how_to_get(self) -> str:
        """What to do if it is missing, for error messages."""
        return f"download {', '.join(_ARCHIVES)} from {self.home} into one folder, and set EINSTELLUNG_DATA to it"

    def copies(self, location: DataLocation) -> list[Path]:
        """Folders with mails or archives of the corpus, then the archive of all."""
        return spamassassin_copies(location)

    def check(self, copy: Path) -> str:
        """Read a copy, and say by what it is known to be intact."""
        _load(copy, self)
        return "md5 of every mail"


SPAMASSASSIN = PublishedSpamAssassin(
    mails={"easy_ham": 2_500, "easy_ham_2": 1_400, "hard_ham": 250, "spam": 500, "spam_2": 1_396},
    changed={"244a63cd74c81123ef26129453e32c95": "30e1fcfccb8a25b8550c292233698b67"},
    removed=frozenset({"00529.0c8a07bb7b14576063ba0c1c4079e209"}),
)


def load_spamassassin(path: Path | str | None = None, published: PublishedSpamAssassin = SPAMASSASSIN) -> SpamAssassin:
    """The first intact copy in ``path`` or else in the data locations."""
    return first_usable(
        published.title,
        None if path is None else Path(path).expanduser(),
        spamassassin_copies,
        lambda copy: _load(copy, published),
        published.how_to_get,
    )


def spamassassin_copies(location: DataLocation) -> list[Path]:
    """Folders with mails or archives of the corpus, then the archive of all; whether they are intact is not checked."""
    place = location.path
    if isfile(place):
        return [place] if is_tar(place) else []
    inside = [place, place / "spamassassin", place / "spam-assassin", place / "publiccorpus"]
    mixed = place / _MIXED
    return [*(folder for folder in inside if _sources(folder)), *([mixed] if isfile(mixed) else [])]


def _sources(place: Path) -> dict[str, Path]:
    """By the corpus's folders, the folder or else the latest archive below ``place`` that holds their mails."""
    folders, archives = {}, {}
    if not isdir(place):
        return {}
    try:
        with scandir(place) as entries:
            names = sorted(entry.name for entry in entries)
    except OSError as error:
        raise InputError(cannot_read(place, error)) from None
    for name in names:
        own = _ALSO_CALLED.get(name, name)
        if own in _ALSO_CALLED.values() and isdir(place / name):
            folders[own] = place / name
        elif (dated := _ARCHIVE.fullmatch(name)) and dated[2] in _ALSO_CALLED.values():
            archives[dated[2]] = place / name  # sorted by date: the latest stays
    # a folder 'spam' alone may be anybody's
    found = archives | folders
    return found if len(found) > 1 else archives


def _load(copy: Path, published: PublishedSpamAssassin) -> SpamAssassin:
    raw: dict[tuple[str, str], bytes] = {}
    if isfile(copy):
        raw |= _mails(copy)
    else:
        for folder, source in _sources(copy).items():
            if isdir(source):
                raw |= {(folder, name): content for (_, name), content in _mails(source, folder).items()}
            else:
                raw |= {place: content for place, content in _mails(source).items() if place[0] == folder}
    raw = {place: content for place, content in raw.items() if place[1] not in published.removed}
    for folder, count in published.mails.items():
        here = sum(place[0] == folder for place in raw)
        if here != count:
            raise InputError(f"{copy} has {here:,} mails in {folder}, where the published corpus has {count:,}")
    for (folder, name), content in raw.items():
        _verify(copy, folder, name, content, published)
    mails = [
        Mail(parse_mail(content), folder, name, LABELS.index("spam" if folder.startswith("spam") else "ham"))
        for (folder, name), content in sorted(raw.items())
        if folder in published.mails
    ]
    return SpamAssassin(tuple(mails), copy)


def _mails(source: Path, folder: str | None = None) -> dict[tuple[str, str], bytes]:
    """The mails of an archive by folder and name, or of a single folder."""

    def wanted(parts: tuple[str, ...]) -> bool:
        if folder is not None:
            return len(parts) == 1 and _MAIL.fullmatch(parts[0]) is not None
        return len(parts) >= 2 and _folder_of(parts) is not None and _MAIL.fullmatch(parts[-1]) is not None

    return {
        (folder or _folder_of(parts) or "", parts[-1].removesuffix(".txt")): content
        for parts, content in files_within(source, wanted, _LIMITS)
    }


def _folder_of(parts: tuple[str, ...]) -> str | None:
    name = _ALSO_CALLED.get(parts[-2], parts[-2])
    return name if name in _ALSO_CALLED.values() else None


def _verify(copy: Path, folder: str, name: str, content: bytes, published: PublishedSpamAssassin) -> None:
    named = name.split(".")[1]
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found not in (named, published.changed.get(named)):
        raise InputError(
            f"{folder}/{name} in {copy} is not the published mail (md5 {found}, should be that in its name)"
        )
