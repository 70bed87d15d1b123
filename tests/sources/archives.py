"""Small data sets in the layout of CIFAR-100, byte for byte as Python 2 pickled it, in folders and archives."""

from __future__ import annotations

import hashlib
import struct
import tarfile
import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np

from einstellung.sources import CIFAR100, PublishedDataset

FOLDER = "cifar-100-python"


def python2_pickle(value: object) -> bytes:
    """Protocol 2 with Python 2's plain strings, which no pickler of Python 3 writes."""
    return b"\x80\x02" + _opcodes(value) + b"."


def _opcodes(value: object) -> bytes:
    match value:
        case dict():
            return b"}(" + b"".join(_opcodes(k) + _opcodes(v) for k, v in value.items()) + b"u"
        case list():
            return b"](" + b"".join(map(_opcodes, value)) + b"e"
        case str():
            return b"U" + bytes([len(value)]) + value.encode("latin1")
        case int():
            return b"J" + struct.pack("<i", value)
        case np.ndarray():
            return _array(value)
        case bytes():  # opcodes of the test's own
            return value
    raise TypeError(type(value))


def _array(array: np.ndarray) -> bytes:
    assert array.dtype == np.uint8
    empty = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    dtype = b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    shape = b"".join(_opcodes(int(side)) for side in array.shape) + b"\x86"
    return empty + b"(K\x01" + shape + dtype + b"\x89T" + struct.pack("<i", array.nbytes) + array.tobytes() + b"tb"


def small_files(train_per_class: int = 2, test_per_class: int = 1, seed: int = 0) -> dict[str, bytes]:
    """A hundred fine classes in twenty superclasses, images of noise, in no order of classes."""
    draws = np.random.default_rng(seed)
    superclass = draws.permutation(np.arange(100) // 5)
    files = {}
    for part, per_class in (("train", train_per_class), ("test", test_per_class)):
        fine = draws.permutation(np.arange(100).repeat(per_class))
        files[part] = python2_pickle(
            {
                "batch_label": "a small one",
                "fine_labels": fine.tolist(),
                "coarse_labels": superclass[fine].tolist(),
                "data": draws.integers(0, 256, (len(fine), 3072), dtype=np.uint8),
            }
        )
    names = {"fine_label_names": [f"fine_{n}" for n in range(100)], "coarse_label_names": list(COARSE_NAMES)}
    return {**files, "meta": python2_pickle(names)}


COARSE_NAMES = tuple(f"kind_{chr(ord('a') + number)}" for number in range(20))


def published_as(files: dict[str, bytes], archive: bytes = b"") -> PublishedDataset:
    """The record of a data set whose published files are just these."""
    md5 = {name: hashlib.md5(content).hexdigest() for name, content in files.items()}
    return replace(CIFAR100, md5=md5, archive_md5=hashlib.md5(archive).hexdigest(), archive_bytes=len(archive))


def write_folder(path: Path, files: dict[str, bytes]) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (path / name).write_bytes(content)
    return path


def write_archive(path: Path, files: dict[str, bytes], folder: str = f"{FOLDER}/") -> Path:
    """A .tar.gz, .tar.xz or .zip, as its name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(f"{folder}{name}", content)
        return path
    with tarfile.open(path, f"w:{path.suffix[1:]}", **({"preset": 0} if path.suffix == ".xz" else {})) as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"{folder}{name}")
            entry.size = len(content)
            tar.addfile(entry, BytesIO(content))
    return path
