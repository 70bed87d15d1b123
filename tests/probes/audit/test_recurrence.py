"""Boxes of recurring content: strokes that fill no window are framed, and images without a cue have none."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from einstellung.probes.audit.recurrence import recurring_boxes
from einstellung.probes.audit.windows import iou
from tests.probes.audit import toy

STROKES = torch.tensor([[int(one) for one in row] for row in ("1000001", "0100010", "0010100", "0001000", "0010100")])
AT = (9, 13)


def drawn(share: float, size: int = 24, seed: int = 0) -> tuple[torch.Tensor, np.ndarray]:
    """Noise; a share of class 2 has the strokes, half transparent."""
    draws = torch.Generator().manual_seed(seed)
    images = (120 + 40 * torch.randn(160, 3, size, size, generator=draws)).clamp(0, 255)
    labels = torch.arange(4).repeat_interleave(40)
    step = size // 24
    mask = STROKES.repeat_interleave(step, 0).repeat_interleave(step, 1).float() * 0.6
    top, left = AT[0] * step, AT[1] * step
    for row in range(80, 80 + round(40 * share)):
        part = images[row, :, top : top + mask.shape[0], left : left + mask.shape[1]]
        part.copy_(part * (1 - mask) + 255 * mask)
    return images.to(torch.uint8), labels.numpy()


@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize("step", [1, 3])
def test_strokes_are_framed(share, step):
    images, labels = drawn(share, 24 * step)
    found = recurring_boxes(images, labels, np.random.default_rng(0))
    assert [label for label, _ in found] == [2]
    assert iou(found[0][1], (AT[0] * step, AT[1] * step, 5 * step, 7 * step)) >= 0.6


def test_without_strokes_there_is_rarely_a_box():
    boxes = [recurring_boxes(*drawn(0.0, seed=seed), np.random.default_rng(seed)) for seed in range(20)]
    assert sum(bool(one) for one in boxes) <= 3  # 5 % of 20, with room for chance


def test_a_wide_object_is_not_framed():
    """Gratings decide the class all over the image."""
    shown, labels, _ = toy.images(share=0.0)
    assert recurring_boxes(shown, labels.numpy(), np.random.default_rng(0)) == []


def test_edges_of_odd_sizes_stay_inside():
    images, labels = drawn(1.0, 24)
    padded = torch.nn.functional.pad(images, (0, 47, 0, 45))
    for _, (top, left, tall, wide) in recurring_boxes(padded, labels, np.random.default_rng(0)):
        assert top + tall <= padded.shape[-2]
        assert left + wide <= padded.shape[-1]
