"""A net of one's own: any function from the number of outputs (and options) to a module that maps images to logits."""

from __future__ import annotations

from torch import nn

from einstellung.backbones import backbones


@backbones.register("small_cnn")
def small_cnn(n_outputs: int, width: int = 16, dropout: float = 0.0) -> nn.Module:
    """Three convolutions with batch norm, for images of 8x8 pixels and more. Weights are drawn from the run's seed."""
    layers: list[nn.Module] = []
    channels = 3
    for stage in range(3):
        layers += [nn.Conv2d(channels, width << stage, 3, padding=1), nn.BatchNorm2d(width << stage), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] if stage < 2 else [nn.AdaptiveAvgPool2d(2), nn.Flatten()]
        channels = width << stage
    return nn.Sequential(*layers, nn.Dropout(dropout), nn.Linear(channels * 4, n_outputs))
