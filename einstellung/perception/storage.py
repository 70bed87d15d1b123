"""Named tensors with a JSON header in one safetensors file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from einstellung.errors import InputError
from einstellung.foreign_files import MOST_WEIGHTS_BYTES, require_regular

_HEADER = (
    "einstellung"  # a single key: safetensors writes several in arbitrary order, and equal states must give equal bytes
)


def tensor_bytes(tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> bytes:
    """The content of such a file."""
    content = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    written: bytes = save(content, metadata={_HEADER: json.dumps(header, allow_nan=False)})
    return written


def load_tensors(path: Path, what: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and header of a file of :func:`tensor_bytes`; ``what`` describes the expected file in error messages."""
    require_regular(path, MOST_WEIGHTS_BYTES, missing=f"{path}: no such file; give {what}")
    try:
        with safe_open(str(path), framework="pt") as file:
            header = json.loads((file.metadata() or {})[_HEADER])
            return {name: file.get_tensor(name) for name in file.keys()}, header  # noqa: SIM118 (not a dict)
    except (SafetensorError, KeyError, ValueError, OSError) as error:
        raise InputError(f"{path} is not {what}, or it is damaged ({error}): make it again") from None
