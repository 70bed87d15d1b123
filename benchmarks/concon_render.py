"""Scenes laid out and rendered a second, on one core: the ray-caster compiled by numba and in torch, Blender where it is.

One thread each: a data set is made by one process a core.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks.measuring import Spread, core_seconds, interleaved, row
from einstellung.errors import InputError
from einstellung.scenes.attributes import KINDS
from einstellung.scenes.layout import place_scenes
from einstellung.scenes.rendering import render, resolve_backend
from einstellung.scenes.scene import Scenes

WHOLE, WORKERS, LIMIT = 63_000, 2, 5.0  # images of all variants, processes, minutes
COUNTS = {"numba": {64: 192, 128: 48, 224: 16}, "torch": {64: 64, 128: 16, 224: 5}}


def measure(short: bool) -> dict[str, Any]:
    repeats, sizes = (3, (64, 128)) if short else (7, (64, 128, 224))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        scenes = some_scenes(COUNTS["numba"][64])
        works = {"layout": partial(some_scenes, len(scenes))}
        missing = {}
        for backend, counts in COUNTS.items():
            try:
                resolve_backend(backend)
            except InputError as error:
                missing[backend] = str(error)
                continue
            for size in sizes:
                some = scenes.take(slice(0, counts[size]))
                works[f"{backend} {size}"] = partial(render, some, size, backend)
        seconds = interleaved(works, repeats)
    finally:
        torch.set_num_threads(threads)
    rates = {
        name: [
            (len(scenes) if name == "layout" else COUNTS[name.split()[0]][int(name.split()[1])]) / one for one in times
        ]
        for name, times in seconds.items()
    }
    rows = [row("scenes laid out per second and core", Spread.of(rates["layout"]).words(0), seconds=seconds["layout"])]
    for backend in COUNTS:
        if backend in missing:
            rows.append(row(f"images per second and core, {backend}", f"not measured: {missing[backend]}"))
            continue
        for size in sizes:
            rate = Spread.of(rates[f"{backend} {size}"])
            rows.append(row(f"images per second and core, {backend}, {size} x {size}", rate.words(0)))
    if "numba 64" in rates:
        rows.append(whole_row(rates["layout"], rates["numba 64"]))
    rows.append(blender_row(scenes.take(slice(0, 2)), sizes[0]))
    return {"rows": rows, "rates": rates}


def some_scenes(count: int) -> Scenes:
    """Random objects with new layouts."""
    kinds = KINDS[np.random.default_rng(0).integers(len(KINDS), size=(count, 4))]
    return place_scenes(kinds, None, [np.random.default_rng(number) for number in range(count)])


def whole_row(layouts: list[float], images: list[float]) -> dict[str, Any]:
    """Minutes for the whole data set, repeat by repeat; writing files comes on top.

    >>> whole_row([1000.0], [500.0])["measured"]
    '1.6 (once)'
    """
    minutes = [WHOLE / WORKERS * (1 / layout + 1 / image) / 60 for layout, image in zip(layouts, images, strict=True)]
    spread = Spread.of(minutes)
    return row(
        f"minutes for {WHOLE:,} scenes, laid out and rendered at 64 x 64 by numba in {WORKERS} processes, from the rates",
        spread.words(1),
        f"at most {LIMIT:g}",
        spread.median <= LIMIT,
    )


def blender_row(scenes: Scenes, size: int) -> dict[str, Any]:
    what = f"images per core-second, Blender, {size} x {size}, its start included"
    try:
        resolve_backend("bpy")
    except InputError as error:
        return row(what, f"not measured: {error}")
    return row(what, f"{len(scenes) / core_seconds(lambda: render(scenes, size, 'bpy')):.2f} (once)")
