"""Composites as frozen features of a trained classifier: computed once, so that last layers train in seconds.

No image is composed during training, so swaps are precomputed: a few partners per training image and cue, one of which is drawn
each time.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from einstellung.checks import Check
from einstellung.files import digest
from einstellung.randomness import generator
from einstellung.scenes.progress import progress_logger
from einstellung.scenes.store import cached_once
from einstellung.sources.cache import is_stored
from einstellung.sources.stand_ins import assume
from einstellung.streams.stream import ImageSet, Stream

if TYPE_CHECKING:
    from einstellung.classifiers import Extractor

PARTNERS = 2  # precomputed swaps per training image and cue
_BATCH = 64
_LAYOUT = 1  # version of the cached features; part of the cache key


class FeatureSwap:
    """Features of swapped training images [N, partners, D], looked up by identity."""

    def __init__(self, cue: str, bit: int, index: Tensor, features: Tensor) -> None:
        self.cue = cue
        self.bit = bit
        self.features = features
        self._row = torch.full((int(index.max()) + 1,), -1)
        self._row[index] = torch.arange(len(index))

    def swapped(self, images: ImageSet, draws: torch.Generator) -> ImageSet:
        """A newly drawn partner for each image."""
        rows = self._row[images.index.clamp(max=len(self._row) - 1)]
        if bool((rows < 0).any()) or bool((images.index >= len(self._row)).any()):
            raise ValueError(f"swaps of the {self.cue} exist for training images only")
        chosen = (torch.rand(len(rows), generator=draws, dtype=torch.float64) * self.features.shape[1]).long()
        assert images.features is not None
        return replace(
            images, images=self.features[rows, chosen][:, :, None, None], features=images.features ^ (1 << self.bit)
        )


def as_features(stream: Stream, extractor: str, seed: int) -> Stream:
    """The same stream with features [N, D, 1, 1] instead of images."""
    from einstellung.classifiers import load_extractor as extractor_named

    swaps = _swaps(stream, seed)
    sets = [phase.train for phase in stream.phases] + [split.images for split in stream.splits]
    names, pictures, rows = _distinct([images.images for images in sets] + list(swaps.values()))
    net = extractor_named(extractor)
    what = f"features of {extractor}"
    key = digest([_LAYOUT, net.digest, list(pictures[0].shape), names], length=32)
    entry = f"features-{key}"
    if not is_stored(entry) and assume(
        f"{what} are not computed yet, which takes time once: noise in the place of {len(pictures):,} vectors"
    ):
        features = torch.rand(len(pictures), net.width, generator=generator(seed, "stand-in"))
    else:
        arrays = cached_once(entry, lambda: {"features": _features(net, pictures, what)}, what, _log)
        features = torch.from_numpy(arrays["features"])
    shown = [features[selected] for selected in rows]
    # so that the presentation leaves features unchanged: (x / 255 - 0) / (1 / 255)
    images = iter(replace(one, images=selected[:, :, None, None]) for one, selected in zip(sets, shown, strict=False))
    index = torch.cat([phase.train.index for phase in stream.phases])
    partners = dict(zip(swaps, shown[len(sets) :], strict=True))
    width = features.shape[1]
    return replace(
        stream,
        phases=tuple(replace(phase, train=next(images)) for phase in stream.phases),
        splits=tuple(replace(split, images=next(images)) for split in stream.splits),
        mean=(0.0,),
        std=(1 / 255,),
        flip=False,
        checks=(*(partial(_of_pictures, check, stream) for check in stream.checks), _features_are_finite),
        interventions={
            cue: FeatureSwap(cue, stream.cue_names.index(cue), index, selected.view(len(index), PARTNERS, width))
            for cue, selected in partners.items()
        },
        target_boxes=None,
        facts={
            **stream.facts,
            "input_modality": f"{width} features of {extractor}, of pictures with {stream.facts['input_modality']}",
            "content": digest([stream.facts["content"], net.digest]),
        },
    )


def _swaps(stream: Stream, seed: int) -> Mapping[str, Tensor]:
    """All training images with each cue swapped ``PARTNERS`` times: [N * partners, 3, S, S] by cue."""
    made = {}
    for cue, swap in stream.interventions.items():
        selected = [
            torch.stack(
                [
                    swap.swapped(phase.train, generator(seed, "frozen-swap", cue, phase.name, number)).images
                    for number in range(PARTNERS)
                ],
                dim=1,
            ).flatten(0, 1)
            for phase in stream.phases
        ]
        made[cue] = torch.cat(selected)
    return made


def _distinct(sets: list[Tensor]) -> tuple[list[str], list[Tensor], list[Tensor]]:
    """The distinct images with their hashes, and the rows of every set among them: many are in several splits."""
    known: dict[str, int] = {}
    kept: list[Tensor] = []
    rows: list[Tensor] = []
    for images in sets:
        numbers = []
        for image in images:
            name = hashlib.blake2b(image.contiguous().numpy().data, digest_size=16).hexdigest()
            if name not in known:
                known[name] = len(kept)
                kept.append(image)
            numbers.append(known[name])
        rows.append(torch.tensor(numbers))
    return list(known), kept, rows


def _features(net: Extractor, pictures: list[Tensor], what: str) -> npt.NDArray[np.float32]:
    on_progress = progress_logger(what, _log)
    found: list[Tensor] = []
    for start in range(0, len(pictures), _BATCH):
        found.append(net.features(torch.stack(pictures[start : start + _BATCH])))
        on_progress(sum(map(len, found)), len(pictures))
    return np.asarray(torch.cat(found).numpy())


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _of_pictures(check: Callable[[Stream], Check], pictures: Stream, _: Stream) -> Check:
    """Run a check on the images instead of their features."""
    return check(pictures)


def _features_are_finite(stream: Stream) -> Check:
    sets = [phase.train for phase in stream.phases] + [split.images for split in stream.splits]
    invalid = sum(int((~torch.isfinite(images.images)).flatten(1).any(dim=1).sum()) for images in sets)
    total = sum(map(len, sets))
    return Check("all features are finite", not invalid, f"{invalid} of {total:,} images have NaN or infinite features")
