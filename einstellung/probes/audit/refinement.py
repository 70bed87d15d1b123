"""Occlusion from coarse to fine: where a coarse map says that a class loses most, a smaller square slides in smaller steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from einstellung.cues import cover
from einstellung.probes.audit.proxies import ImportanceMaps, mask_within
from einstellung.probes.audit.transplants import Doubles, Ints, PredictedImages
from einstellung.probes.audit.windows import Box, grid, mask_of

_FINER = 14  # squares in a row, twice as many as on the coarse grid
_ZONE = 3.0  # times the budget: the share of pixels in which the fine square slides
_CHUNK = 256  # images at once


def refined(predicted: PredictedImages, coarse: ImportanceMaps, side: int, budget: float) -> ImportanceMaps:
    """The coarse maps by class, plus in their most important pixels what squares of half the ``side`` cost the same images."""
    height, width = predicted.images.shape[-2:]
    windows = _fine_windows(height, width, side)
    maps = {}
    for label, importance in coarse.maps.items():
        zone = mask_within(importance, min(1.0, _ZONE * budget))[0, 0].numpy()
        inside = [box for box in windows if _share(zone, box) >= 0.5]
        maps[label] = importance + zone * _fine_map(predicted, coarse.rows[label], label, inside)
    return replace(coarse, method="sliding square, coarse to fine, mean colour", maps=maps)


def expected_finer(height: int, width: int, side: int, budget: float) -> float:
    """About how many fine squares a class has."""
    return min(1.0, _ZONE * budget) * len(_fine_windows(height, width, side))


def _fine_windows(height: int, width: int, side: int) -> list[Box]:
    return grid(height, width, max(2, side // 2), _FINER)


def _share(zone: np.ndarray, box: Box) -> float:
    top, left, tall, wide = box
    return float(zone[top : top + tall, left : left + wide].mean())


def _fine_map(predicted: PredictedImages, rows: Ints, label: int, windows: list[Box]) -> Doubles:
    """[H, W]: the mean loss of probability under the squares on a pixel, on the scale of the coarse maps (they sum to 1)."""
    height, width = predicted.images.shape[-2:]
    total, count = np.zeros((height, width)), np.zeros((height, width))
    per_chunk = max(1, _CHUNK // len(rows))
    images, index = predicted.images[torch.from_numpy(rows)], torch.from_numpy(rows)
    for first in range(0, len(windows), per_chunk):
        some = windows[first : first + per_chunk]
        region = mask_of([box for box in some for _ in rows], len(some) * len(rows), height, width)
        hidden = cover("mean", images.repeat(len(some), 1, 1, 1), region, index.repeat(len(some)))
        after = predicted.model.probabilities(hidden)[:, label].reshape(len(some), len(rows))
        losses = (predicted.before[rows, label][None] - after).mean(axis=1)
        for (top, left, tall, wide), loss in zip(some, losses, strict=True):
            total[top : top + tall, left : left + wide] += loss
            count[top : top + tall, left : left + wide] += 1
    found = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
    scale = np.abs(found).sum()
    return np.asarray(found / scale if scale > 0 else found, dtype=np.float64)
