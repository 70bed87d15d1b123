"""Read Python 2 pickles of numpy arrays without executing any code in them."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

from einstellung.errors import InputError

# All that CIFAR's files refer to: numpy pickles an array as an empty one whose type and bytes are set afterwards.
_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}
# What unpickling raises on bytes that are no pickle, or a truncated one.
_BROKEN = (
    pickle.UnpicklingError,
    EOFError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    MemoryError,
    OverflowError,
)


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise InputError(f"it refers to {module}.{name}, which plain arrays do not need")
        return _ALLOWED[module, name]


def read_pickle(content: bytes, where: str) -> dict[str, Any]:
    """The dictionary in ``content``, text as bytes as Python 2 wrote it; anything that could execute code is refused.

    >>> read_pickle(b"\\x80\\x02}U\\x01aK\\x07s.", "an example")
    {'a': 7}
    >>> read_pickle(b"cos\\nsystem\\n(S'true'\\ntR.", "an example")
    Traceback (most recent call last):
    einstellung.errors.InputError: an example is refused: it refers to os.system, which plain arrays do not need
    """
    try:
        value = _ArraysOnly(io.BytesIO(content), encoding="bytes").load()
    except InputError as error:
        raise InputError(f"{where} is refused: {error}") from None
    except _BROKEN as error:
        raise InputError(f"{where} is not a readable pickle ({error})") from None
    if not isinstance(value, dict) or not all(isinstance(key, bytes) for key in value):
        raise InputError(f"{where} does not hold a dictionary with names as keys")
    return {key.decode("latin1"): entry for key, entry in value.items()}
