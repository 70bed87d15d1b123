"""The layers of composites: sources scaled to the canvas, composed in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from einstellung.composites.geometry import OBJECT_PLACEMENT, TARGET_PLACEMENT, Window, backdrop, cut_out
from einstellung.composites.sources import BACKGROUND, OBJECT, TARGET, Pixels, Source
from einstellung.composites.split_plan import NONE, Numbers, Parts
from einstellung.composites.watermark_mask import watermarked
from einstellung.files import digest
from einstellung.sources.cache import Arrays, cached

_LAYOUT = 1  # version of the cached arrays and of how sources are scaled; part of the cache key

Masks = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class CutOuts:
    """Cut-outs [N, 4, h, w] (alpha 0 or 255) and their common window on the canvas."""

    pixels: Pixels
    window: Window

    def paste(self, canvas: Pixels, which: Numbers) -> None:
        """Paste cut-outs onto canvases [n, 3, S, S] in place; ``NONE`` pastes nothing."""
        rows, cols = self.window.area
        chosen = self.pixels[np.maximum(which, 0)]
        inside = (chosen[:, 3:] == 255) & (which != NONE)[:, None, None, None]
        np.copyto(canvas[:, :, rows, cols], chosen[:, :3], where=inside)

    def masks(self, which: Numbers, size: int) -> Masks:
        """Their masks on the canvas [n, S, S]."""
        masks = np.zeros((len(which), size, size), dtype=np.bool_)
        rows, cols = self.window.area
        masks[:, rows, cols] = (self.pixels[np.maximum(which, 0), 3] == 255) & (which != NONE)[:, None, None]
        return masks


@dataclass(frozen=True)
class CompositeLayers:
    """All layers, with the value (0 or 1) and the name of every source of each kind."""

    size: int
    targets: CutOuts
    backgrounds: Pixels
    objects: CutOuts
    values: Mapping[str, Numbers]
    names: Mapping[str, tuple[str, ...]]

    def compose(self, parts: Parts) -> Pixels:
        """Compose images [n, 3, S, S]: background, co-object, target, then the watermark on top."""
        canvas: Pixels = self.backgrounds[np.maximum(parts.backgrounds, 0)]
        canvas[parts.backgrounds == NONE] = self.flat_colour[:, None, None]
        self.objects.paste(canvas, parts.objects)
        self.targets.paste(canvas, parts.targets)
        if (marked := parts.marks == 1).any():
            canvas[marked] = watermarked(canvas[marked])
        return canvas

    def target_masks(self, parts: Parts) -> Masks:
        return self.targets.masks(parts.targets, self.size)

    def object_masks(self, parts: Parts) -> Masks:
        """The visible part of the co-objects: the target is in front of them."""
        return self.objects.masks(parts.objects, self.size) & ~self.target_masks(parts)

    def target_boxes(self, which: Numbers) -> Numbers:
        """Top, left, bottom and right of these targets; bottom and right are exclusive."""
        return self._boxes[which]

    @cached_property
    def flat_colour(self) -> Pixels:
        """The mean colour of all backgrounds: an uninformative background."""
        return np.asarray(np.rint(self.backgrounds.mean(axis=(0, 2, 3))), dtype=np.uint8)

    @cached_property
    def _boxes(self) -> Numbers:
        window, inside = self.targets.window, self.targets.pixels[:, 3] == 255
        spans = []
        for axis, first, length in ((2, window.top, window.height), (1, window.left, window.width)):
            filled = inside.any(axis=axis)
            spans.append((first + filled.argmax(axis=1), first + length - filled[:, ::-1].argmax(axis=1)))
        (top, bottom), (left, right) = spans
        return np.stack([top, left, bottom, right], axis=1).astype(np.int64)


def load_layers(
    sources: Mapping[str, Sequence[Source]],
    size: int,
    keep: bool = True,
    on_progress: Callable[[int, int], object] = lambda done, total: None,
) -> CompositeLayers:
    """Scale the sources of every kind to the canvas; ``keep`` stores them in the cache."""

    def make() -> Arrays:
        return _scaled(sources, size, on_progress)

    if keep:
        content = {kind: [source.digest() for source in some] for kind, some in sources.items()}
        arrays = cached(f"layers-{digest([_LAYOUT, size, content], length=32)}", make)
    else:
        arrays = make()
    return CompositeLayers(
        size,
        CutOuts(arrays[TARGET], TARGET_PLACEMENT.window(size)),
        arrays[BACKGROUND],
        CutOuts(arrays[OBJECT], OBJECT_PLACEMENT.window(size)),
        {kind: np.array([source.value for source in some], dtype=np.int64) for kind, some in sources.items()},
        {kind: tuple(source.name for source in some) for kind, some in sources.items()},
    )


def _scaled(
    sources: Mapping[str, Sequence[Source]], size: int, on_progress: Callable[[int, int], object]
) -> dict[str, Pixels]:
    sides = {TARGET: TARGET_PLACEMENT.window(size).height, OBJECT: OBJECT_PLACEMENT.window(size).height}
    done, total = 0, sum(map(len, sources.values()))
    arrays: dict[str, Pixels] = {}
    for kind, some in sources.items():
        shape = (3, size, size) if kind == BACKGROUND else (4, sides[kind], sides[kind])
        arrays[kind] = np.empty((len(some), *shape), dtype=np.uint8)
        for number, source in enumerate(some):
            picture = source.load()
            arrays[kind][number] = (
                backdrop(picture, size) if kind == BACKGROUND else cut_out(picture, sides[kind], source.name)
            )
            done += 1
            on_progress(done, total)
    return arrays
