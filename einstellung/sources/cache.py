"""A cache of arrays: plain .npy files, memory-mapped when they are read again.

An entry is named by the content it was made from, and its manifest holds the hash of every array. An entry that is truncated,
half written or made from other files is never used but computed again. A cache that cannot be written costs time, not the run.
``EINSTELLUNG_CACHE=off`` disables it: files are decoded every time, and nothing is written.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError
from einstellung.files import read_json, write_atomically, write_json
from einstellung.sources.reading import file_hash

Arrays = Mapping[str, npt.NDArray[Any]]

VARIABLE = "EINSTELLUNG_CACHE"
OFF = "off"
_MANIFEST = "manifest.json"


def is_off() -> bool:
    """Whether the user has disabled the cache."""
    return os.environ.get(VARIABLE, "").lower() == OFF


def cache_folder() -> Path:
    """``$EINSTELLUNG_CACHE``, or ``einstellung`` in the user's cache folder."""
    if is_off():
        raise InputError(f"disabled by {VARIABLE}={os.environ[VARIABLE]}")
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen).expanduser()
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if shared.is_absolute():  # the XDG specification says to ignore relative paths
        return shared / "einstellung"
    try:
        return Path.home() / ".cache" / "einstellung"
    except RuntimeError:
        raise InputError(f"there is no home folder for a cache; set {VARIABLE}") from None


def cache_bytes(folder: Path) -> int:
    """The size of the cache on disk."""
    return sum(file.stat().st_size for file in folder.glob("*/[!.]*") if file.is_file())


def is_stored(entry: str) -> bool:
    """Whether the cache has an entry of this name; its content is checked when it is read."""
    try:
        return (cache_folder() / entry / _MANIFEST).exists()
    except InputError:  # there is no cache
        return False


def cached(entry: str, make: Callable[[], Arrays], root: Path | None = None) -> Arrays:
    """The arrays of ``entry``, mapped from the cache; ``make`` computes them if they are not there.

    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> cached("example", lambda: {"squares": np.arange(3) ** 2}, root)["squares"].tolist()
    [0, 1, 4]
    >>> cached("example", lambda: {}, root)["squares"].tolist()  # not computed again
    [0, 1, 4]
    """
    if root is None and is_off():
        return make()
    try:
        folder = (root or cache_folder()) / entry
    except InputError as reason:
        return _with_warning(make(), reason)
    if (stored := _stored(folder)) is not None:
        return stored
    arrays = make()
    try:
        _store(folder, arrays)
    except InputError as reason:
        return _with_warning(arrays, reason)
    return _stored(folder) or arrays  # mapped: processes that use the same entry share its memory


def _with_warning(arrays: Arrays, reason: InputError) -> Arrays:
    warnings.warn(f"not cached, so the data are decoded on every run: {reason}", stacklevel=3)
    return arrays


def _store(folder: Path, arrays: Arrays) -> None:
    """Write the arrays, then the manifest. Concurrent writers are harmless: same bytes, and each file appears atomically."""
    facts = {}
    for name, array in arrays.items():
        file = write_atomically(folder / f"{name}.npy", partial(np.save, arr=array, allow_pickle=False))
        facts[name] = {"shape": list(array.shape), "dtype": array.dtype.str, "sha256": file_hash(file, "sha256")}
    write_json(folder / _MANIFEST, {"arrays": facts})


def _stored(folder: Path) -> Arrays | None:
    try:
        facts = read_json(folder / _MANIFEST)["arrays"]
        return {name: _mapped(folder / f"{name}.npy", facts[name]) for name in facts}
    except (InputError, OSError, EOFError, ValueError, TypeError, LookupError):
        return None  # missing or damaged: either way it is computed again


def _mapped(file: Path, facts: Mapping[str, Any]) -> npt.NDArray[Any]:
    if file_hash(file, "sha256") != facts["sha256"]:
        raise ValueError(f"{file} has changed since it was written")
    # copy-on-write: torch wants writable memory, and the file must not change
    array: npt.NDArray[Any] = np.load(file, mmap_mode="c", allow_pickle=False)
    if list(array.shape) != facts["shape"] or array.dtype.str != facts["dtype"]:
        raise ValueError(f"{file} does not match its manifest")
    return array
