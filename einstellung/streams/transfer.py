"""From the CPU's memory to where a net computes, without waiting for it."""

from __future__ import annotations

import torch
from torch import Tensor

# On Apple GPUs torch's copies that nobody waits for may read memory that was given away meanwhile, so theirs are plain ones.
_COPIES_BY_ITSELF = frozenset({"cuda"})


def to_device(values: Tensor, device: torch.device) -> Tensor:
    """``values`` on ``device``; what is there already is handed back as it is.

    A plain copy to a CUDA device first waits for all that the device still has to do: only memory that is locked in place
    ("pinned") can be read while the program goes on. Torch keeps such memory and hands it out anew once the copy is over.

    >>> to_device(torch.arange(3), torch.device("cpu"))
    tensor([0, 1, 2])
    """
    if device.type in _COPIES_BY_ITSELF and values.device.type == "cpu":
        return values.pin_memory().to(device, non_blocking=True)
    return values.to(device)
