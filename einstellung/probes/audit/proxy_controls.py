"""The three controls of a proxy's mask: images of other classes, masks of equal area and shape elsewhere, other fillings.

They use :data:`CONTROLLED` images of each class and draws of their own, so that candidates and their statistics do not depend on
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from einstellung.cues import cover
from einstellung.probes.audit.examination import FILLINGS, above, beats_fillings
from einstellung.probes.audit.transplants import Doubles, Ints, PredictedImages
from einstellung.results.audit_files import Beats

CONTROLLED = 20  # images of a class that carry the controls
RANDOM_MASKS = 19  # the largest of so many is exceeded by chance in 5 % of cases
_TOUCHING = 0.1  # share of the mask's area that a random one may overlap


@dataclass(frozen=True)
class _Effect:
    """By image: the probability of the label that is lost, and whether a correct prediction was lost (1) or gained (-1)."""

    fall: Doubles
    lost: Doubles

    @property
    def delta(self) -> float:
        return float(self.lost.mean())


def passes_of_controls(images: int) -> int:
    """Forward passes for a class of so many images."""
    return min(images, CONTROLLED) * (len(FILLINGS) + RANDOM_MASKS + 1)


def controls_of(predicted: PredictedImages, label: int, mask: Tensor, draws: np.random.Generator) -> dict[str, Any]:
    """The fields of a proxy row for its controls; ``mask``: bool [1, 1, H, W] of one class."""
    own, others = (_some(np.flatnonzero(which)) for which in (predicted.labels == label, predicted.labels != label))
    filled = {name: _effect(predicted, own, mask, name) for name in FILLINGS}
    nsc = _effect(predicted, others, mask, "black")
    places = [_effect(predicted, own, one, "black").delta for one in elsewhere(mask, RANDOM_MASKS, draws)]
    black = filled["black"]
    return {
        "controlled": len(own),
        "nsc": nsc.delta,
        "random": float(np.mean(places)),
        "random_ci95": tuple(map(float, np.quantile(places, [0.025, 0.975]))),
        "random_masks": len(places),
        "fillings": {name: one.delta for name, one in filled.items()},
        "beats": Beats(
            nsc=above(black.fall, nsc.fall),
            random=black.delta > max(places),
            fillings=beats_fillings({name: one.fall for name, one in filled.items()}),
        ),
    }


def _some(rows: Ints) -> Ints:
    """At most :data:`CONTROLLED` rows at equal distances."""
    if len(rows) <= CONTROLLED:
        return rows
    return rows[np.linspace(0, len(rows) - 1, CONTROLLED).round().astype(np.int64)]


def _effect(predicted: PredictedImages, rows: Ints, mask: Tensor, filling: str) -> _Effect:
    index = torch.from_numpy(rows)
    images, labels, before = predicted.images[index], predicted.labels[rows], predicted.before[rows]
    region = mask.expand(len(rows), 1, *images.shape[-2:])
    after = predicted.model.probabilities(cover(filling, images, region, index))
    own = np.arange(len(rows))
    right = (before.argmax(axis=1) == labels).astype(np.float64)
    return _Effect(
        np.asarray(before[own, labels] - after[own, labels], dtype=np.float64),
        right - (after.argmax(axis=1) == labels),
    )


def elsewhere(mask: Tensor, count: int, draws: np.random.Generator) -> list[Tensor]:
    """The mask moved (around the edges) to random places that overlap it by a tenth at most, or where it overlaps least.

    >>> mask = torch.zeros(1, 1, 4, 4, dtype=torch.bool)
    >>> mask[..., :2, :2] = True
    >>> moved = elsewhere(mask, 3, np.random.default_rng(0))
    >>> [int(one.sum()) for one in moved], any(bool((one & mask).any()) for one in moved)
    ([4, 4, 4], False)
    """
    spectrum = np.fft.rfft2(mask[0, 0].double().numpy())
    shared = np.fft.irfft2(np.abs(spectrum) ** 2, s=mask.shape[-2:]).round()  # pixels in common, by shift
    places = np.argwhere(shared <= max(_TOUCHING * float(shared[0, 0]), float(shared.min())))
    chosen = places[draws.integers(len(places), size=count)]
    return [torch.roll(mask, (int(down), int(right)), dims=(-2, -1)) for down, right in chosen]
