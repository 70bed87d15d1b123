"""Published data sets: names, sizes and hashes of their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

ARCHIVES = (".tar.gz", ".tar.xz", ".zip")


class Downloadable(Protocol):
    """A single file at an address, by whose hash it is known."""

    @property
    def address(self) -> str: ...
    @property
    def archive(self) -> str: ...
    @property
    def archive_hash(self) -> tuple[str, str]: ...
    @property
    def archive_bytes(self) -> int:
        """At most so many bytes."""


@dataclass(frozen=True)
class PublishedDataset:
    """``md5`` lists the files in ``folder``; ``archive`` is the single file at ``address`` that holds them all."""

    name: str
    title: str
    folder: str
    md5: Mapping[str, str]
    address: str
    archive: str
    archive_md5: str
    archive_bytes: int
    most_bytes: int  # of a file in the archive

    @property
    def how_to_get(self) -> str:
        """What to do if it is missing, for error messages."""
        return f"run 'einstellung data get {self.name}'"

    @property
    def archive_hash(self) -> tuple[str, str]:
        """Algorithm and hash of the archive."""
        return "md5", self.archive_md5


CIFAR100 = PublishedDataset(
    name="cifar100",
    title="CIFAR-100",
    folder="cifar-100-python",
    md5={
        "train": "16019d7e3df5f24257cddd939b257f8d",
        "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
        "meta": "7973b15100ade9c7d40fb424638fde48",
    },
    address="https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
    archive="cifar-100-python.tar.gz",
    archive_md5="eb9058c3a382ffc7106e4002c42a8d85",
    archive_bytes=169_001_437,
    most_bytes=155_249_918,
)
