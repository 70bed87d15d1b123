"""A folder of scenes in the published layout: images, masks and records. Stopped at any moment, the same command goes on."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from filelock import FileLock, Timeout
from PIL import Image

from einstellung.errors import InputError
from einstellung.files import read_json, write_json, write_text
from einstellung.scenes.lots import Lot, Recipe, carried_out, draw, prepare
from einstellung.scenes.made import LIST, RECORDS, Order, begin, check_folder, split_finished, split_folder, split_lost
from einstellung.scenes.progress import Heard
from einstellung.scenes.published import CASES
from einstellung.scenes.records import record
from einstellung.scenes.sampling import SPLITS
from einstellung.sources.reading import file_hash

_UNFINISHED = ".making"
_LOCK = "lock"
_PARTS = ("images", "masks")
_FASTEST = 1  # of zlib's levels: files are a fifth larger than they could be, and written twice as fast


def make_scenes(order: Order, root: Path, workers: int, heard: Heard) -> dict[str, Any]:
    """Make what of ``order`` is not yet in ``root``; what is there and whole stays. Returns the folder's record."""
    order.check()
    check_folder(root, order)  # before anything is written there
    with _alone(root):
        made = begin(root, order)
        todo = [
            lot for variant in order.variants for split in SPLITS for lot in _missing(root, made, order, variant, split)
        ]
        total = sum(lot.count for variant in order.variants for split in SPLITS for lot in order.lots(variant, split))
        done = total - sum(lot.count for lot in todo)
        heard(done, total)
        if workers > 1 and len(todo) > 1:
            prepare(todo[0], order.recipe)
        finishing = {(lot.variant, lot.split): lot for lot in todo}  # the last lot of each split
        results = carried_out(partial(write_lot, recipe=order.recipe, root=root), todo, workers)
        for lot, _ in zip(todo, results, strict=True):
            done += lot.count
            heard(done, total)
            if finishing[lot.variant, lot.split] is lot:
                _finish(root, made, order, lot.variant, lot.split)
        for variant, split in ((variant, split) for variant in order.variants for split in SPLITS):
            if split not in made["cases"][CASES[variant]]["splits"]:  # stopped between its last lot and its end
                _finish(root, made, order, variant, split)
        _tidy(root, order)
        return made


def write_lot(lot: Lot, recipe: Recipe, root: Path) -> None:
    """Draw a lot and write its files; its record comes last, and holds the hash of each: a lot is whole or does not count."""
    drawn = draw(lot, recipe)
    folder = split_folder(root, lot.variant, lot.split)
    temporary = _record_of(root, lot).with_suffix(".png")
    hashes: dict[str, str] = {}
    try:
        for part, pictures in zip(_PARTS, (drawn.images, drawn.masks), strict=True):
            (folder / part / lot.names[0]).parent.mkdir(parents=True, exist_ok=True)
            for name, picture in zip(lot.names, pictures, strict=True):
                content = _png(picture)
                temporary.write_bytes(content)  # not synchronised with the disk, 100,000 times: the hashes tell
                os.replace(temporary, folder / part / name)
                hashes[f"{part}/{name}"] = hashlib.sha256(content).hexdigest()
    except OSError as error:
        raise InputError(
            f"cannot write to {folder}: {error.strerror or error}; the same command goes on from here"
        ) from None
    lines = [record(name, lot.task, lot.label, drawn.scenes, drawn.places, row) for row, name in enumerate(lot.names)]
    write_json(_record_of(root, lot), {"sha256": hashes, "lines": lines})


def _png(picture: npt.NDArray[np.uint8]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG", compress_level=_FASTEST)
    return buffer.getvalue()


def _missing(root: Path, made: dict[str, Any], order: Order, variant: str, split: str) -> list[Lot]:
    """The lots of a split that are not there, or not whole."""
    lots, folder = order.lots(variant, split), split_folder(root, variant, split)
    finished = made["cases"][CASES[variant]]["splits"].get(split)
    if finished is None:
        return [lot for lot in lots if not _is_whole(folder, _lot_hashes(root, lot))]
    listed = _listed(folder / LIST) if _has_hash(folder / LIST, finished[LIST]) else {}
    if RECORDS not in listed or not _has_hash(folder / RECORDS, listed[RECORDS]):
        split_lost(root, made, variant, split)  # without its lists, a split is made anew
        return lots
    return [
        lot
        for lot in lots
        if not _is_whole(folder, {f"{part}/{name}": listed[f"{part}/{name}"] for part in _PARTS for name in lot.names})
    ]


def _finish(root: Path, made: dict[str, Any], order: Order, variant: str, split: str) -> None:
    """Put the records of a split's lots together; of a split that was finished before, see that the repaired fit to it."""
    lots, folder = order.lots(variant, split), split_folder(root, variant, split)
    if split in made["cases"][CASES[variant]]["splits"]:
        listed = _listed(folder / LIST)
        for lot in lots:
            for name, value in (_lot_hashes(root, lot) or {}).items():
                if listed[name] != value:
                    raise InputError(f"{folder / name} comes out in other bytes than before: make the folder anew")
        return
    parts = [read_json(_record_of(root, lot)) for lot in lots]
    records = write_text(folder / RECORDS, "".join(f"{line}\n" for part in parts for line in part["lines"]))
    found = {name: value for part in parts for name, value in part["sha256"].items()}
    names = [name for lot in lots for name in lot.names]
    hashes = {f"{part}/{name}": found[f"{part}/{name}"] for part in _PARTS for name in names}
    hashes[RECORDS] = file_hash(records, "sha256")
    listed_in = write_text(folder / LIST, "".join(f"{value}  {name}\n" for name, value in hashes.items()))
    split_finished(root, made, variant, split, sum(lot.count for lot in lots), file_hash(listed_in, "sha256"))


def _tidy(root: Path, order: Order) -> None:
    """Nothing is unfinished of these variants any more; what there is of others stays for those who go on with them."""
    for variant in order.variants:
        for left in (root / _UNFINISHED).glob(f"{variant}-*"):
            left.unlink()
    if [left.name for left in (root / _UNFINISHED).iterdir()] == [_LOCK]:
        shutil.rmtree(root / _UNFINISHED, ignore_errors=True)  # with the lock in it, where the system allows that


def _record_of(root: Path, lot: Lot) -> Path:
    return root / _UNFINISHED / f"{lot.variant}-{lot.split}-t{lot.task}-{lot.label}-{lot.first}.json"


def _lot_hashes(root: Path, lot: Lot) -> dict[str, str] | None:
    path = _record_of(root, lot)
    return dict(read_json(path)["sha256"]) if path.is_file() else None


def _is_whole(folder: Path, hashes: dict[str, str] | None) -> bool:
    return hashes is not None and all(_has_hash(folder / name, value) for name, value in hashes.items())


def _has_hash(file: Path, expected: str) -> bool:
    return file.is_file() and file_hash(file, "sha256") == expected


def _listed(path: Path) -> dict[str, str]:
    lines = (line.split("  ", 1) for line in path.read_text(encoding="utf-8").splitlines())
    return {name: value for value, name in lines}


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """No two processes make the same folder."""
    try:
        (root / _UNFINISHED).mkdir(parents=True, exist_ok=True)
        lock = FileLock(root / _UNFINISHED / _LOCK, timeout=0)
        lock.acquire()
    except Timeout:
        raise InputError(f"another process is making {root}: wait for it, or choose another --out") from None
    except OSError as error:
        raise InputError(f"cannot write to {root}: {error.strerror or error}; choose another --out") from None
    try:
        yield
    finally:
        lock.release()
