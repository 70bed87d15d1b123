"""Several batches in one pass through a net, laid end to end, each with batch statistics of its own.

Whatever a net does to every image by itself is the same in one pass as in several, and one pass costs the fixed part of a step
once. Where images meet, in batch norm, the norms are told how long each lot is (:mod:`.batch_norm`), so that rounding apart
everything is as if the batches had come one after the other, running statistics included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

# layers are called by torch: there is no way to hand it to them
_sizes: ContextVar[tuple[int, ...]] = ContextVar("sizes of lots", default=())


def sizes_now() -> tuple[int, ...]:
    """How long the lots are that go through the net at this moment; empty where a batch is one batch."""
    return _sizes.get()


@contextmanager
def in_lots(sizes: Sequence[int]) -> Iterator[None]:
    """Within it, a batch is lots of these sizes."""
    token = _sizes.set(tuple(sizes))
    try:
        yield
    finally:
        _sizes.reset(token)


def goes_in_lots(net: nn.Module) -> bool:
    """Whether a net's own class says that its images meet in batch norms alone, and all of these are ours.

    >>> goes_in_lots(nn.Sequential(nn.Linear(2, 2)))
    False
    """
    from einstellung.kernels.batch_norm import FusedBatchNorm2d

    if not vars(type(net)).get("images_meet_in_norms_alone", False):  # what a subclass does is its own
        return False
    norms = [layer for layer in net.modules() if isinstance(layer, _BatchNorm)]
    return bool(norms) and all(type(layer) is FusedBatchNorm2d for layer in norms)


def outputs_apart(net: nn.Module, parts: Sequence[Tensor]) -> Sequence[Tensor]:
    """What a net gives for each of several batches, as if they came one after the other; in one pass where it can be."""
    if len(parts) == 1 or not goes_in_lots(net):
        return [net(part) for part in parts]
    sizes = [len(part) for part in parts]
    with in_lots(sizes):
        outputs: Tensor = net(torch.cat(tuple(parts)))
    return outputs.split(sizes)
