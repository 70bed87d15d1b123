"""Trained perception in use: from pictures to tables of attributes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.files import digest
from einstellung.perception.columns import tables_of
from einstellung.perception.slot_attention import SlotOptions, SlotPerception, as_inputs
from einstellung.perception.storage import load_tensors, tensor_bytes
from einstellung.sources.cache import cached
from einstellung.sources.reading import file_hash

Tell = Callable[[str], object]

_BATCH = 250
_LAYOUT = 1  # of the cached tables; another layout is another entry
_WHAT = "the weights of a perception, made by 'einstellung concon perceive'"


def perception_bytes(net: SlotPerception, options: SlotOptions, size: int, key: str) -> bytes:
    """A file of weights with all that is needed to use them; ``key`` stands for how they were made."""
    return tensor_bytes(net.state_dict(), {"perception": asdict(options), "size": size, "key": key})


def load_perception(path: Path) -> tuple[SlotPerception, int, str]:
    """The net in evaluation mode, the size of the pictures it was trained on, and the key of how it was made."""
    tensors, header = load_tensors(path, _WHAT)
    try:
        facts = dict(header["perception"])
        options = SlotOptions(**{**facts, "strides": tuple(facts["strides"])})
        net = SlotPerception(options)
        net.load_state_dict(tensors)
        size, key = int(header["size"]), str(header["key"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{path} is not {_WHAT} ({reason})") from None
    return net.to(memory_format=torch.channels_last).eval(), size, key  # type: ignore[call-overload]


def outputs_of(net: SlotPerception, images: Tensor, heard: Callable[[int], object] = lambda _: None) -> Tensor:
    """What the slots say about uint8 pictures [N, 3, S, S]; ``heard`` is told how many are done."""
    outputs: list[Tensor] = []
    with torch.no_grad():
        for batch in images.split(_BATCH):
            outputs.append(net(as_inputs(batch))[0])
            heard(sum(map(len, outputs)))
    return torch.cat(outputs)


def perceived_tables(images: Tensor, weights: Path, tell: Tell = lambda _: None) -> Tensor:
    """Tables (uint8 [N, slots, 16]) of what is perceived in uint8 pictures [N, 3, S, S]; kept in the cache.

    A slot without an object is a row of zeros; the columns are those of :mod:`einstellung.scenes.tables`.
    """
    content = hashlib.sha256(images.permute(0, 2, 3, 1).contiguous().numpy().data).hexdigest()
    key = digest([_LAYOUT, file_hash(weights, "sha256"), list(images.shape), content], length=32)
    arrays = cached(f"perceived-{key}", lambda: {"tables": _tables(images, weights, tell).numpy()})
    return torch.from_numpy(arrays["tables"])


def _tables(images: Tensor, weights: Path, tell: Tell) -> Tensor:
    net, size, _ = load_perception(weights)
    if tuple(images.shape[1:]) != (3, size, size):
        shape = "x".join(map(str, images.shape[1:]))
        raise InputError(
            f"{weights} was trained on pictures of 3x{size}x{size}, these are {shape}: make weights for them with --size"
        )
    tell(f"perceiving the objects of {len(images):,} pictures")
    return tables_of(outputs_of(net, images))
