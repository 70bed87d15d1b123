"""Scenes to learn perception from: every object of any kind with equal chance, whatever the others are.

No rule of any study holds in them, neither a ground truth nor a confounder, so that nothing of a confounded task can come in by
way of the eyes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from einstellung.files import digest
from einstellung.randomness import seed_of
from einstellung.scenes.attributes import KINDS
from einstellung.scenes.layout import place_scenes
from einstellung.scenes.lots import carried_out
from einstellung.scenes.progress import Tell, in_lines
from einstellung.scenes.rendering import REFERENCE, RENDERER_VERSION, object_masks, render, resolve_backend
from einstellung.scenes.store import made_once
from einstellung.sources.cache import Arrays

_LAYOUT = 1  # of the cached arrays, and of how scenes are drawn; another one is another entry
_LOT = 250


@dataclass(frozen=True)
class KnownScenes:
    """Pictures (uint8 [N, 3, S, S]) with their objects' codes [N, K, 4], places [N, K, 2] and masks (uint8 [N, H, H]).

    A place is the centre of what is seen of an object, from the left and from the top as shares of the picture's side. A mask
    tells which object is where, from 1 on; 0 is the ground.
    """

    images: Tensor
    codes: Tensor
    centres: Tensor
    masks: Tensor

    def __len__(self) -> int:
        return len(self.images)

    def take(self, rows: Tensor) -> KnownScenes:
        """The given scenes, in the given order."""
        return KnownScenes(self.images[rows], self.codes[rows], self.centres[rows], self.masks[rows])


@dataclass(frozen=True)
class UnruledLaw:
    """Which scenes: of how many objects, at what size, from which seed, for which split, drawn by which renderer."""

    split: str
    objects: int
    size: int
    seed: int
    backend: str


def unruled_scenes(
    split: str,
    count: int,
    *,
    objects: int,
    size: int,
    seed: int,
    backend: str = "auto",
    workers: int = 1,
    tell: Tell = lambda _: None,
) -> KnownScenes:
    """``count`` scenes, drawn once and then mapped from the cache; scene i is the same however many are asked for."""
    law = UnruledLaw(split, objects, size, seed, resolve_backend(backend))
    key = digest([_LAYOUT, RENDERER_VERSION, split, count, objects, size, seed, law.backend], length=32)
    what = f"scenes without rules, {split}"
    arrays = made_once(f"unruled-{key}", lambda: _drawn(law, count, workers, what, tell), what, tell)
    return KnownScenes(
        torch.from_numpy(arrays["images"]).permute(0, 3, 1, 2),
        torch.from_numpy(arrays["codes"]).long(),
        torch.from_numpy(arrays["centres"]),
        torch.from_numpy(arrays["masks"]),
    )


def _drawn(law: UnruledLaw, count: int, workers: int, what: str, tell: Tell) -> Arrays:
    lots = [range(first, min(first + _LOT, count)) for first in range(0, count, _LOT)]
    if workers > 1:
        _draw(range(1), law)  # what is compiled is then on the disk, before several processes would each compile it
    heard, parts, done = in_lines(what, tell), [], 0
    for part in carried_out(partial(_draw, law=law), lots, workers):
        parts.append(part)
        done += len(part["images"])
        heard(done, count)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _draw(numbers: range, law: UnruledLaw) -> dict[str, npt.NDArray[Any]]:
    """Scenes by their numbers: kinds first, then a layout in which all are seen, from a generator of each scene's own."""
    generators = [
        np.random.default_rng(seed_of(law.seed, "scenes without rules", law.split, number)) for number in numbers
    ]
    codes = np.stack([KINDS[generator.integers(len(KINDS), size=law.objects)] for generator in generators])
    scenes = place_scenes(codes, None, generators)
    images, masks = render(scenes, law.size, law.backend)
    if law.size < REFERENCE:  # where objects are known to be seen
        masks = object_masks(scenes, REFERENCE)
    return {"images": images, "codes": codes, "centres": centres_of(masks, law.objects), "masks": masks}


def centres_of(masks: npt.NDArray[np.uint8], objects: int) -> npt.NDArray[np.float32]:
    """The centre of every object's visible pixels [N, K, 2]: (x, y) as shares of the side, from the left and from the top.

    >>> centres_of(np.array([[[0, 1], [2, 2]]], dtype=np.uint8), 2).tolist()
    [[[0.75, 0.25], [0.5, 0.75]]]
    """
    side = masks.shape[-1]
    middle = (np.arange(side, dtype=np.float64) + 0.5) / side
    seen = np.stack([masks == number for number in range(1, objects + 1)], axis=1)  # [N, K, S, S]
    area = seen.sum(axis=(2, 3))
    x, y = (seen.sum(axis=axis) @ middle / area for axis in (2, 3))
    return np.stack([x, y], axis=2).astype(np.float32)
