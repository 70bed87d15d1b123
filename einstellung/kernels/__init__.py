"""Faster drop-in classes for a net's layers and blocks, for CPUs without bf16; compiled by numba if it is installed."""

from __future__ import annotations

from collections.abc import Callable, Collection

from torch import nn

from einstellung.backbones.resnet import BasicBlock, ResNet18
from einstellung.kernels.batch_norm import FusedBatchNorm2d, suits_fusion
from einstellung.kernels.compilation import is_compiled, load, obstacle
from einstellung.kernels.convolution import WinogradConv2d, suits_winograd
from einstellung.kernels.narrow import NarrowConv2d, suits_narrow
from einstellung.kernels.resnet import FusedBlock, FusedResNet18, NormFusedBlock

__all__ = ["PARTS", "accelerate", "is_compiled", "load", "obstacle"]

_Swap = tuple[Callable[[nn.Module], bool], type[nn.Module]]  # which modules, and the class they get


def _is_a(kind: type[nn.Module]) -> Callable[[nn.Module], bool]:
    return lambda module: type(module) is kind


_SWAPS: dict[str, tuple[_Swap, ...]] = {  # in each part, a module gets the first class that suits it
    "convolutions": ((suits_winograd, WinogradConv2d), (suits_narrow, NarrowConv2d)),
    "norms": (
        (suits_fusion, FusedBatchNorm2d),
        (_is_a(BasicBlock), NormFusedBlock),
        (_is_a(ResNet18), FusedResNet18),
    ),
    "blocks": ((_is_a(NormFusedBlock), FusedBlock),),
}
PARTS = tuple(_SWAPS)  # each builds on those before it


def accelerate(net: nn.Module, parts: Collection[str] = PARTS) -> nn.Module:
    """Swap the classes of modules that the kernels support; weights, names, hooks and ``state_dict`` do not change.

    >>> net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 64, 1), nn.Conv2d(64, 64, 3, padding=1))
    >>> [type(layer).__name__ for layer in accelerate(net)]
    ['NarrowConv2d', 'Conv2d', 'WinogradConv2d']
    """
    for part in PARTS:
        if part in parts:
            for module in net.modules():
                faster = next((kind for suits, kind in _SWAPS[part] if suits(module)), None)
                if faster is not None:
                    module.__class__ = faster
    return net
