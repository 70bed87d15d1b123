r"""Train a last layer on fixed features: ERM, one augmentation, or an ensemble of last layers (LLE).

- ``erm``: mean CE(h(z), y), z the features of a clean picture
- ``NAME_aug`` (``wtm_aug`` for the watermark): the same, with the shift applied with probability 1/2
- ``lle``: a shift d is drawn uniformly for each picture, the identity among them;
  CE(h_d(z), y) + CE(D(z), d), test: sum_d softmax(D(z))_d h_d(z)

Published setting (Li et al. 2023): 90 epochs, batches of 1024, SGD with momentum .9 and weight decay 1e-4, cosine schedule,
learning rate (times batch / 256) chosen on held-out pictures. Here features are computed once, so pictures are centre-cropped
and never flipped, and have a few drawn versions under a shift instead of a new one every epoch.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.learners.mitigation.heads import Ensemble
from einstellung.randomness import generator

ERM, LLE, AUG = "erm", "lle", "_aug"
WATERMARK_SHIFT, WTM = "watermark", "wtm"


@dataclass(frozen=True)
class LastLayerTraining:
    """Hyperparameters; ``rates`` are the learning rates to choose from, ``held_out`` the share of pictures to choose on."""

    epochs: int = 90
    batch: int = 1024
    momentum: float = 0.9
    weight_decay: float = 1e-4
    rates: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)
    held_out: float = 0.2

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 1 or not self.rates or min(self.rates) <= 0:
            raise InputError("training needs at least 1 epoch, batches of at least 1 and learning rates above 0")

    def facts(self) -> dict[str, object]:
        """The settings as plain values for a record."""
        return {**asdict(self), "rates": list(self.rates), "optimiser": "sgd", "schedule": "cosine"}


@dataclass(frozen=True)
class TrainingFeatures:
    """Clean features [N, width] with labels [N]; per shift, features [V, M, width] in V versions and their clean rows [M].

    A shift read from a folder may lack some of the pictures.
    """

    clean: tuple[Tensor, Tensor]
    shifted: Mapping[str, tuple[Tensor, Tensor]]

    @cached_property
    def positions(self) -> dict[str, Tensor]:
        """Per shift, the position of each clean picture's version [N]; -1 if it has none."""
        found = {}
        for shift, (_, rows) in self.shifted.items():
            found[shift] = torch.full((len(self.clean[1]),), -1)
            found[shift][rows] = torch.arange(len(rows))
        return found


def shifts_of(method: str, shifts: list[str]) -> list[str]:
    """The shifts that a method is trained on.

    >>> shifts_of("wtm_aug", ["watermark"]), shifts_of("lle", ["watermark", "texture"]), shifts_of("erm", ["watermark"])
    (['watermark'], ['watermark', 'texture'], [])
    """
    if method == ERM:
        return []
    if method == LLE:
        return shifts
    name = WATERMARK_SHIFT if method == WTM + AUG else method.removesuffix(AUG)
    if not method.endswith(AUG) or name not in shifts:
        available = ", ".join([ERM, *(f"{WTM if one == WATERMARK_SHIFT else one}{AUG}" for one in shifts), LLE])
        raise InputError(f"--methods: there is no '{method}'; with these shifts there are {available}")
    return [name]


def train_layer(
    method: str, start: nn.Linear, features: TrainingFeatures, training: LastLayerTraining, rate: float, seed: int
) -> nn.Module:
    """The last layer (or layers) that ``method`` trains, starting from ``start``."""
    shifts = shifts_of(method, list(features.shifted))
    layer: nn.Module = copy.deepcopy(start)
    if method == LLE:
        layer = Ensemble(start, 1 + len(shifts))
        layer.know(range(1, 1 + len(shifts)))
    layer.requires_grad_(True)
    count = len(features.clean[1])
    first_rate = rate * min(training.batch, count) / 256
    optimiser = torch.optim.SGD(
        layer.parameters(), first_rate, momentum=training.momentum, weight_decay=training.weight_decay
    )
    for epoch in range(training.epochs):
        optimiser.param_groups[0]["lr"] = first_rate * (1 + math.cos(math.pi * epoch / training.epochs)) / 2
        draws = generator(seed, "last layer", method, epoch)
        for rows in torch.randperm(count, generator=draws).split(training.batch):
            z, y, d = draw_batch(features, shifts, rows, draws)
            optimiser.zero_grad(set_to_none=True)
            objective(layer, z, y, d).backward()
            optimiser.step()
    return layer.requires_grad_(False)


def objective(layer: nn.Module, z: Tensor, y: Tensor, d: Tensor) -> Tensor:
    """The loss of a batch with features z, labels y and shifts d (0: none)."""
    if not isinstance(layer, Ensemble):
        return F.cross_entropy(layer(z), y)
    logits, shift_logits = layer.parts(z)
    return F.cross_entropy(logits[torch.arange(len(d)), d], y) + F.cross_entropy(shift_logits, d)


def draw_batch(
    features: TrainingFeatures, shifts: list[str], rows: Tensor, draws: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Features, labels and a uniformly drawn shift (0: none) for each row.

    If a picture has no version under its shift, another picture's version is used, with that picture's label.
    """
    z, y = (part[rows] for part in features.clean)
    d = torch.randint(len(shifts) + 1, (len(rows),), generator=draws)
    for number, shift in enumerate(shifts, start=1):
        here = (d == number).nonzero().flatten()
        versions, origin = features.shifted[shift]
        position = features.positions[shift][rows[here]]
        missing = (position < 0).nonzero().flatten()
        position[missing] = torch.randint(len(origin), (len(missing),), generator=draws)
        version = torch.randint(len(versions), (len(here),), generator=draws)
        z[here], y[here] = versions[version, position], features.clean[1][origin[position]]
    return z, y, d


def split_held_out(features: TrainingFeatures, share: float, seed: int) -> tuple[TrainingFeatures, TrainingFeatures]:
    """Split off a random ``share`` of the pictures, with all their versions, to choose the learning rate on."""
    parts = _split_rows(len(features.clean[1]), share, generator(seed, "held out"))
    train, held_out = (_take(features, rows) for rows in parts)
    for shift, (_, rows) in train.shifted.items():
        if not len(rows):
            raise InputError(f"--shift {shift}: all of its pictures are held out, none is left to train on")
    return train, held_out


def _take(features: TrainingFeatures, rows: Tensor) -> TrainingFeatures:
    """The given pictures with their versions."""
    z, y = features.clean
    new_row = torch.full((len(y),), -1)
    new_row[rows] = torch.arange(len(rows))
    shifted = {}
    for shift, (versions, origin) in features.shifted.items():
        kept = (new_row[origin] >= 0).nonzero().flatten()
        shifted[shift] = versions[:, kept], new_row[origin[kept]]
    return TrainingFeatures((z[rows], y[rows]), shifted)


def _split_rows(count: int, share: float, draws: torch.Generator) -> tuple[Tensor, Tensor]:
    if count < 2:
        raise InputError(f"{count} training picture: at least 2 are needed, one of them to choose the learning rate")
    held = min(max(1, round(share * count)), count - 1)
    order = torch.randperm(count, generator=draws)
    return order[held:].sort().values, order[:held].sort().values
