"""``shapes``: a synthetic stream, drawn from a seed without any download.

Twelve superclasses (outlines) of three fine classes each (fillings), 32x32 pixels by default. Colour, position, size, tilt,
background and noise are independent of the label. Each shortcut superclass has a near twin without the cue (a ring is a disc
with a hole, a saltire a rotated cross): they are hard to tell apart, which makes the cue an attractive shortcut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from einstellung.cues import Cue
from einstellung.errors import InputError
from einstellung.randomness import generator
from einstellung.streams.many_phases import many_phases
from einstellung.streams.phase_plan import read_phases
from einstellung.streams.stream import Stream, streams
from einstellung.streams.two_phase import LabelledImages, Split, Taxonomy, changed_from_default, two_phase

_TURN = 2**-0.5  # cos 45 degrees


def _cross(x: Tensor, y: Tensor) -> Tensor:
    upright = torch.maximum(x.abs() - 0.34, y.abs() - 1.0)
    lying = torch.maximum(y.abs() - 0.34, x.abs() - 1.0)
    return torch.minimum(upright, lying)


# Signed distance of a point to each outline (negative = inside), in units of the shape's radius.
OUTLINES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "triangle": lambda x, y: torch.maximum(y - 0.75, 0.87 * x.abs() - 0.5 * y - 0.5),
    "square": lambda x, y: torch.maximum(x.abs(), y.abs()) - 0.91,
    "frame": lambda x, y: (torch.maximum(x.abs(), y.abs()) - 0.64).abs() - 0.27,
    "star": lambda x, y: torch.hypot(x, y) - (0.72 + 0.32 * torch.cos(5 * torch.atan2(x, -y))),
    "hourglass": lambda x, y: torch.maximum(y.abs() - 0.95, x.abs() - 0.85 * y.abs() - 0.12),
    "bars": lambda x, y: torch.maximum((x.abs() - 0.62).abs() - 0.3, y.abs() - 0.95),
    "moon": lambda x, y: torch.maximum(torch.hypot(x, y) - 1.05, 0.8 - torch.hypot(x, y + 0.6)),
    "lens": lambda x, y: torch.hypot(x, 1.9 * y) - 1.1,
    "ring": lambda x, y: (torch.hypot(x, y) - 0.72).abs() - 0.3,
    "saltire": lambda x, y: _cross((x + y) * _TURN, (y - x) * _TURN),
    "disc": lambda x, y: torch.hypot(x, y) - 1.02,
    "cross": _cross,
}

# Whether a point, given in pixels, is light or dark. Every filling is symmetric, so that flips do not change the class.
FILLINGS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "plain": lambda x, y: torch.ones_like(x + y, dtype=torch.bool),
    "rows": lambda x, y: torch.remainder(y, 6) < 3,
    "columns": lambda x, y: torch.remainder(x, 6) < 3,
}

_SIDE, _SUPERSAMPLING = 32, 2  # side of the canvas in pixels of a 32x32 image; samples per pixel and axis


_MOST_DRAWN = 2**29


@streams.register("shapes")
def shapes(
    cue: Cue,
    cover: str = "black",
    *,
    train_per_class: int = 100,
    test_per_class: int = 25,
    noise: float = 0.1,
    size: int = 32,
    seed: int = 0,
    t1: tuple[int, ...] = Split.t1,
    t2: tuple[int, ...] = Split.t2,
    shortcut: tuple[int, ...] = Split.shortcut,
    validation: float = 0.1,
    phases: list[dict[str, Any]] | None = None,
) -> Stream:
    """Synthetic shapes, no download: twelve outlines with three fillings each; the same seed draws the same images.

    ``phases``: any number of phases instead of T1 and T2 (docs/data.md).
    """
    if train_per_class < 2 or test_per_class < 1:
        raise InputError("stream.train_per_class must be at least 2 and stream.test_per_class at least 1")
    if size < 8:
        raise InputError(f"stream.size is {size}: shapes need at least 8 pixels")
    drawn = (
        max(train_per_class, test_per_class) * (size * _SUPERSAMPLING) ** 2 * 12
    )  # bytes of a class while it is drawn
    if drawn > _MOST_DRAWN:
        raise InputError(
            f"stream.size {size} with {max(train_per_class, test_per_class)} images per class needs {drawn / 2**20:,.0f} MiB "
            f"while it is drawn, more than {_MOST_DRAWN // 2**20}: choose smaller images, or fewer"
        )
    if noise < 0:
        raise InputError(f"stream.noise is {noise}: it must not be negative")
    names = [f"{outline} {filling}" for outline in OUTLINES for filling in FILLINGS]
    split = Split(tuple(t1), tuple(t2), tuple(shortcut), validation)
    settings: dict[str, Any] = {
        "train": draw_classes(len(names), train_per_class, noise, size, seed, "train"),
        "test": draw_classes(len(names), test_per_class, noise, size, seed, "test"),
        "taxonomy": Taxonomy([number // len(FILLINGS) for number in range(len(names))], names, list(OUTLINES)),
        "cover": cover,
        "mean": (0.5, 0.5, 0.5),
        "std": (0.25, 0.25, 0.25),
        "crop_padding": size // 8,
        "facts": {"source": f"drawn from seed {seed}", "image_size": f"{size}x{size}"},
    }
    if phases is not None:
        plans = read_phases(phases, cue, changed_from_default(split))
        return many_phases("shapes", plans, validation=validation, **settings)
    return two_phase("shapes", split=split, cue=cue, **settings)


def draw_classes(classes: int, per_class: int, noise: float, size: int, seed: int, part: str) -> LabelledImages:
    """Images of the first ``classes`` fine classes, ``per_class`` of each; ``part`` names an independent draw.

    >>> draw_classes(2, 3, 0.1, 8, 0, "train").images.shape
    torch.Size([6, 3, 8, 8])
    """
    labels = torch.arange(classes).repeat_interleave(per_class)
    images = [_draw(label, per_class, noise, size, generator(seed, "shapes", part, label)) for label in range(classes)]
    return LabelledImages(torch.cat(images), labels)


def _draw(label: int, count: int, noise: float, size: int, draws: torch.Generator) -> Tensor:
    """``count`` images of one fine class, uint8 [count, 3, size, size]."""

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand(count, *shape, generator=draws)

    outline = list(OUTLINES.values())[label // len(FILLINGS)]
    filling = list(FILLINGS.values())[label % len(FILLINGS)]
    radius, tilt = uniform(8.0, 11.5, 1, 1), uniform(-0.3, 0.3, 1, 1)
    centre = uniform(-3.0, 3.0, 2, 1, 1) + _SIDE / 2

    samples = size * _SUPERSAMPLING
    ticks = (torch.arange(samples) + 0.5) * _SIDE / samples
    dx, dy = ticks.view(1, 1, -1) - centre[:, 0], ticks.view(1, -1, 1) - centre[:, 1]
    x = (dx * tilt.cos() + dy * tilt.sin()) / radius
    y = (dy * tilt.cos() - dx * tilt.sin()) / radius
    inside = outline(x, y) < 0
    pattern = filling(x * radius + uniform(0, 6, 1, 1), y * radius + uniform(0, 6, 1, 1))

    # A light and a dark colour of any hue for the filling, and a sloping background between them.
    light, dark = uniform(0.5, 0.9, 3, 1, 1), uniform(0.1, 0.5, 3, 1, 1)
    swap = uniform(0, 1, 1, 1, 1) < 0.5
    light, dark = torch.where(swap, dark, light), torch.where(swap, light, dark)
    slope = uniform(-0.15, 0.15, 2, 1, 1)
    ramp = slope[:, :1] * (ticks.view(1, 1, 1, -1) / _SIDE - 0.5) + slope[:, 1:] * (
        ticks.view(1, 1, -1, 1) / _SIDE - 0.5
    )
    background = uniform(0.25, 0.75, 3, 1, 1) + ramp
    filled = torch.where(pattern.unsqueeze(1), light, dark)
    canvas = torch.where(inside.unsqueeze(1), filled, background)
    small = torch.nn.functional.avg_pool2d(canvas, _SUPERSAMPLING)
    small = small + noise * torch.randn(small.shape, generator=draws)
    return (small.clamp(0, 1) * 255).round().to(torch.uint8)
