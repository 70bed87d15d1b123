"""The zoo's networks: a small convolutional one, which learns in seconds, and the ResNet-18 of width 8."""

from __future__ import annotations

import torch
from torch import nn

from einstellung.backbones import build_backbone
from einstellung.training.acceleration import accelerate

CONV, RESNET = "conv", "resnet18"
_CHANNELS = (24, 48, 64, 64)  # of 3x3 convolutions with stride 2


def fresh_net(name: str, classes: int, seed: int) -> nn.Module:
    """A net with random weights, in channels_last."""
    if name == RESNET:
        return accelerate(build_backbone("resnet18", {"width": 8}, classes, seed).to(memory_format=torch.channels_last))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers: list[nn.Module] = []
        before = 3
        for channels in _CHANNELS:
            layers += [
                nn.Conv2d(before, channels, 3, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(channels),
                nn.ReLU(inplace=True),
            ]
            before = channels
        net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))
    return net.to(memory_format=torch.channels_last)
