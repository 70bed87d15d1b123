"""Sources and folders small enough to be looked through."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from einstellung.composites.build import Composites, CompositeSpec, build_composites
from einstellung.composites.procedural import procedural

FEW = {"train": 12, "val": 4, "test": 4}


def few(size: int = 32, phases: tuple[tuple[float, ...], ...] = ((0.75, 0.75),), **changes) -> Composites:
    """A few drawn composites, without the cache."""
    counts = {**FEW, **changes.pop("counts", {})}
    shared = changes.pop("shared", False)
    times = 1 if shared else len(phases)
    sources = procedural({**counts, "train": counts["train"] * times})
    order = CompositeSpec(size, phases, counts, shared, changes.pop("seed", 0))
    return build_composites(sources, order, keep=False)


def save_picture(path: Path, seed: int, alpha: bool = True, size: tuple[int, int] = (12, 10)) -> Path:
    """Random colours; with ``alpha``, a disc of them is cut out."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (*size, 4), dtype=np.uint8)
    rows, cols = np.mgrid[: size[0], : size[1]]
    inside = (rows - size[0] / 2 + 0.5) ** 2 + (cols - size[1] / 2 + 0.5) ** 2 < (min(size) / 2) ** 2
    pixels[..., 3] = np.where(inside, 255, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels if alpha else pixels[..., :3].copy()).save(path)
    return path


def source_folder(root: Path, each: int = 8) -> Path:
    """``targets/``, ``backgrounds/`` and ``objects/`` with two labels of ``each`` pictures."""
    number = 0
    for kind, labels in (("targets", ("cat", "dog")), ("backgrounds", ("country", "urban")), ("objects", ("a", "b"))):
        for label in labels:
            for count in range(each):
                number += 1
                save_picture(root / kind / label / f"{label}{count}.png", number, alpha=kind != "backgrounds")
    return root
