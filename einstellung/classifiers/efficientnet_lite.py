"""EfficientNet-Lite 0, 1 and 2: EfficientNet without squeeze-and-excitation and with ReLU6, for small devices.

Stages of inverted bottlenecks (1x1 expansion, k x k depthwise, 1x1 projection; a residual connection where input and output
have the same shape). Width and depth are scaled, except for the stem, the head and the depth of the first and last stage (Tan
and Le 2019, 'EfficientNet'; the Lite variants of 2020). Convolutions pad like TensorFlow, in which the weights were trained:
an odd pixel of padding goes to the right and bottom. Module names are those of the published state dicts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

# blocks, kernel, stride, expansion, channels
_STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
_STEM, _HEAD = 32, 1280


@dataclass(frozen=True)
class Scaling:
    """Width and depth multipliers relative to Lite 0, and the input size."""

    width: float
    depth: float
    size: int


SCALINGS = {
    "efficientnet-lite0": Scaling(1.0, 1.0, 224),
    "efficientnet-lite1": Scaling(1.0, 1.1, 240),
    "efficientnet-lite2": Scaling(1.1, 1.2, 260),
}


def widened(channels: int, width: float) -> int:
    """Scaled channels, rounded to a multiple of 8 but never below nine tenths of the target.

    >>> widened(40, 1.1), widened(112, 1.1), widened(16, 1.0)
    (48, 120, 16)
    """
    target = channels * width
    rounded = max(8, int(target + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * target else rounded


class SameConv(nn.Conv2d):
    """A convolution with TensorFlow's 'SAME' padding: its output has ceil(input / stride) pixels per side."""

    def forward(self, x: Tensor) -> Tensor:
        missing = [
            max((math.ceil(side / stride) - 1) * stride + kernel - side, 0)
            for side, stride, kernel in zip(x.shape[-2:], self.stride, self.kernel_size, strict=True)
        ]
        (top, bottom), (left, right) = ((total // 2, total - total // 2) for total in missing)
        if top == bottom and left == right:
            return F.conv2d(x, self.weight, self.bias, self.stride, (top, left), self.dilation, self.groups)
        padded = F.pad(x, (left, right, top, bottom))
        return F.conv2d(padded, self.weight, self.bias, self.stride, 0, self.dilation, self.groups)


def _conv(inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> SameConv:
    return SameConv(inputs, outputs, kernel, stride, groups=groups, bias=False)


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


class InvertedBottleneck(nn.Module):
    """Expansion, depthwise convolution, projection."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inside = inputs * expansion
        self.expands = expansion != 1
        self.skips = stride == 1 and inputs == outputs
        if self.expands:
            self._expand_conv, self._bn0 = _conv(inputs, inside), _norm(inside)
        self._depthwise_conv, self._bn1 = _conv(inside, inside, kernel, stride, groups=inside), _norm(inside)
        self._project_conv, self._bn2 = _conv(inside, outputs), _norm(outputs)

    def forward(self, x: Tensor) -> Tensor:
        inside = F.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        inside = F.relu6(self._bn1(self._depthwise_conv(inside)))
        projected: Tensor = self._bn2(self._project_conv(inside))
        return projected + x if self.skips else projected


class EfficientNetLite(nn.Module):
    """The complete net; its last layer is ``_fc``."""

    def __init__(self, scaling: Scaling, classes: int = 1000) -> None:
        super().__init__()
        self._conv_stem, self._bn0 = _conv(3, _STEM, 3, 2), _norm(_STEM)
        blocks: list[nn.Module] = []
        inputs = _STEM
        for number, (count, kernel, stride, expansion, channels) in enumerate(_STAGES):
            outputs = widened(channels, scaling.width)
            fixed = number in (0, len(_STAGES) - 1)
            for block in range(count if fixed else math.ceil(count * scaling.depth)):
                blocks.append(InvertedBottleneck(inputs, outputs, kernel, stride if block == 0 else 1, expansion))
                inputs = outputs
        self._blocks = nn.ModuleList(blocks)
        self._conv_head, self._bn1 = _conv(inputs, _HEAD), _norm(_HEAD)
        self._fc = nn.Linear(_HEAD, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        x = F.relu6(self._bn1(self._conv_head(x)))
        logits: Tensor = self._fc(x.mean((2, 3)))
        return logits
