"""Content that recurs at one place in a class's images: it shows the extent of a cue that fills no window, such as strokes.

Detail (pixels minus their neighbourhood) of objects that are nowhere aligned averages out over a class; that of a cue stays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from scipy import ndimage
from torch import Tensor

from einstellung.probes.audit.transplants import Doubles, Ints
from einstellung.probes.audit.windows import Box

SHUFFLES = 19
_SIDE = 32  # larger images are reduced to it
_LARGEST = 0.1  # share of the image: what is larger is not localised
_PER_CLASS = 2
_NEAR = 2  # pixels between two parts of one cue
_SMALLEST = 4  # pixels


def recurring_boxes(images: Tensor, labels: Ints, draws: np.random.Generator) -> list[tuple[int, Box]]:
    """Boxes around pixels whose detail differs between a class and all others, the most conspicuous first.

    The score of a pixel is its t statistic, the largest over channels; the null is the largest score over all pixels and classes
    under shuffled labels (5 %).
    """
    height, width = images.shape[-2:]
    step = max(1, min(height, width) // _SIDE)
    detail = _detail(images, step)
    classes = np.unique(labels)
    scores = _scores(detail, labels, classes)
    null = max(float(_scores(detail, draws.permutation(labels), classes).max()) for _ in range(SHUFFLES))
    found = []
    for score, label in zip(scores, classes.tolist(), strict=True):
        parts = [
            (weight, box)
            for weight, box in _components(score, null)
            if box[2] * box[3] <= _LARGEST * score.size and min(box[2:]) >= 2
        ]
        found += [(weight, label, box) for weight, box in sorted(parts, reverse=True)[:_PER_CLASS]]
    return [
        (label, (top * step, left * step, min(tall * step, height - top * step), min(wide * step, width - left * step)))
        for _, label, (top, left, tall, wide) in sorted(found, reverse=True)
    ]


def _detail(images: Tensor, step: int) -> Tensor:
    """[N, C, h, w]: reduced images minus their mean over 5x5 pixels."""
    parts = []
    for part in images.split(256):
        values = F.avg_pool2d(part.float(), step) if step > 1 else part.float()
        parts.append(values - F.avg_pool2d(F.pad(values, (2, 2, 2, 2), mode="replicate"), 5, stride=1))
    return torch.cat(parts)


def _scores(detail: Tensor, labels: Ints, classes: Ints) -> Doubles:
    """[classes, h, w]: how far a class's mean is from that of all others."""
    own = torch.from_numpy(labels[None] == classes[:, None]).float()
    counts = own.sum(dim=1).view(-1, 1, 1, 1)
    shape = (len(classes), *detail.shape[1:])
    sums = (own @ detail.flatten(1)).view(shape)
    total, count = detail.sum(dim=0, keepdim=True), len(detail)
    rest = (total - sums) / (count - counts).clamp(min=1)
    spread = (detail.var(dim=0, keepdim=True) + 1) * (1 / counts + 1 / (count - counts).clamp(min=1))
    scores: Doubles = ((sums / counts - rest).abs() / spread.sqrt()).amax(dim=1).double().numpy()
    return scores


def _components(score: Doubles, null: float) -> Sequence[tuple[float, Box]]:
    """Groups of pixels above the null, with the sum of their scores and the box around them."""
    exceeding = score > null
    near = ndimage.binary_dilation(exceeding, np.ones((2 * _NEAR + 1, 2 * _NEAR + 1)))
    parts, count = ndimage.label(near)
    found = []
    for number in range(1, count + 1):
        rows, cols = np.nonzero(exceeding & (parts == number))
        if len(rows) >= _SMALLEST:
            box = (int(rows.min()), int(cols.min()), int(np.ptp(rows)) + 1, int(np.ptp(cols)) + 1)
            found.append((float(score[rows, cols].sum()), box))
    return found
