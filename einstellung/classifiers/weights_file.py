"""Load weights into a net from safetensors or a torch file, read with ``weights_only`` so that nothing in it is executed."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.foreign_files import MOST_WEIGHTS_BYTES, require_regular, require_unpacked

_UNREADABLE = (RuntimeError, pickle.UnpicklingError, SafetensorError, EOFError, OSError, ValueError, LookupError)


def load_weights_file(net: nn.Module, file: Path, name: str) -> None:
    """Load every weight of the net from the file; missing and unexpected names are errors."""
    given, own = read_weights_file(file), net.state_dict()
    if wrong := sorted(own.keys() ^ given.keys()):
        problem = f"lacks '{wrong[0]}'" if wrong[0] in own else f"has '{wrong[0]}', which the net lacks"
        raise InputError(f"{file} does not hold the weights of {name}: it {problem} ({len(wrong)} names differ)")
    for key, value in own.items():
        if given[key].shape != value.shape:
            raise InputError(f"{file}: '{key}' is {tuple(given[key].shape)}, {name} has {tuple(value.shape)}")
    net.load_state_dict(given)


def read_weights_file(file: Path) -> dict[str, Tensor]:
    """The tensors of a weights file by name."""
    if not file.is_file():
        raise InputError(f"{file} is not a file: give safetensors or a state_dict")
    require_regular(file, MOST_WEIGHTS_BYTES)
    content: object
    try:
        if file.suffix == ".safetensors":
            content = load_file(file)
        else:
            require_unpacked(file)
            content = torch.load(file, map_location="cpu", weights_only=True)
    except _UNREADABLE as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{file} cannot be read as weights ({reason}): give safetensors or a state_dict") from None
    if isinstance(content, Mapping) and isinstance(content.get("state_dict"), Mapping):
        content = content["state_dict"]
    if not isinstance(content, Mapping) or not all(
        isinstance(name, str) and isinstance(value, Tensor) for name, value in content.items()
    ):
        raise InputError(f"{file} is not a state_dict: it must map names to tensors")
    return dict(content)
