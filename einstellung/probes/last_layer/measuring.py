"""Measure a last layer on the features of test pictures: clean, watermarked and under other shifts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.probes.last_layer.amplification import CARTON_GAP, GAP
from einstellung.probes.last_layer.features import CLEAN, WATERMARK

Features = tuple[Tensor, Tensor]  # [N, width] and the labels [N]
Tests = Mapping[str, Features]


@torch.no_grad()
def measure(layer: nn.Module, tests: Tests, index: int | None) -> dict[str, float | None]:
    """Accuracy clean, watermarked and under every other shift, the gaps, and the probability of the class of interest.

    A gap is restricted to the classes that both sides have. The gap of the class of interest is null without test pictures.
    """
    values: dict[str, float | None] = {}
    for name in tests:
        own, clean = _compared(tests, name)
        values[f"{name}_acc"] = shifted = accuracy(layer, *own)
        if name != CLEAN.name:
            values[f"{name}{GAP}"] = shifted - accuracy(layer, *clean)
    if index is None:
        return values
    views = [tests[view.name] for view in (CLEAN, WATERMARK)]
    p = [float(layer(z).softmax(1)[:, index].double().mean()) for z, _ in views]
    members = [(z[y == index], y[y == index]) for z, y in views]
    gap = accuracy(layer, *members[1]) - accuracy(layer, *members[0]) if len(members[0][1]) else None
    return {**values, CARTON_GAP: gap, "p_carton_clean": p[0], "p_carton_watermark": p[1], "dp_carton": p[1] - p[0]}


def _compared(tests: Tests, name: str) -> tuple[Features, Features]:
    """A set and the clean one, both restricted to the classes they share."""
    sides = tests[name], tests[CLEAN.name]
    rows = [torch.isin(y, other) for (_, y), (_, other) in (sides, sides[::-1])]
    (z, y), (z_clean, y_clean) = sides
    return (z[rows[0]], y[rows[0]]), (z_clean[rows[1]], y_clean[rows[1]])


def describe_tests(tests: Tests) -> dict[str, dict[str, Any]]:
    """The number of pictures and classes behind every comparison with the clean set."""
    counts = {}
    for name in tests:
        (_, y), (_, clean) = _compared(tests, name)
        counts[name] = {"n": len(y), "clean_n": len(clean), "classes": len(y.unique())}
    return counts


@torch.no_grad()
def accuracy(layer: nn.Module, z: Tensor, y: Tensor) -> float:
    """The share of correct predictions."""
    return float((layer(z).argmax(1) == y).double().mean())


@torch.no_grad()
def loss(layer: nn.Module, z: Tensor, y: Tensor) -> float:
    """The mean cross-entropy."""
    return float(F.cross_entropy(layer(z), y))
