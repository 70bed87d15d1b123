"""Class numbers by WordNet id: ImageNet numbers its 1000 classes in the order of their ids."""

from __future__ import annotations

import json
from pathlib import Path

from einstellung.classifiers.labelled import CLASSES, WNID, from_file_names, list_class_folders, list_pictures
from einstellung.errors import InputError
from einstellung.foreign_files import MOST_TABLE_BYTES, read_text


def wnids_in(file: Path) -> dict[str, int]:
    """Class numbers from a JSON table ``{"0": ["n01440764", "tench"], ...}``, or text lines that each start with an id.

    The order of lines does not matter: classes are numbered in the order of their ids.
    """
    text = read_text(file, MOST_TABLE_BYTES, "utf-8-sig")
    if file.suffix == ".json":
        return _from_json(text, file)
    ids = [line.split()[0] for line in text.splitlines() if line.strip()]
    if wrong := [one for one in ids if not WNID.fullmatch(one)]:
        raise InputError(f"{file}: '{wrong[0]}' is not a WordNet id such as n01440764; give one per line")
    return _in_order(ids, str(file))


def _from_json(text: str, file: Path) -> dict[str, int]:
    try:
        return {
            (entry if isinstance(entry, str) else entry[0]): int(index) for index, entry in json.loads(text).items()
        }
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise InputError(f'{file} is not a table {{"0": ["n01440764", "tench"], ...}} ({error})') from None


def _in_order(ids: list[str], where: str) -> dict[str, int]:
    if len(set(ids)) != CLASSES:
        raise InputError(f"{where} has {len(set(ids))} WordNet ids: all {CLASSES} are needed to number the classes")
    return {wnid: number for number, wnid in enumerate(sorted(ids))}


def known_wnids(file: Path | None, imagenet: Path | None) -> dict[str, int]:
    """Class numbers by id, from a file or from ImageNet itself: 1000 folders, or files named ``number_id_name``."""
    if file is not None:
        return wnids_in(file)
    if imagenet is not None:
        if files := list_pictures(imagenet):
            return {wnid: number for number, wnid in from_file_names(files).wnids.items()}
        return _in_order([folder.name for folder in list_class_folders(imagenet)], str(imagenet))
    return {}
