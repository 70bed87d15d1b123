"""Archives of plain arrays (``.npz``), read so that a damaged one is an error that says so. Nothing is ever unpickled."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError
from einstellung.foreign_files import open_regular

_NOT_WHOLE = "is damaged: it is not a complete .npz file of plain arrays"

Arrays = dict[str, npt.NDArray[np.generic]]
MOST_BYTES = 64 * 2**20  # unpacked, of all arrays of a file beside a report
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_npz(path: Path, most_bytes: int | None = MOST_BYTES) -> Arrays:
    """The arrays of an archive by name; an error begins with what is wrong: ``is missing``, ``is damaged``, ``is too large``."""
    if not path.exists():
        raise InputError("is missing")
    try:
        with open_regular(path) as stream:
            head = stream.read(2)
            if head != b"PK":  # numpy would take a bare .npy, and call an empty file the end of its input
                raise InputError(_NOT_WHOLE)
            stream.seek(0)
            _check_sizes(stream, most_bytes)
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})") from None
    except Exception:  # noqa: BLE001 (what damaged bytes may raise is not listed anywhere: zipfile's, zlib's, numpy's errors)
        raise InputError(_NOT_WHOLE) from None


def _check_sizes(stream: IO[bytes], most_bytes: int | None) -> None:
    """Before anything is allocated: the archive's own sizes, and the shapes that its arrays claim."""
    with zipfile.ZipFile(stream) as archive:
        entries = archive.infolist()
        size = sum(entry.file_size for entry in entries)
        if most_bytes is not None and size > most_bytes:
            raise InputError(
                f"is too large: it unpacks to {size / 2**20:,.0f} MiB, more than {most_bytes / 2**20:,.0f}"
            )
        for entry in entries:
            with archive.open(entry) as member:
                version = np.lib.format.read_magic(member)
                shape, _, dtype = _HEADERS[version](member)
            if dtype.hasobject or math.prod(shape) * dtype.itemsize > entry.file_size:
                raise InputError(f"is damaged: '{entry.filename}' is not the plain array that it claims to be")
