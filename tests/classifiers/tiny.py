"""Small stand-ins: a net in a user's file, and pictures of plain grey."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

SIZE = 32
# Five classes by brightness: the logits of class k are largest where the mean of an image is near k / 4. Features: mean and bias.
NET = """
import torch
from torch import nn

class Brightness(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 5)
        levels = torch.arange(5) / 4
        self.head.weight.data = torch.stack([40 * levels, -20 * levels ** 2], 1)
        self.head.bias.data = torch.zeros(5)

    def forward(self, x):
        mean = x.mean((1, 2, 3))
        return self.head(torch.stack([mean, torch.ones_like(mean)], 1))

def net():
    return Brightness(), {"size": 32, "resize": 32, "mean": [0, 0, 0], "std": [1, 1, 1]}

def stored():
    return Brightness(), {"size": 32, "resize": 32, "mean": [0, 0, 0], "std": [1, 1, 1], "weights": "stored.safetensors"}

def wrong():
    return Brightness()

def unknown_key():
    return Brightness(), {"size": 32, "mean": [0, 0, 0], "std": [1, 1, 1], "crop": 3}

class Pooled(nn.Module):
    "No linear layer: the five logits are a convolution's, as in nets with a convolutional head."

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 5, 1)
        self.conv.weight.data = (40 * torch.arange(5) / 4 / 3).reshape(5, 1, 1, 1).expand(5, 3, 1, 1).clone()
        self.conv.bias.data = -20 * (torch.arange(5) / 4) ** 2

    def forward(self, x):
        return self.conv(x).mean((2, 3))

def pooled():
    return Pooled(), {"size": 32, "resize": 32, "mean": [0, 0, 0], "std": [1, 1, 1]}

class Doubled(Brightness):
    def forward(self, x):
        return 2 * super().forward(x)

def doubled():
    return Doubled(), {"size": 32, "resize": 32, "mean": [0, 0, 0], "std": [1, 1, 1]}

def thousand():
    "ImageNet's number of classes, of which the first five are the brightness's, and no other is ever the answer."
    net = Brightness()
    weight, bias = torch.zeros(1000, 2), torch.full((1000,), -100.0)
    weight[:5], bias[:5] = net.head.weight.data, 0.0
    net.head = nn.Linear(2, 1000)
    net.head.weight.data, net.head.bias.data = weight, bias
    return net, {"size": 32, "resize": 32, "mean": [0, 0, 0], "std": [1, 1, 1]}

def fails():
    return nn.Linear(7, 5), {"size": 32, "mean": [0, 0, 0], "std": [1, 1, 1]}

headless = lambda: (nn.Identity(), {"size": 32, "mean": [0, 0, 0], "std": [1, 1, 1]})
"""


def write_net(folder: Path) -> Path:
    file = folder / "mine.py"
    file.write_text(NET)
    return file


def grey(file: Path, level: float, size: int = SIZE) -> Path:
    """A picture of one brightness; PNG, so that its pixels stay what they are."""
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((size, size, 3), round(level * 255), dtype=np.uint8)).save(file)
    return file
