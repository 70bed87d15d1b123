"""Our ResNet-18 and its blocks with the steps between convolutions fused, and several batches in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from einstellung.backbones.resnet import BasicBlock, ResNet18
from einstellung.kernels.batch_norm import FusedBatchNorm2d, norm_relu
from einstellung.kernels.multi_batch import separate_batches
from einstellung.kernels.residual import residual_step


class NormFusedBlock(BasicBlock):
    """A block that computes norm, addition and ReLU in one step."""

    accelerates: ClassVar[type[nn.Module]] = BasicBlock

    def forward(self, x: Tensor) -> Tensor:
        out = norm_relu(self.bn1, self.conv1(x))
        return norm_relu(self.bn2, self.conv2(out), self.shortcut(x))


class FusedBlock(NormFusedBlock):
    """A block that is a single step for autograd where it can be."""

    accelerates: ClassVar[type[nn.Module]] = BasicBlock

    def forward(self, x: Tensor) -> Tensor:
        out = residual_step(self, x)
        return super().forward(x) if out is None else out


class FusedResNet18(ResNet18):
    """A ResNet-18 whose stem computes norm and ReLU in one step, and that takes several batches in one pass."""

    accelerates: ClassVar[type[nn.Module]] = ResNet18

    def stem(self, x: Tensor) -> Tensor:
        return self.pool(norm_relu(self.bn1, self.conv1(x)))

    def forward_batches(self, batches: Sequence[Tensor]) -> Sequence[Tensor]:
        """The outputs for each of several batches, as if they came one after the other; in one pass where possible."""
        if len(batches) == 1 or not supports_separate_batches(self):
            return [self(batch) for batch in batches]
        sizes = [len(batch) for batch in batches]
        with separate_batches(sizes):
            outputs: Tensor = self(torch.cat(tuple(batches)))
        return outputs.split(sizes)


def supports_separate_batches(net: nn.Module) -> bool:
    """Whether a net mixes the images of a batch in batch norms alone, and all of these are ours.

    >>> supports_separate_batches(ResNet18(2, width=8))
    False
    """
    if type(net) is not FusedResNet18:  # what a subclass does with a batch is not known
        return False
    norms = [layer for layer in net.modules() if isinstance(layer, _BatchNorm)]
    return bool(norms) and all(type(layer) is FusedBatchNorm2d for layer in norms)
