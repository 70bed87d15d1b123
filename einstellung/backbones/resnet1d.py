"""A one-dimensional ResNet for series, after Wang et al. (2017)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.backbones.registry import backbones
from einstellung.errors import InputError


class SeriesBlock(nn.Module):
    """Two convolutions of width 3 and a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm1d(outputs)
        self.conv2 = nn.Conv1d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm1d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv1d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm1d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(out)) + self.shortcut(x), inplace=True)


@backbones.register("resnet1d")
class ResNet1d(nn.Module):
    """For series [N, channels, L] of any L: a stem, two blocks each of width, 2 width and 4 width channels, the mean over time.

    >>> import torch
    >>> ResNet1d(24, width=8)(torch.zeros(2, 1, 46)).shape
    torch.Size([2, 24])
    """

    def __init__(self, n_outputs: int, channels: int = 1, width: int = 32) -> None:
        super().__init__()
        for name, number in (("channels", channels), ("width", width)):
            if number < 1:
                raise InputError(f"backbone.{name} is {number}: it must be at least 1")
        self.channels = channels
        self.conv1 = nn.Conv1d(channels, width, 7, padding=3, bias=False)
        self.bn1 = nn.BatchNorm1d(width)
        blocks, inputs = [], width
        for outputs, stride in ((width, 1), (2 * width, 2), (4 * width, 2)):
            blocks += [SeriesBlock(inputs, outputs, stride), SeriesBlock(outputs, outputs, 1)]
            inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(inputs, n_outputs)

    def stages(self) -> dict[str, nn.Module]:
        """The last block of each width, by name."""
        return {f"stage {number}": self.blocks[2 * number - 1] for number in range(1, 4)}

    def features(self, x: Tensor) -> Tensor:
        """The input of the head."""
        if x.dim() != 3 or x.shape[1] != self.channels:
            raise InputError(
                f"this backbone takes series, [N, {self.channels}, L], not inputs of shape {list(x.shape)}: "
                "choose a backbone for your data, or set backbone.channels"
            )
        return self.blocks(F.relu(self.bn1(self.conv1(x)), inplace=True)).mean(dim=2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))
