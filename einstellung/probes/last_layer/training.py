r"""Learning a last layer on fixed features: ERM, one augmentation, or an ensemble of last layers (LLE).

- ``erm``: mean CE(h(z), y), z the features of a picture as it is
- ``NAME_aug`` (``wtm_aug`` for the watermark): the same, a picture under the shift with probability 1/2
- ``lle``: a shift d is drawn for each picture, all equally likely, the identity among them;
  CE(h_d(z), y) + CE(D(z), d), test: sum_d softmax(D(z))_d h_d(z)

The published setting (Li et al. 2023): 90 epochs, batches of 1024, SGD with momentum .9 and weight decay 1e-4, a cosine
schedule, the learning rate (times batch / 256) chosen on held-out pictures. It differs here in that pictures are cropped in the
middle and never flipped, and that a picture has a few drawn versions under a shift rather than a new one in every epoch:
features are computed once.
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
class Recipe:
    """How a last layer is trained; ``rates``: those that are tried."""

    epochs: int = 90
    batch: int = 1024
    momentum: float = 0.9
    weight_decay: float = 1e-4
    rates: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)
    held_out: float = 0.2

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 1 or not self.rates or min(self.rates) <= 0:
            raise InputError("training needs at least 1 epoch, batches of at least 1, and learning rates above 0")

    def facts(self) -> dict[str, object]:
        """The settings as a record has them."""
        return {**asdict(self), "rates": list(self.rates), "optimiser": "sgd", "schedule": "cosine"}


@dataclass(frozen=True)
class Known:
    """Features [N, width] with their labels; under a shift [V, M, width] in V drawn versions, and of which of the N each is one.

    A shift from a folder may lack some of the pictures.
    """

    clean: tuple[Tensor, Tensor]
    shifted: Mapping[str, tuple[Tensor, Tensor]]

    @cached_property
    def places(self) -> dict[str, Tensor]:
        """By shift where the version of each clean picture stands [N]; -1 where it has none."""
        found = {}
        for shift, (_, rows) in self.shifted.items():
            found[shift] = torch.full((len(self.clean[1]),), -1)
            found[shift][rows] = torch.arange(len(rows))
        return found


def shifts_of(method: str, shifts: list[str]) -> list[str]:
    """The shifts that a method learns from.

    >>> shifts_of("wtm_aug", ["watermark"]), shifts_of("lle", ["watermark", "texture"]), shifts_of("erm", ["watermark"])
    (['watermark'], ['watermark', 'texture'], [])
    """
    if method == ERM:
        return []
    if method == LLE:
        return shifts
    name = WATERMARK_SHIFT if method == WTM + AUG else method.removesuffix(AUG)
    if not method.endswith(AUG) or name not in shifts:
        there = ", ".join([ERM, *(f"{WTM if one == WATERMARK_SHIFT else one}{AUG}" for one in shifts), LLE])
        raise InputError(f"--methods: there is no '{method}'; with these sources there are {there}")
    return [name]


def trained(method: str, start: nn.Linear, known: Known, recipe: Recipe, rate: float, seed: int) -> nn.Module:
    """The last layer (or layers) that ``method`` makes of ``start``."""
    shifts = shifts_of(method, list(known.shifted))
    layer: nn.Module = copy.deepcopy(start)
    if method == LLE:
        layer = Ensemble(start, 1 + len(shifts))
        layer.know(range(1, 1 + len(shifts)))
    layer.requires_grad_(True)
    count = len(known.clean[1])
    first_rate = rate * min(recipe.batch, count) / 256
    optimiser = torch.optim.SGD(
        layer.parameters(), first_rate, momentum=recipe.momentum, weight_decay=recipe.weight_decay
    )
    for epoch in range(recipe.epochs):
        optimiser.param_groups[0]["lr"] = first_rate * (1 + math.cos(math.pi * epoch / recipe.epochs)) / 2
        draws = generator(seed, "last layer", method, epoch)
        for rows in torch.randperm(count, generator=draws).split(recipe.batch):
            z, y, d = drawn(known, shifts, rows, draws)
            optimiser.zero_grad(set_to_none=True)
            objective(layer, z, y, d).backward()
            optimiser.step()
    return layer.requires_grad_(False)


def objective(layer: nn.Module, z: Tensor, y: Tensor, d: Tensor) -> Tensor:
    """The loss of a batch with features z, labels y and shifts d (0: none)."""
    if not isinstance(layer, Ensemble):
        return F.cross_entropy(layer(z), y)
    logits, told = layer.parts(z)
    return F.cross_entropy(logits[torch.arange(len(d)), d], y) + F.cross_entropy(told, d)


def drawn(known: Known, shifts: list[str], rows: Tensor, draws: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Features, labels and the shift of each row: of K shifts and none at all each one is equally likely.

    Where a picture has no version under its shift, another picture's is taken, with that one's label.
    """
    z, y = (part[rows] for part in known.clean)
    d = torch.randint(len(shifts) + 1, (len(rows),), generator=draws)
    for number, shift in enumerate(shifts, start=1):
        here = (d == number).nonzero().flatten()
        versions, origin = known.shifted[shift]
        place = known.places[shift][rows[here]]
        lacking = (place < 0).nonzero().flatten()
        place[lacking] = torch.randint(len(origin), (len(lacking),), generator=draws)
        version = torch.randint(len(versions), (len(here),), generator=draws)
        z[here], y[here] = versions[version, place], known.clean[1][origin[place]]
    return z, y, d


def split(known: Known, share: float, seed: int) -> tuple[Known, Known]:
    """What is learned from, and what is held out to choose the learning rate: a random ``share`` of the pictures.

    A picture is held out in all its versions.
    """
    learned, held = (_part(known, rows) for rows in _cut(len(known.clean[1]), share, generator(seed, "held out")))
    for shift, (_, rows) in learned.shifted.items():
        if not len(rows):
            raise InputError(f"--shift {shift}: none of its pictures is left to learn from beside the held-out ones")
    return learned, held


def _part(known: Known, rows: Tensor) -> Known:
    """Some of the pictures, with their versions."""
    z, y = known.clean
    number = torch.full((len(y),), -1)
    number[rows] = torch.arange(len(rows))
    shifted = {}
    for shift, (versions, origin) in known.shifted.items():
        kept = (number[origin] >= 0).nonzero().flatten()
        shifted[shift] = versions[:, kept], number[origin[kept]]
    return Known((z[rows], y[rows]), shifted)


def _cut(count: int, share: float, draws: torch.Generator) -> tuple[Tensor, Tensor]:
    if count < 2:
        raise InputError(
            f"{count} picture to learn from: at least 2 are needed, one of them to choose the learning rate"
        )
    held = min(max(1, round(share * count)), count - 1)
    order = torch.randperm(count, generator=draws)
    return order[held:].sort().values, order[:held].sort().values
