"""Hostile content: YAML, names, archives, pickles, arrays, weights and tables that nobody should be able to hurt us with."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import struct
import tarfile
import zipfile
from functools import cache
from pathlib import Path

import numpy as np

MARK = "CODE-WAS-EXECUTED"  # a file of this name appears in the current folder if a pickle runs


def _bomb(depth: int = 12, width: int = 10) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, depth):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]")
    return "\n".join(lines)


def _merge_bomb(depth: int = 26) -> str:
    lines = ["a0: &a0 {k: 1}"]
    for level in range(1, depth):
        lines.append(f"a{level}: &a{level} {{<<: [*a{level - 1}, *a{level - 1}]}}")
    return "\n".join(lines)


#: YAML documents that no file of ours may consist of.
YAML: dict[str, bytes] = {
    name: text.encode() if isinstance(text, str) else text
    for name, text in {
        "alias bomb": _bomb(),
        "merge bomb": _merge_bomb(),
        "500 deep in brackets": "name: " + "[" * 500 + "]" * 500,
        "100,000 deep in brackets": "name: " + "[" * 100_000,
        "500 deep in lines": "\n".join(" " * level + "a:" for level in range(500)),
        "500 deep in braces": "name: " + "{a: " * 500 + "1" + "}" * 500,
        "self-reference": "name: &a [*a]",
        "self-reference in a mapping": "&a {name: *a}",
        "a key twice": "seeds: [1]\nname: x\nseeds: [2]",
        "a key twice below": "training: {lr: 0.1, epochs: 2, lr: 0.2}",
        "bool tag": "seeds: !!bool x",
        "timestamp tag": "name: !!timestamp abc",
        "invalid date tag": "name: !!timestamp 2020-13-45",
        "invalid date": "seeds: 2020-13-45",
        "invalid time": "seeds: 2020-01-01 99:99:99",
        "int tag": "seeds: !!int x",
        "float tag": "seeds: !!float x",
        "binary tag": "name: !!binary ///",
        "set tag": "seeds: !!set {1, 2}",
        "omap tag": "seeds: !!omap [1]",
        "python tag": "name: !!python/object/apply:os.system ['touch " + MARK + "']",
        "python name tag": "name: !!python/name:os.system",
        "5,000 digits": "seeds: [" + "9" * 5000 + "]",
        "hexadecimal 5,000 digits": "seeds: [0x" + "f" * 5000 + "]",
        "sexagesimal number": "seeds: [" + ":".join(["59"] * 3000) + "]",
        "sexagesimal fraction": "seeds: [" + ":".join(["59"] * 3000) + ".5]",
        "a list as a key": "? [a, b]\n: 1",
        "unknown alias": "name: *nobody",
        "two documents": "name: a\n---\nname: b",
        "a list": "- 1\n- 2",
        "a word": "word",
        "a number": "5",
        "tabs": "training:\n\tlr: 1",
        "open quote": "name: 'abc",
        "open bracket": "seeds: [1, 2",
        "zero byte": b"name: a\x00b",
        "not UTF-8": b"name: \xff\xfe\xfa",
        "escape character": b"name: \x1b[31mred",
        "a picture": bytes(range(256)) * 16,
        "one line of 2 MB": "name: " + "x" * 2_000_000,
        "200,000 lines": "".join(f"k{number}: 1\n" for number in range(200_000)),
        "100,000 entries": "seeds: [" + "1," * 100_000 + "1]",
        "directive": "%YAML 9.9\n---\nname: a",
        "unknown tag": "name: !mine x",
        "a tag of 10,000 characters": "name: !" + "x" * 10_000 + " y",
        "an anchor of 10,000 characters": "name: &" + "x" * 10_000 + " y\nb: *" + "z" * 10_000,
    }.items()
}

#: Values for --set and --sweep, in YAML.
YAML_VALUES: dict[str, str] = {
    "nested 500": "[" * 500 + "]" * 500,
    "nested 50,000": "[" * 50_000,
    "self-reference": "&a [*a]",
    "bool tag": "!!bool x",
    "timestamp tag": "!!timestamp abc",
    "invalid date": "2020-13-45",
    "5,000 digits": "9" * 5000,
    "python tag": "!!python/object/apply:os.system ['touch " + MARK + "']",
    "a key twice": "{a: 1, a: 2}",
    "open bracket": "[1",
    "100,000 characters": "x" * 100_000,
    "set": "!!set {1}",
    "unknown alias": "*a",
    "sexagesimal": ":".join(["59"] * 3000),
}

#: Words where a number belongs.
NUMBERS = ("nan", "inf", "-inf", "", "x", "1e400", "9" * 5000, "1,2;3", "0x10", "--", "\u0661\u0662x", "\x1b[31m1")


class _Executes:
    """A pickle that leaves a mark where it is loaded with its full powers."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {MARK}",)


def pickled() -> bytes:
    return pickle.dumps(_Executes())


def npz(arrays: dict[str, bytes], compressed: bool = True) -> bytes:
    """A .npz file with these members, whatever they are."""
    stream = io.BytesIO()
    with zipfile.ZipFile(
        stream, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED, compresslevel=1
    ) as archive:
        for name, content in arrays.items():
            archive.writestr(name, content)
    return stream.getvalue()


def npy(array: np.ndarray, allow_pickle: bool = False) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=allow_pickle)
    return stream.getvalue()


def npy_that_claims(shape: str, dtype: str = "|u1", rest: bytes = b"") -> bytes:
    """A .npy header with any shape, and next to no data."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("latin1") + rest


@cache
def arrays() -> dict[str, bytes]:
    """Contents of a file that should be a .npz of plain arrays."""
    good = npy(np.zeros((2, 4, 4, 3), dtype=np.uint8))
    zeros = npy(np.zeros((8_000, 64, 64, 3), dtype=np.uint8))  # 94 MB, which pack into less than one
    return {
        "empty": b"",
        "text": b"hello",
        "a .npy": good,
        "cut": npz({"a.npy": good})[:-30],
        "half": npz({"a.npy": good})[: len(npz({"a.npy": good})) // 2],
        "a pickle": pickled(),
        "an array of objects": npz({"a.npy": npy(np.array([_Executes()], dtype=object), allow_pickle=True)}),
        "a pickle as a member": npz({"a.npy": pickled()}),
        "a shape of 10^12": npz({"a.npy": npy_that_claims("(1000000000000,)")}),
        "a shape of 10^9": npz({"a.npy": npy_that_claims("(1000000000,)")}),
        "a negative shape": npz({"a.npy": npy_that_claims("(-5,)")}),
        "a header that is code": npz({"a.npy": npy_that_claims(f"__import__('os').system('touch {MARK}')")}),
        "94 MB of zeros": npz({"a.npy": zeros}),
        "a zip of text": npz({"readme.txt": b"hello"}),
        "an empty zip": npz({}),
        "a flipped byte": _flipped(npz({"a.npy": good})),
    }


def _flipped(content: bytes) -> bytes:
    place = len(content) // 3
    return content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]


@cache
def weights() -> dict[str, bytes]:
    """Contents of a file that should hold weights."""
    huge = json.dumps({"w": {"dtype": "F32", "shape": [10**6, 10**6], "data_offsets": [0, 4 * 10**12]}}).encode()
    deep = b'{"a":' * 5000 + b"1" + b"}" * 5000
    two = json.dumps(
        {name: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} for name in ("a", "b")}
    ).encode()  # both at the same place
    return {
        "empty": b"",
        "text": b"hello",
        "a pickle": pickled(),
        "a pickle in torch's archive": npz({"archive/data.pkl": pickled(), "archive/version": b"3"}, compressed=False),
        "a header that claims 4 TB": struct.pack("<Q", len(huge)) + huge,
        "a header of 2^63 bytes": struct.pack("<Q", 2**63) + b"{}",
        "a header 5,000 deep": struct.pack("<Q", len(deep)) + deep,
        "two tensors at one place": struct.pack("<Q", len(two)) + two + b"\0" * 4,
        "no tensors": struct.pack("<Q", 2) + b"{}",
        "another header": struct.pack("<Q", 4) + b"null",
        "zeros": b"\0" * 4096,
        "a zip bomb": npz({"archive/data.pkl": b"\0" * 300_000_000}),
    }


@cache
def cifar_archives() -> dict[str, tuple[str, bytes]]:
    """Archives that should hold CIFAR-100: name of the file, and its content."""
    zeros = 2_000_000_000

    def tar(name: str, mode: str, member: str, size: int) -> bytes:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode=mode) as archive:
            entry = tarfile.TarInfo(member)
            entry.size = size
            archive.addfile(entry, _Zeros(size))
        return stream.getvalue()

    small = {
        "cifar-100-python/train": pickled(),
        "cifar-100-python/test": pickled(),
        "cifar-100-python/meta": pickled(),
    }
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w:gz") as archive:
        for name, content in small.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return {
        "gzip bomb as a member": ("cifar-100-python.tar.gz", tar("", "w:gz", "cifar-100-python/train", zeros)),
        "gzip bomb as another file": ("cifar-100-python.tar.gz", tar("", "w:gz", "cifar-100-python/other", zeros)),
        "pickles": ("cifar-100-python.tar.gz", plain.getvalue()),
        "empty": ("cifar-100-python.tar.gz", b""),
        "text": ("cifar-100-python.tar.gz", b"hello" * 100),
        "cut": ("cifar-100-python.tar.gz", plain.getvalue()[:-40]),
        "bzip2 bomb": ("cifar-100-python.tar.bz2", bz2.compress(b"\0" * 300_000_000)),
        "xz bomb": ("cifar-100-python.tar.xz", lzma.compress(b"\0" * 300_000_000, preset=1)),
        "xz that wants 1.5 GB": (
            "cifar-100-python.tar.xz",
            lzma.compress(
                b"\0" * 4096, format=lzma.FORMAT_XZ, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 3 * 2**29}]
            )
            if _has_memory()
            else b"",
        ),
        "zip with a path above": ("cifar-100-python.zip", npz({"../../train": b"x"})),
        "zip bomb": ("cifar-100-python.zip", npz({"cifar-100-python/train": b"\0" * 400_000_000})),
    }


def _has_memory() -> bool:
    return os.environ.get("EINSTELLUNG_FAULTS_BIG") == "1"  # packing with such a dictionary takes 15 GB


class _Zeros(io.RawIOBase):
    def __init__(self, size: int) -> None:
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = min(len(buffer), self._left)
        buffer[:count] = bytes(count)
        self._left -= count
        return count


@cache
def tables() -> dict[str, tuple[str, bytes]]:
    """Logs that are none: name of the file, and its content."""
    head = b"method,seed,phase,epoch,split,acc\n"
    row = b"sgd,1,T2,1,T2_shortcut_normal,0.5\n"
    return {
        "empty": ("a.csv", b""),
        "only a header": ("a.csv", head),
        "binary": ("a.csv", bytes(range(256)) * 100),
        "not UTF-8": ("a.csv", head + b"\xff\xfe,1,T2,1,a,0.5\n"),
        "20,000 columns": ("a.csv", b",".join(b"c%d" % n for n in range(20_000)) + b"\n" + b",".join([b"1"] * 20_000)),
        "9,999 columns": ("a.csv", b",".join(b"c%d" % n for n in range(9_999)) + b"\n" + b",".join([b"1"] * 9_999)),
        "zeros in a group": ("a.csv", head + row.replace(b"T2_shortcut_normal", b"group_0_" + b"0" * 16)),
        "many zeros in a group": ("a.csv", head + row.replace(b"T2_shortcut_normal", b"group_0_" + b"0" * 4000)),
        "a long number in a group": ("a.csv", head + row.replace(b"T2_shortcut_normal", b"group_0_" + b"9" * 16)),
        "nan": ("a.csv", head + row.replace(b"0.5", b"nan")),
        "inf": ("a.csv", head + row.replace(b"0.5", b"inf")),
        "accuracy of 7": ("a.csv", head + row.replace(b"0.5", b"7")),
        "seed of 5,000 digits": ("a.csv", head + row.replace(b",1,T2", b"," + b"9" * 5000 + b",T2")),
        "epoch of 1e300": ("a.csv", head + row.replace(b"T2,1,", b"T2,1e300,")),
        "a cell of 1 MB": ("a.csv", head + row.replace(b"sgd", b"m" * 1_000_000)),
        "ragged": ("a.csv", head + b"sgd,1,T2\n" + b"sgd,1,T2,1,a,0.5,7,8,9\n"),
        "open quote": ("a.csv", head + b'"sgd,1,T2,1,a,0.5\n' * 3),
        "gzip bomb": ("a.csv.gz", gzip.compress(b"\0" * 700_000_000, 1)),
        "gzip of nothing": ("a.csv.gz", gzip.compress(b"")),
        "cut gzip": ("a.csv.gz", gzip.compress(head + row * 100)[:-20]),
        "broken xz": ("a.csv.xz", b"\xfd7zXZ\x00" + b"abc" * 30),
        "JSON 100,000 deep": ("a.json", b"[" * 100_000),
        "JSON of a number": ("a.json", b"5"),
        "JSON of 5,000 digits": ("a.json", b'[{"seed": ' + b"9" * 5000 + b"}]"),
        "JSON with a key twice": ("a.json", b'[{"seed": 1, "seed": 2}]'),
        "JSON lines, cut": ("a.jsonl", b'{"method": "sgd"}\n{"method":'),
        "Parquet of text": ("a.parquet", b"PAR1" + b"hello" * 30 + b"PAR1"),
        "Parquet, empty": ("a.parquet", b""),
        "event file of zeros": ("events.out.tfevents.1", b"\0" * 1000),
        "event file that claims 2^60": ("events.out.tfevents.1", struct.pack("<Q", 2**60) + b"\0" * 100),
        "W&B file of text": ("run-abc.wandb", b":W&B\xbc\xe8\x00" + b"x" * 200),
    }


def make_files(folder: Path, contents: dict[str, bytes]) -> dict[str, Path]:
    """Write each content below its name."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for number, (name, content) in enumerate(contents.items()):
        made[name] = folder / f"{number}.bin"
        made[name].write_bytes(content)
    return made
