"""Which WordNet id is which class: ImageNet's classes are numbered in the order of their 1000 ids."""

from __future__ import annotations

import json
from pathlib import Path

from einstellung.classifiers.labelled import CLASSES, WNID, class_folders, numbered, pictures_in
from einstellung.errors import InputError


def wnids_in(file: Path) -> dict[str, int]:
    """The ids of a file: a JSON table ``{"0": ["n01440764", "tench"], ...}``, or text with one id at the start of each line.

    Lines may stand in any order: it is the order of the ids that counts.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read ({error}): give a file with one WordNet id a line") from None
    if file.suffix == ".json":
        return _from_json(text, file)
    ids = [line.split()[0] for line in text.splitlines() if line.strip()]
    if wrong := [one for one in ids if not WNID.fullmatch(one)]:
        raise InputError(f"{file}: '{wrong[0]}' is no WordNet id such as n01440764; give one a line")
    return _in_order(ids, str(file))


def _from_json(text: str, file: Path) -> dict[str, int]:
    try:
        return {
            (entry if isinstance(entry, str) else entry[0]): int(index) for index, entry in json.loads(text).items()
        }
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise InputError(f'{file} is not a table {{"0": ["n01440764", "tench"], ...}} ({error})') from None


def _in_order(ids: list[str], where: str) -> dict[str, int]:
    if len(set(ids)) != CLASSES:
        raise InputError(
            f"{where} has {len(set(ids))} WordNet ids, and the number of a class needs all {CLASSES} of them"
        )
    return {wnid: number for number, wnid in enumerate(sorted(ids))}


def known_wnids(file: Path | None, imagenet: Path | None) -> dict[str, int]:
    """Classes by id, from a file or from ImageNet itself: 1000 folders, or files named ``number_id_name``."""
    if file is not None:
        return wnids_in(file)
    if imagenet is not None:
        if files := pictures_in(imagenet):
            return {wnid: number for number, wnid in numbered(files).wnids.items()}
        return _in_order([folder.name for folder in class_folders(imagenet)], str(imagenet))
    return {}
