"""A folder of composites in the published layout, with contact sheets and a datasheet: there as a whole, or not at all."""

from __future__ import annotations

import datetime
import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import einstellung
from einstellung.composites.datasheet import datasheet
from einstellung.composites.lots import Lot, Numbers, Parts
from einstellung.composites.making import Composites
from einstellung.composites.published import MADE, MASK, OBJECT_MASK, ONLY, case_name, group_name
from einstellung.composites.sources import KINDS, Pixels
from einstellung.errors import InputError
from einstellung.files import write_atomically, write_json, write_text

DATASHEET, SHEETS = "datasheet.md", "contact_sheets"
_AT_ONCE = 64  # images
_SHOWN, _ACROSS = 24, 6  # images on a sheet
_QUALITY, _COLOURS = 95, 0  # of JPEG files: colours as fine as brightness


def write_composites(
    out: Path, composites: Composites, settings: dict[str, Any], heard: Callable[[int, int], object]
) -> dict[str, Any]:
    """Write all images, masks and backgrounds beside ``out`` and put them in place in one step. Returns the folder's record."""
    check_out(out)
    record = {
        "made": datetime.date.today().isoformat(),
        "einstellung": einstellung.__version__,
        "settings": settings,
        "sources": composites.words,
        "labels": {kind: list(composites.labels[kind]) for kind in KINDS},
        "images": {_split(lot): composites.counts(lot) for lot in composites.lots},
    }
    unfinished: Path | None = None
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{out.name}-making-", dir=out.parent))
        _write_all(unfinished, composites, heard)
        write_json(unfinished / MADE, record)
        write_text(unfinished / DATASHEET, datasheet(composites, record))
        unfinished.chmod(0o755)
        if out.is_dir():
            out.rmdir()  # it is empty
        os.replace(unfinished, out)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = "free some room" if full else "choose another --out"
        raise InputError(f"cannot write {out}: {error.strerror or error}; {what}, nothing is left behind") from None
    finally:
        if unfinished is not None:
            shutil.rmtree(unfinished, ignore_errors=True)
    return record


def check_out(out: Path) -> None:
    """Refuse a place where something is already."""
    try:
        taken = out.exists() and not (out.is_dir() and not any(out.iterdir()))
    except OSError as error:
        raise InputError(f"cannot read {out}: {error.strerror or error}") from None
    if taken:
        raise InputError(f"{out} is there already: choose another --out, or take it away")


def _write_all(root: Path, composites: Composites, heard: Callable[[int, int], object]) -> None:
    done, total = 0, sum(len(lot.labels) for lot in composites.lots)
    for lot in composites.lots:
        correlations = composites.phases[0] if _split(lot) == "train" else (0.5, 0.5)
        place = root / case_name(correlations) / _split(lot)
        for group, rows in _groups(composites, lot):
            name = group_name([composites.labels[kind][value] for kind, value in zip(KINDS, group, strict=True)])
            (place / name).mkdir(parents=True)
            for start in range(0, len(rows), _AT_ONCE):
                some = rows[start : start + _AT_ONCE]
                _write_some(place / name, start, composites, lot.parts.take(some))
                done += len(some)
                heard(done, total)
            _write_sheet(
                root / SHEETS / f"{_split(lot)}_{name}.png",
                composites.layers.compose(lot.parts.take(rows[:_SHOWN])).transpose(0, 2, 3, 1),
            )


def _groups(composites: Composites, lot: Lot) -> Iterator[tuple[tuple[int, ...], Numbers]]:
    values = np.concatenate([lot.labels[:, None], composites.values(lot.parts)], axis=1)
    for group in product((0, 1), repeat=len(KINDS)):
        rows = np.flatnonzero((values == np.array(group)).all(axis=1))
        if len(rows):  # with a correlation of 1, some groups have none
            yield group, rows


def _write_some(folder: Path, first: int, composites: Composites, parts: Parts) -> None:
    layers = composites.layers
    pictures = layers.compose(parts).transpose(0, 2, 3, 1)
    masks, objects = (some * np.uint8(255) for some in (layers.target_masks(parts), layers.object_masks(parts)))
    for row in range(len(parts)):
        number = f"{first + row:03d}"
        Image.fromarray(np.ascontiguousarray(pictures[row])).save(
            folder / f"{number}.jpg", quality=_QUALITY, subsampling=_COLOURS
        )
        Image.fromarray(masks[row]).save(folder / f"{number}{MASK}")
        Image.fromarray(objects[row]).save(folder / f"{number}{OBJECT_MASK}")
        background = layers.backgrounds[parts.backgrounds[row]].transpose(1, 2, 0)
        Image.fromarray(np.ascontiguousarray(background)).save(folder / f"{number}{ONLY}")


def _write_sheet(path: Path, images: Pixels) -> None:
    count, side = len(images), images.shape[1]
    across = min(_ACROSS, count)
    sheet = np.full((-(-count // across) * (side + 2), across * (side + 2), 3), 255, dtype=np.uint8)
    for number, image in enumerate(images):
        top, left = (part * (side + 2) for part in divmod(number, across))
        sheet[top : top + side, left : left + side] = image
    write_atomically(path, lambda temporary: Image.fromarray(sheet).save(temporary, format="PNG"))


def _split(lot: Lot) -> str:
    return "train" if lot.name.startswith("T") else lot.name
