"""Write a folder of scenes in the published layout: images, masks and records. An interrupted command resumes."""

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
from einstellung.scenes.manifest import (
    HASH_LIST,
    RECORDS,
    DatasetSpec,
    check_folder,
    mark_complete,
    mark_incomplete,
    open_manifest,
    split_folder,
)
from einstellung.scenes.progress import OnProgress
from einstellung.scenes.published import CASES
from einstellung.scenes.records import scene_record
from einstellung.scenes.sampling import SPLITS
from einstellung.scenes.work_chunks import RenderSettings, WorkChunk, compile_renderer, map_in_processes, render_chunk
from einstellung.sources.reading import file_hash

_WORK = ".making"
_LOCK = "lock"
_PARTS = ("images", "masks")
_COMPRESSION = 1  # zlib's fastest level: files a fifth larger, written twice as fast


def write_dataset(spec: DatasetSpec, root: Path, workers: int, on_progress: OnProgress) -> dict[str, Any]:
    """Make the missing or damaged parts of ``spec`` in ``root``, and return the folder's manifest."""
    spec.check()
    check_folder(root, spec)  # before anything is written there
    with _locked(root):
        manifest = open_manifest(root, spec)
        splits = [(variant, split) for variant in spec.variants for split in SPLITS]
        todo = [chunk for variant, split in splits for chunk in _missing(root, manifest, spec, variant, split)]
        total = sum(chunk.count for variant, split in splits for chunk in spec.chunks(variant, split))
        done = total - sum(chunk.count for chunk in todo)
        on_progress(done, total)
        if workers > 1 and len(todo) > 1:
            compile_renderer(todo[0], spec.rendering)
        last_of_split = {(chunk.variant, chunk.split): chunk for chunk in todo}
        results = map_in_processes(partial(write_chunk, settings=spec.rendering, root=root), todo, workers)
        for chunk, _ in zip(todo, results, strict=True):
            done += chunk.count
            on_progress(done, total)
            if last_of_split[chunk.variant, chunk.split] is chunk:
                _complete(root, manifest, spec, chunk.variant, chunk.split)
        for variant, split in splits:
            if split not in manifest["cases"][CASES[variant]]["splits"]:  # interrupted after its last chunk
                _complete(root, manifest, spec, variant, split)
        _clean_up(root, spec)
        return manifest


def write_chunk(chunk: WorkChunk, settings: RenderSettings, root: Path) -> None:
    """Render a chunk and write its files. Its record, with the hash of every file, comes last: without it nothing counts."""
    rendered = render_chunk(chunk, settings)
    folder = split_folder(root, chunk.variant, chunk.split)
    temporary = _chunk_record(root, chunk).with_suffix(".png")
    hashes: dict[str, str] = {}
    try:
        for part, pictures in zip(_PARTS, (rendered.images, rendered.masks), strict=True):
            (folder / part / chunk.names[0]).parent.mkdir(parents=True, exist_ok=True)
            for name, picture in zip(chunk.names, pictures, strict=True):
                content = _png(picture)
                temporary.write_bytes(content)  # no fsync for each of 100,000 files: the hashes reveal a torn write
                os.replace(temporary, folder / part / name)
                hashes[f"{part}/{name}"] = hashlib.sha256(content).hexdigest()
    except OSError as error:
        raise InputError(
            f"cannot write to {folder}: {error.strerror or error}; rerun the same command to resume"
        ) from None
    lines = [
        scene_record(name, chunk.task, chunk.label, rendered.scenes, rendered.places, row)
        for row, name in enumerate(chunk.names)
    ]
    write_json(_chunk_record(root, chunk), {"sha256": hashes, "lines": lines})


def _png(picture: npt.NDArray[np.uint8]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG", compress_level=_COMPRESSION)
    return buffer.getvalue()


def _missing(root: Path, manifest: dict[str, Any], spec: DatasetSpec, variant: str, split: str) -> list[WorkChunk]:
    """The chunks of a split that are missing or damaged."""
    chunks, folder = spec.chunks(variant, split), split_folder(root, variant, split)
    finished = manifest["cases"][CASES[variant]]["splits"].get(split)
    if finished is None:
        return [chunk for chunk in chunks if not _is_intact(folder, _chunk_hashes(root, chunk))]
    listed = _read_hashes(folder / HASH_LIST) if _has_hash(folder / HASH_LIST, finished[HASH_LIST]) else {}
    if RECORDS not in listed or not _has_hash(folder / RECORDS, listed[RECORDS]):
        mark_incomplete(root, manifest, variant, split)  # without its records, the whole split is made again
        return chunks
    return [
        chunk
        for chunk in chunks
        if not _is_intact(
            folder, {f"{part}/{name}": listed[f"{part}/{name}"] for part in _PARTS for name in chunk.names}
        )
    ]


def _complete(root: Path, manifest: dict[str, Any], spec: DatasetSpec, variant: str, split: str) -> None:
    """Join the records of a split's chunks; if the split was complete before, check that repaired files match its hashes."""
    chunks, folder = spec.chunks(variant, split), split_folder(root, variant, split)
    if split in manifest["cases"][CASES[variant]]["splits"]:
        listed = _read_hashes(folder / HASH_LIST)
        for chunk in chunks:
            for name, value in (_chunk_hashes(root, chunk) or {}).items():
                if listed[name] != value:
                    raise InputError(f"{folder / name} was rendered differently than before: make the folder again")
        return
    parts = [read_json(_chunk_record(root, chunk)) for chunk in chunks]
    records = write_text(folder / RECORDS, "".join(f"{line}\n" for part in parts for line in part["lines"]))
    found = {name: value for part in parts for name, value in part["sha256"].items()}
    names = [name for chunk in chunks for name in chunk.names]
    hashes = {f"{part}/{name}": found[f"{part}/{name}"] for part in _PARTS for name in names}
    hashes[RECORDS] = file_hash(records, "sha256")
    hash_list = write_text(folder / HASH_LIST, "".join(f"{value}  {name}\n" for name, value in hashes.items()))
    mark_complete(root, manifest, variant, split, sum(chunk.count for chunk in chunks), file_hash(hash_list, "sha256"))


def _clean_up(root: Path, spec: DatasetSpec) -> None:
    """Delete the chunk records of these variants; those of other, unfinished variants stay for their own command."""
    for variant in spec.variants:
        for left in (root / _WORK).glob(f"{variant}-*"):
            left.unlink()
    if [left.name for left in (root / _WORK).iterdir()] == [_LOCK]:
        shutil.rmtree(root / _WORK, ignore_errors=True)  # with the lock in it, where the system allows that


def _chunk_record(root: Path, chunk: WorkChunk) -> Path:
    return root / _WORK / f"{chunk.variant}-{chunk.split}-t{chunk.task}-{chunk.label}-{chunk.first}.json"


def _chunk_hashes(root: Path, chunk: WorkChunk) -> dict[str, str] | None:
    path = _chunk_record(root, chunk)
    return dict(read_json(path)["sha256"]) if path.is_file() else None


def _is_intact(folder: Path, hashes: dict[str, str] | None) -> bool:
    return hashes is not None and all(_has_hash(folder / name, value) for name, value in hashes.items())


def _has_hash(file: Path, expected: str) -> bool:
    return file.is_file() and file_hash(file, "sha256") == expected


def _read_hashes(path: Path) -> dict[str, str]:
    lines = (line.split("  ", 1) for line in path.read_text(encoding="utf-8").splitlines())
    return {name: value for value, name in lines}


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Only one process may write a folder."""
    try:
        (root / _WORK).mkdir(parents=True, exist_ok=True)
        lock = FileLock(root / _WORK / _LOCK, timeout=0)
        lock.acquire()
    except Timeout:
        raise InputError(f"another process is writing {root}: wait for it, or choose another --out") from None
    except OSError as error:
        raise InputError(f"cannot write to {root}: {error.strerror or error}; choose another --out") from None
    try:
        yield
    finally:
        lock.release()
