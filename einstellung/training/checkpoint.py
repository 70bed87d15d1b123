"""Nested states as one safetensors file: tensors as they are, everything else as JSON in its header. Nothing is pickled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save
from torch import Tensor

from einstellung.errors import InputError
from einstellung.files import write_atomically, write_bytes
from einstellung.foreign_files import open_regular, require_regular
from einstellung.hashes import DamagedError

_HEADER = (
    "einstellung"  # one key only: safetensors writes several in arbitrary order, and equal states must give equal bytes
)


_NO_HASH = b"0" * 64  # stands where the hash of a checkpoint goes while it is computed
_MARK = rb"{\"sha256\": \""  # before it, as JSON within JSON
_LONGEST_HEADER = 2**27  # safetensors itself refuses headers above 100 MB


def save_state(path: Path, state: Mapping[str, Any]) -> Path:
    """Write a nested dict of tensors and plain values atomically."""
    return write_bytes(path, state_bytes(state))


def state_bytes(state: Mapping[str, Any], **first: str) -> bytes:
    """What :func:`save_state` writes; ``first`` comes before everything else in the header."""
    tensors: dict[str, Tensor] = {}
    plain = _split(state, "", tensors)
    # safetensors does not store the memory layout, which elementwise arithmetic depends on
    permuted = sorted(key for key, value in tensors.items() if _is_channels_last(value))
    content = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
    header = json.dumps({**first, "plain": plain, "channels_last": permuted}, allow_nan=False)
    return save(content, metadata={_HEADER: header})


def loaded_state(content: bytes) -> dict[str, Any]:
    """The inverse of :func:`state_bytes`.

    >>> loaded_state(state_bytes({"seen": (1, 2), "buffer": {"labels": torch.arange(2)}}))
    {'seen': [1, 2], 'buffer': {'labels': tensor([0, 1])}}
    """
    size = int.from_bytes(content[:8], "little")  # of the header, which ``load`` does not give
    return _joined(json.loads(content[8 : 8 + size])["__metadata__"][_HEADER], load(content))


def save_checkpoint(path: Path, state: Mapping[str, Any]) -> Path:
    """As :func:`save_state`, with a hash of the file inside it: nobody else records one of a run that is not finished."""
    content = state_bytes(state, sha256=_NO_HASH.decode())
    place = content.index(_MARK) + len(_MARK)
    found = hashlib.sha256(content).hexdigest().encode()

    def write(temporary: Path) -> None:
        with temporary.open("wb") as stream, memoryview(content) as view:
            stream.writelines((view[:place], found, view[place + len(found) :]))

    return write_atomically(path, write)


def load_checkpoint(path: Path) -> dict[str, Any]:
    """The inverse of :func:`save_checkpoint`, checked before it is read. A checkpoint of an older version has no hash."""
    try:
        with open_regular(path, missing=f"{path} is missing") as stream:
            length = stream.read(8)
            head = length + stream.read(min(int.from_bytes(length, "little"), _LONGEST_HEADER))
            place = head.find(_MARK)
            if place >= 0:
                place += len(_MARK)
                end = place + len(_NO_HASH)
                hasher = hashlib.sha256(head[:place] + _NO_HASH + head[end:])
                while piece := stream.read(2**20):
                    hasher.update(piece)
                if hasher.hexdigest().encode() != head[place:end]:
                    raise DamagedError(f"{path} is damaged: its content does not match its hash")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    return load_state(path)


def load_state(path: Path) -> dict[str, Any]:
    """The inverse of :func:`save_state`, on the CPU; an error names a truncated file."""
    require_regular(path, missing=f"{path} is missing")
    try:
        with safe_open(str(path), framework="pt") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
            return _joined((file.metadata() or {})[_HEADER], tensors)
    except (SafetensorError, LookupError, TypeError, ValueError, OSError) as error:
        raise DamagedError(f"{path} is damaged or truncated ({error}); delete it to train that part again") from None


def _split(value: Any, key: str, tensors: dict[str, Tensor]) -> Any:
    """Move the tensors below ``value`` into ``tensors``; what is left is plain."""
    if isinstance(value, Mapping):
        plain = {}
        for name, member in value.items():
            if "/" in str(name):
                raise ValueError(f"a state's key must not hold '/': {name}")
            address = f"{key}/{name}" if key else str(name)
            if isinstance(member, Tensor):
                tensors[address] = member
            else:
                plain[str(name)] = _split(member, address, tensors)
        return plain
    if isinstance(value, (list, tuple)) and any(isinstance(member, Tensor) for member in value):
        raise InputError(f"'{key}' in a state is a list of tensors: use a dict of them, or torch.stack")
    return value


def _joined(header: str, tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """The inverse of :func:`_split`."""
    read = json.loads(header)
    permuted, state = set(read["channels_last"]), dict(read["plain"])
    for key, value in tensors.items():
        _put(state, key.split("/"), value.to(memory_format=torch.channels_last) if key in permuted else value)
    return state


def _put(state: dict[str, Any], keys: list[str], value: Tensor) -> None:
    for key in keys[:-1]:
        state = state.setdefault(key, {})
    state[keys[-1]] = value


def _is_channels_last(value: Tensor) -> bool:
    return value.dim() == 4 and not value.is_contiguous() and value.is_contiguous(memory_format=torch.channels_last)
