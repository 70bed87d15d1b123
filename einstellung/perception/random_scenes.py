"""Random scenes for training perception: every object is drawn uniformly and independently.

They follow no rule of any study, neither a ground truth nor a confounder, so that perception cannot leak a confounded task.
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
from einstellung.scenes.progress import Log, progress_logger
from einstellung.scenes.rendering import REFERENCE, RENDERER_VERSION, object_masks, render, resolve_backend
from einstellung.scenes.store import cached_once
from einstellung.scenes.work_chunks import CHUNK_SIZE, map_in_processes
from einstellung.sources.cache import Arrays

_LAYOUT = 1  # version of the cached arrays and of how scenes are drawn; part of the cache key


@dataclass(frozen=True)
class AnnotatedScenes:
    """Images (uint8 [N, 3, S, S]) with object codes [N, K, 4], centres [N, K, 2] and masks (uint8 [N, H, H]).

    A centre is that of an object's visible pixels, from the left and from the top as shares of the image side. Masks number the
    objects from 1; 0 is the ground.
    """

    images: Tensor
    codes: Tensor
    centres: Tensor
    masks: Tensor

    def __len__(self) -> int:
        return len(self.images)

    def take(self, rows: Tensor) -> AnnotatedScenes:
        """Select scenes by row."""
        return AnnotatedScenes(self.images[rows], self.codes[rows], self.centres[rows], self.masks[rows])


@dataclass(frozen=True)
class RandomSceneOptions:
    """What determines a scene and its image, apart from its number."""

    split: str
    objects: int
    size: int
    seed: int
    backend: str


def load_random_scenes(
    split: str,
    count: int,
    *,
    objects: int,
    size: int,
    seed: int,
    backend: str = "auto",
    workers: int = 1,
    log: Log = lambda _: None,
) -> AnnotatedScenes:
    """Render ``count`` scenes, or load them from the cache; scene i does not depend on ``count``."""
    options = RandomSceneOptions(split, objects, size, seed, resolve_backend(backend))
    key = digest([_LAYOUT, RENDERER_VERSION, split, count, objects, size, seed, options.backend], length=32)
    what = f"scenes without rules, {split}"
    arrays = cached_once(f"unruled-{key}", lambda: _render_scenes(options, count, workers, what, log), what, log)
    return AnnotatedScenes(
        torch.from_numpy(arrays["images"]).permute(0, 3, 1, 2),
        torch.from_numpy(arrays["codes"]).long(),
        torch.from_numpy(arrays["centres"]),
        torch.from_numpy(arrays["masks"]),
    )


def _render_scenes(options: RandomSceneOptions, count: int, workers: int, what: str, log: Log) -> Arrays:
    chunks = [range(first, min(first + CHUNK_SIZE, count)) for first in range(0, count, CHUNK_SIZE)]
    if workers > 1:
        _render_chunk(range(1), options)  # fills numba's disk cache before the workers start
    on_progress, parts, done = progress_logger(what, log), [], 0
    for part in map_in_processes(partial(_render_chunk, options=options), chunks, workers):
        parts.append(part)
        done += len(part["images"])
        on_progress(done, count)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _render_chunk(numbers: range, options: RandomSceneOptions) -> dict[str, npt.NDArray[Any]]:
    """Render scenes by number: each has its own generator, which draws kinds first, then a layout with all objects visible."""
    generators = [
        np.random.default_rng(seed_of(options.seed, "scenes without rules", options.split, number))
        for number in numbers
    ]
    codes = np.stack([KINDS[generator.integers(len(KINDS), size=options.objects)] for generator in generators])
    scenes = place_scenes(codes, None, generators)
    images, masks = render(scenes, options.size, options.backend)
    if options.size < REFERENCE:  # the size at which all objects are visible
        masks = object_masks(scenes, REFERENCE)
    return {"images": images, "codes": codes, "centres": centres_of(masks, options.objects), "masks": masks}


def centres_of(masks: npt.NDArray[np.uint8], objects: int) -> npt.NDArray[np.float32]:
    """The centre of each object's visible pixels [N, K, 2]: (x, y) as shares of the side, from the left and the top.

    >>> centres_of(np.array([[[0, 1], [2, 2]]], dtype=np.uint8), 2).tolist()
    [[[0.75, 0.25], [0.5, 0.75]]]
    """
    side = masks.shape[-1]
    middle = (np.arange(side, dtype=np.float64) + 0.5) / side
    seen = np.stack([masks == number for number in range(1, objects + 1)], axis=1)  # [N, K, S, S]
    area = seen.sum(axis=(2, 3))
    x, y = (seen.sum(axis=axis) @ middle / area for axis in (2, 3))
    return np.stack([x, y], axis=2).astype(np.float32)
