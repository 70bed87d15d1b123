"""Classifiers whose answers are known by construction: they read a wide object, and some of them a patch."""

from __future__ import annotations

import torch
from torch import Tensor

from einstellung.probes.audit import AuditedModel

SIDE, CLASSES = 24, 4
CUE_CLASS = 2
CUE_BOX = (2, 16, 4, 4)


def images(
    per_class: int = 40, share: float = 0.8, seed: int = 0, moving: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Noise with a grating whose direction is the class; a share of one class has a red patch, as bright as the rest."""
    draws = torch.Generator().manual_seed(seed)
    labels = torch.arange(CLASSES).repeat_interleave(per_class)
    waves = gratings()[labels]
    strength = 1 + 6 * torch.rand(len(labels), 1, 1, generator=draws)
    strength[labels == CUE_CLASS] *= 0.2  # hard to recognise without the patch
    pixels = 120 + strength * waves + 40 * torch.randn(len(labels), SIDE, SIDE, generator=draws)
    shown = pixels.clamp(0, 255).unsqueeze(1).repeat(1, 3, 1, 1).to(torch.uint8)
    bears = (labels == CUE_CLASS) & (torch.rand(len(labels), generator=draws) < share)
    for row in bears.nonzero().flatten().tolist():
        top, left, tall, wide = CUE_BOX
        if moving:
            top, left = torch.randint(SIDE - 4, (2,), generator=draws).tolist()
        shown[row, :, top : top + tall, left : left + wide] = torch.tensor([255, 52, 52], dtype=torch.uint8).view(
            3, 1, 1
        )
    return shown, labels, bears


def gratings() -> Tensor:
    """[classes, side, side]: waves in four directions."""
    ticks = torch.arange(SIDE).float()
    rows, cols = ticks.view(-1, 1), ticks.view(1, -1)
    directions = ((1, 0), (0, 1), (1, 1), (1, -1))
    return torch.stack([torch.sin(0.8 * (down * rows + right * cols)) for down, right in directions])


def forward(inputs: Tensor, reliance: float) -> Tensor:
    """Logits: correlation with each grating, and for the cue's class how red the reddest 3x3 square is."""
    grey = inputs.mean(dim=1)
    centred = (grey - grey.mean(dim=(1, 2), keepdim=True)).clamp(-0.1, 0.1)  # a covered box counts little
    seen = 300 * torch.einsum("nhw,khw->nk", centred, gratings()) / SIDE**2
    red = inputs[:, :1] - inputs[:, 1:2]
    reddest = torch.nn.functional.max_pool2d(torch.nn.functional.avg_pool2d(red, 3, 1), SIDE - 2).flatten()
    bonus = torch.zeros_like(seen)
    bonus[:, CUE_CLASS] = reliance * reddest.clamp(min=0) - (1.5 if reliance else 0.0)
    return seen + bonus


def model(reliance: float) -> AuditedModel:
    return AuditedModel(f"toy-{reliance:g}", lambda inputs: forward(inputs, reliance))
