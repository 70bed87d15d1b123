"""Inference with trained perception: from images to attribute tables."""

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

Log = Callable[[str], object]

_BATCH = 250
_LAYOUT = 1  # version of the cached tables; part of the cache key
_EXPECTED = "a weights file made by 'einstellung concon perceive'"


def perception_bytes(net: SlotPerception, options: SlotOptions, size: int, key: str) -> bytes:
    """The content of a weights file; ``key`` identifies the training settings."""
    return tensor_bytes(net.state_dict(), {"perception": asdict(options), "size": size, "key": key})


def load_perception(path: Path) -> tuple[SlotPerception, int, str]:
    """The net in evaluation mode, the image size it was trained on, and the key of its training settings."""
    tensors, header = load_tensors(path, _EXPECTED)
    try:
        facts = dict(header["perception"])
        options = SlotOptions(**{**facts, "strides": tuple(facts["strides"])})
        net = SlotPerception(options)
        net.load_state_dict(tensors)
        size, key = int(header["size"]), str(header["key"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{path} is not {_EXPECTED} ({reason})") from None
    return net.to(memory_format=torch.channels_last).eval(), size, key  # type: ignore[call-overload]


def outputs_of(net: SlotPerception, images: Tensor, on_progress: Callable[[int], object] = lambda _: None) -> Tensor:
    """Slot outputs for uint8 images [N, 3, S, S]; ``on_progress`` gets the number of images done."""
    outputs: list[Tensor] = []
    with torch.no_grad():
        for batch in images.split(_BATCH):
            outputs.append(net(as_inputs(batch))[0])
            on_progress(sum(map(len, outputs)))
    return torch.cat(outputs)


def perceived_tables(images: Tensor, weights: Path, log: Log = lambda _: None) -> Tensor:
    """Attribute tables (uint8 [N, slots, 16]) perceived in uint8 images [N, 3, S, S], cached on disk.

    A slot without an object is a row of zeros; the columns are those of :mod:`einstellung.scenes.tables`.
    """
    content = hashlib.sha256(images.permute(0, 2, 3, 1).contiguous().numpy().data).hexdigest()
    key = digest([_LAYOUT, file_hash(weights, "sha256"), list(images.shape), content], length=32)
    arrays = cached(f"perceived-{key}", lambda: {"tables": _tables(images, weights, log).numpy()})
    return torch.from_numpy(arrays["tables"])


def _tables(images: Tensor, weights: Path, log: Log) -> Tensor:
    net, size, _ = load_perception(weights)
    if tuple(images.shape[1:]) != (3, size, size):
        shape = "x".join(map(str, images.shape[1:]))
        raise InputError(
            f"{weights} was trained on images of 3x{size}x{size}, these are {shape}: train weights for them with --size"
        )
    log(f"perceiving objects in {len(images):,} images")
    return tables_of(outputs_of(net, images))
