"""Describe a finished folder of scenes: contact sheets, a datasheet, and Croissant metadata."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from einstellung.errors import InputError
from einstellung.files import write_json, write_text
from einstellung.foreign_files import open_regular
from einstellung.scenes.contact_sheet import SheetRow, write_contact_sheet
from einstellung.scenes.croissant import croissant
from einstellung.scenes.datasheet import ClassFacts, datasheet
from einstellung.scenes.manifest import HASH_LIST, RECORDS
from einstellung.scenes.records import read_records, scenes_from_records
from einstellung.scenes.rules import RuleBook
from einstellung.scenes.sampling import SPLITS
from einstellung.sources.reading import file_hash

CONTACT_SHEET = "contact_sheet.png"
DATASHEET = "datasheet.md"
CROISSANT = "croissant.json"
_SHEET_IMAGES = 8


def write_descriptions(root: Path, manifest: Mapping[str, Any], book: RuleBook) -> list[Path]:
    """Write a contact sheet for every complete case, and datasheet and metadata for all of them; returns the files."""
    cases = {name: case for name, case in manifest["cases"].items() if case["complete"]}
    complete = {**manifest, "cases": cases}
    facts = [one for name in cases for one in _class_facts(root / name, book)]
    sheets = [
        write_contact_sheet(root / name / CONTACT_SHEET, book, case["variant"], _rows(root / name, facts))
        for name, case in cases.items()
    ]
    lists = [f"{name}/{split}/{file}" for name in cases for split in SPLITS for file in (RECORDS, HASH_LIST)]
    hashes = {path: file_hash(root / path, "sha256") for path in lists}
    return [
        *sheets,
        write_text(root / DATASHEET, datasheet(book, complete, facts)),
        write_json(root / CROISSANT, croissant(book, complete, hashes)),
    ]


def _class_facts(case: Path, book: RuleBook) -> list[ClassFacts]:
    """Counted in the records, not taken from the settings."""
    records = {split: read_records(case / split / RECORDS) for split in SPLITS}
    classes = sorted({(one["task"], -one["label"]) for one in records["train"].values()})
    found = []
    for task, label in ((task, -negative) for task, negative in classes):
        names = {
            split: [name for name, one in some.items() if (one["task"], one["label"]) == (task, label)]
            for split, some in records.items()
        }
        recorded = [scenes_from_records(names[split], records[split], case / split / RECORDS) for split in SPLITS]
        truths = np.concatenate([book.truths(one.attributes, one.places) for one in recorded])
        images = {split: len(some) for split, some in names.items()}
        found.append(ClassFacts(case.name, task, label, images, truths.mean(axis=0)))
    return found


def _rows(case: Path, facts: list[ClassFacts]) -> list[SheetRow]:
    rows = []
    for one in facts:
        if one.case == case.name:
            folder = case / "train" / "images" / f"t{one.task}" / str(one.label)
            images = [_picture(file) for file in sorted(folder.glob("*.png"))[:_SHEET_IMAGES]]
            rows.append(SheetRow(one.task, one.label, np.stack(images)))
    return rows


def _picture(file: Path) -> npt.NDArray[np.uint8]:
    try:
        with open_regular(file) as stream, Image.open(stream, formats=("PNG",)) as picture:
            return np.asarray(picture)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise InputError(f"{file} is not a readable image ({error}): make the folder again, which repairs it") from None
