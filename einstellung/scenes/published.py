"""The archives published by ConCon's authors: verified by hash, unpacked safely or not at all."""

from __future__ import annotations

import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from einstellung.errors import InputError
from einstellung.files import unfinished_folder
from einstellung.sources.reading import file_hash

CASES = {"strict": "case_strict_main", "disjoint": "case_disjoint_main", "unconfounded": "unconfounded"}
SHA256 = {
    "strict": "aae4ea262bc77c09b80803fe07b7b860b8b331e5f8370727fbd9af94d4edae4e",
    "disjoint": "f58d6cd5cb8ea80e6a203a0af01f9162d094b367575a945ad0e9f603f70ff13b",
    "unconfounded": "511e2213368dbed941d0308ea71c7eced140ea1828fb583c9c9579ae91034248",
}


def check_published_zip(path: Path) -> str:
    """The variant of a published archive, by its hash; any other file is refused."""
    found = file_hash(path, "sha256")
    for variant, known in SHA256.items():
        if found == known:
            return variant
    raise InputError(f"{path} is not one of ConCon's published archives (sha256 {found}): download it again")


def unpack_published(archive: Path, folder: Path) -> Path:
    """Unpack a published archive into ``folder``, atomically."""
    case = CASES[check_published_zip(archive)]
    target = folder / case
    if target.exists():
        raise InputError(f"{target} exists: delete it, or unpack into another folder")
    try:
        with unfinished_folder(target, "unpacking") as temporary:
            with zipfile.ZipFile(archive) as opened:
                for entry in opened.infolist():
                    _check_entry(entry, archive)
                opened.extractall(temporary)
            if not (temporary / case).is_dir():
                raise InputError(f"{archive} has no folder {case}: download it again")
            (temporary / case).rename(target)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise InputError(f"{archive} is damaged ({error}): download it again") from None
    except OSError as error:
        raise InputError(f"cannot unpack {archive} into {folder}: {error.strerror or error}") from None
    return target


def _check_entry(entry: zipfile.ZipInfo, archive: Path) -> None:
    """Refuse paths outside the folder, links and encrypted entries."""
    path = PurePosixPath(entry.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in entry.filename:
        raise InputError(f"{archive} holds '{entry.filename}', a path outside the folder: not unpacked")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise InputError(f"{archive} holds the link '{entry.filename}': not unpacked")
    if entry.flag_bits & 1:
        raise InputError(f"{archive} is encrypted")
