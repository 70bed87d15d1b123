"""Folders that a process may have to make, and folders that it must never make again once somebody has taken them away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from einstellung.errors import InputError

_kept: list[Path] = []


class FolderGoneError(InputError):
    """A results folder was moved or deleted while a study wrote into it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} is gone: it was moved or deleted while it was in use; rerun the command with --out and the folder's "
            "place, or a new one"
        )


@contextmanager
def never_recreated(folder: Path) -> Iterator[None]:
    """In this block, nothing that is written below ``folder`` makes that folder itself: its other files would be missing."""
    _kept.append(folder)
    try:
        yield
    finally:
        _kept.remove(folder)


def make_folder(folder: Path) -> None:
    """Make a folder and the folders above it; a :class:`FolderGoneError` where one of them is gone for good."""
    require_present(folder)
    if kept := [one for one in _kept if _is_below(folder, one)]:
        _make_below(max(kept, key=lambda one: len(one.absolute().parts)), folder)
    else:
        folder.mkdir(parents=True, exist_ok=True)


def require_present(folder: Path) -> None:
    """Raise a :class:`FolderGoneError` if a path is below a folder that is gone."""
    for kept in _kept:
        if _is_below(folder, kept) and not kept.exists():
            raise FolderGoneError(kept)


def _is_below(path: Path, folder: Path) -> bool:
    """As they are written: with ``a/../b``, ``a`` must be there."""
    return path.absolute().is_relative_to(folder.absolute())


def _make_below(kept: Path, folder: Path) -> None:
    for one in [*reversed(folder.parents), folder]:
        if _is_below(one, kept) and not one.exists():
            if one.absolute() == kept.absolute():
                raise FolderGoneError(kept)
            try:
                one.mkdir(exist_ok=True)
            except FileNotFoundError:  # it went in this moment
                raise FolderGoneError(kept) from None
