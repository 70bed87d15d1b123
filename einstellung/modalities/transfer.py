"""Move tensors to the net's device without blocking."""

from __future__ import annotations

import torch
from torch import Tensor

# Not "mps": torch's non-blocking copies to Apple GPUs may read memory that has been reused meanwhile.
_NON_BLOCKING = frozenset({"cuda"})


def to_device(values: Tensor, device: torch.device) -> Tensor:
    """``values`` on ``device``; returned unchanged if they are there already.

    A plain copy to a CUDA device waits for all work queued on it. Only a copy from pinned memory can run in the background;
    torch caches pinned memory and reuses it once the copy is done.

    >>> to_device(torch.arange(3), torch.device("cpu"))
    tensor([0, 1, 2])
    """
    if device.type in _NON_BLOCKING and values.device.type == "cpu":
        return values.pin_memory().to(device, non_blocking=True)
    return values.to(device)
