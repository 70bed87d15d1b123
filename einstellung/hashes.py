"""Hashes by which a file that is read again proves that it is what was written.

A finished job records the :func:`fingerprint` of every file it leaves. A JSON record of ours holds a hash of itself (its seal),
so that a flipped bit in a number does not go on as another number. Files of older versions have no hash, or none above 4 MB:
they count as intact, and are listed as unverified.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.files import digest, read_json, write_json

SEAL = "sha256"
_LENGTH = 16  # hex digits: against accidents, not against forgers


class DamagedError(InputError):
    """A file is not what was written."""


_known: dict[tuple[int, ...], str] = {}  # what this process hashed; a file that changes has another key


def fingerprint(file: Path) -> dict[str, Any]:
    """The size and the hash of a file, which is read in pieces, and once by a process."""
    with file.open("rb") as stream:
        facts = os.fstat(stream.fileno())
        key = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        if key not in _known:
            _known[key] = hashlib.file_digest(stream, "sha256").hexdigest()[:_LENGTH]
        return {"bytes": facts.st_size, "sha256": _known[key]}


def fingerprint_of(content: bytes) -> dict[str, Any]:
    """The :func:`fingerprint` that a file with this content has.

    >>> fingerprint_of(b"abc")
    {'bytes': 3, 'sha256': 'ba7816bf8f01cfea'}
    """
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()[:_LENGTH]}


def has_size(file: Path, facts: Mapping[str, Any]) -> bool:
    """Whether a file is as long as it was: far cheaper than :func:`is_intact`."""
    return file.stat().st_size == facts.get("bytes")


def is_intact(file: Path, facts: Mapping[str, Any]) -> bool:
    """Whether a file has the recorded size and hash; by the size alone where an older version recorded no hash."""
    if not has_size(file, facts):
        return False
    return not is_verifiable(facts) or fingerprint(file)["sha256"] == facts["sha256"]


def is_verifiable(facts: Mapping[str, Any]) -> bool:
    """Whether a hash was recorded."""
    return facts.get("sha256") is not None


def sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values and a hash of them.

    >>> unsealed(sealed({"acc": 0.5}))
    {'acc': 0.5}
    >>> unsealed({**sealed({"acc": 0.5}), "acc": 0.7})
    Traceback (most recent call last):
    einstellung.hashes.DamagedError: is damaged: its content does not match its hash
    """
    return {**values, SEAL: _seal(values)}


def unsealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values without their seal, which is checked; a record of an older version has none."""
    inside = {key: value for key, value in values.items() if key != SEAL}
    if SEAL in values and values[SEAL] != _seal(inside):
        raise DamagedError("is damaged: its content does not match its hash")
    return inside


def write_sealed(path: Path, values: Mapping[str, Any]) -> Path:
    """Write a record with its seal, atomically."""
    return write_json(path, sealed(values))


def read_sealed(path: Path) -> dict[str, Any]:
    """A record without its seal; an error names a file that is missing, damaged, or not a record."""
    values = read_json(path)
    if not isinstance(values, dict):
        raise InputError(f"{path} is not a JSON object; delete or restore it")
    try:
        return unsealed(values)
    except DamagedError as error:
        raise DamagedError(f"{path} {error}") from None


def _seal(values: Mapping[str, Any]) -> str:
    return digest(json.loads(json.dumps(dict(values), allow_nan=False)), _LENGTH)  # as it reads from a file
