"""Write a folder of composites in the published layout, with contact sheets and a datasheet, atomically."""

from __future__ import annotations

import datetime
import errno
import os
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from einstellung.composites.build import Composites
from einstellung.composites.datasheet import datasheet
from einstellung.composites.published import BACKGROUND_ONLY, MANIFEST, MASK, OBJECT_MASK, case_name, group_name
from einstellung.composites.sources import KINDS, Pixels
from einstellung.composites.split_plan import Numbers, Parts, SplitPlan
from einstellung.errors import InputError
from einstellung.files import unfinished_folder, write_atomically, write_json, write_text
from einstellung.version import __version__

DATASHEET, SHEETS = "datasheet.md", "contact_sheets"
_BATCH = 64  # images
_SHEET_IMAGES, _SHEET_COLUMNS = 24, 6  # per contact sheet
_JPEG_QUALITY, _JPEG_SUBSAMPLING = 95, 0  # no chroma subsampling


def write_composites(
    out: Path, composites: Composites, settings: dict[str, Any], on_progress: Callable[[int, int], object]
) -> dict[str, Any]:
    """Write images, masks and backgrounds to a temporary folder and rename it to ``out``. Returns the folder's manifest."""
    check_out(out)
    record = {
        "made": datetime.date.today().isoformat(),
        "einstellung": __version__,
        "settings": settings,
        "sources": composites.words,
        "labels": {kind: list(composites.labels[kind]) for kind in KINDS},
        "images": {_split_of(plan): composites.counts(plan) for plan in composites.plans},
    }
    try:
        with unfinished_folder(out, "making") as unfinished:
            _write_all(unfinished, composites, on_progress)
            write_json(unfinished / MANIFEST, record)
            write_text(unfinished / DATASHEET, datasheet(composites, record))
            if out.is_dir():
                out.rmdir()  # empty
            os.replace(unfinished, out)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = "free some space" if full else "choose another --out"
        raise InputError(f"cannot write {out}: {error.strerror or error}; {what} (nothing was written)") from None
    return record


def check_out(out: Path) -> None:
    """Refuse an existing, non-empty folder."""
    try:
        taken = out.exists() and not (out.is_dir() and not any(out.iterdir()))
    except OSError as error:
        raise InputError(f"cannot read {out}: {error.strerror or error}") from None
    if taken:
        raise InputError(f"{out} exists: choose another --out, or delete it")


def _write_all(root: Path, composites: Composites, on_progress: Callable[[int, int], object]) -> None:
    done, total = 0, sum(len(plan.labels) for plan in composites.plans)
    for plan in composites.plans:
        correlations = composites.phases[0] if _split_of(plan) == "train" else (0.5, 0.5)
        split_folder = root / case_name(correlations) / _split_of(plan)
        for group, rows in _groups(composites, plan):
            name = group_name([composites.labels[kind][value] for kind, value in zip(KINDS, group, strict=True)])
            (split_folder / name).mkdir(parents=True)
            for start in range(0, len(rows), _BATCH):
                some = rows[start : start + _BATCH]
                _write_batch(split_folder / name, start, composites, plan.parts.take(some))
                done += len(some)
                on_progress(done, total)
            _write_sheet(
                root / SHEETS / f"{_split_of(plan)}_{name}.png",
                composites.layers.compose(plan.parts.take(rows[:_SHEET_IMAGES])).transpose(0, 2, 3, 1),
            )


def _groups(composites: Composites, plan: SplitPlan) -> Iterator[tuple[tuple[int, ...], Numbers]]:
    values = np.concatenate([plan.labels[:, None], composites.values(plan.parts)], axis=1)
    for group in product((0, 1), repeat=len(KINDS)):
        rows = np.flatnonzero((values == np.array(group)).all(axis=1))
        if len(rows):  # with a correlation of 1, some groups are empty
            yield group, rows


def _write_batch(folder: Path, first: int, composites: Composites, parts: Parts) -> None:
    layers = composites.layers
    pictures = layers.compose(parts).transpose(0, 2, 3, 1)
    masks, objects = (some * np.uint8(255) for some in (layers.target_masks(parts), layers.object_masks(parts)))
    for row in range(len(parts)):
        number = f"{first + row:03d}"
        Image.fromarray(np.ascontiguousarray(pictures[row])).save(
            folder / f"{number}.jpg", quality=_JPEG_QUALITY, subsampling=_JPEG_SUBSAMPLING
        )
        Image.fromarray(masks[row]).save(folder / f"{number}{MASK}")
        Image.fromarray(objects[row]).save(folder / f"{number}{OBJECT_MASK}")
        background = layers.backgrounds[parts.backgrounds[row]].transpose(1, 2, 0)
        Image.fromarray(np.ascontiguousarray(background)).save(folder / f"{number}{BACKGROUND_ONLY}")


def _write_sheet(path: Path, images: Pixels) -> None:
    count, side = len(images), images.shape[1]
    across = min(_SHEET_COLUMNS, count)
    sheet = np.full((-(-count // across) * (side + 2), across * (side + 2), 3), 255, dtype=np.uint8)
    for number, image in enumerate(images):
        top, left = (part * (side + 2) for part in divmod(number, across))
        sheet[top : top + side, left : left + side] = image
    write_atomically(path, lambda temporary: Image.fromarray(sheet).save(temporary, format="PNG"))


def _split_of(plan: SplitPlan) -> str:
    return "train" if plan.name.startswith("T") else plan.name
