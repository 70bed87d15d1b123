"""ResNet-18 for 32x32 images (He et al., 2016): a 3x3 stem, no max-pooling, any width."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.backbones.registry import backbones
from einstellung.backbones.weights import load_weights
from einstellung.errors import InputError


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(out)) + self.shortcut(x), inplace=True)


@backbones.register("resnet18")
class ResNet18(nn.Module):
    """Eight basic blocks of width, 2 width, 4 width and 8 width channels; the ERI paper's net has width 64.

    ``stem_stride``: 2 halves larger images in the first convolution, at a quarter of the cost; 4 is the original stem
    for 224x224, a 7x7 convolution and max-pooling. ``weights``: a file to start from, in our names or the usual ones of this net.

    >>> import torch
    >>> ResNet18(60, width=8)(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 60])
    """

    def __init__(self, n_outputs: int, width: int = 64, stem_stride: int = 1, weights: str | None = None) -> None:
        super().__init__()
        if width < 1:
            raise InputError(f"backbone.width is {width}: it must be at least 1")
        if stem_stride not in (1, 2, 4):
            raise InputError(f"backbone.stem_stride is {stem_stride}: give 1, 2 or 4")
        original = stem_stride == 4
        self.conv1 = nn.Conv2d(
            3, width, 7 if original else 3, 2 if original else stem_stride, 3 if original else 1, bias=False
        )
        self.pool: nn.Module = nn.MaxPool2d(3, 2, padding=1) if original else nn.Identity()
        self.bn1 = nn.BatchNorm2d(width)
        channels, blocks = width, []
        for stage, stride in enumerate((1, 2, 2, 2)):
            for first in (True, False):
                outputs = width * 2**stage
                blocks.append(BasicBlock(channels, outputs, stride if first else 1))
                channels = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, n_outputs)
        if weights is not None:
            load_weights(self, weights)

    def stem(self, x: Tensor) -> Tensor:
        """The input of the first block."""
        return self.pool(F.relu(self.bn1(self.conv1(x)), inplace=True))

    def stages(self) -> dict[str, nn.Module]:
        """The last block of each width, by name."""
        return {f"stage {number}": self.blocks[2 * number - 1] for number in range(1, 5)}

    def features(self, x: Tensor) -> Tensor:
        """The input of the head."""
        return self.blocks(self.stem(x)).mean(dim=(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))
