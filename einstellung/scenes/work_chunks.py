"""Rendering split into chunks that worker processes share; the result does not depend on how many there are."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError
from einstellung.exit_with_parent import exit_with_parent
from einstellung.interrupts import interrupts_deferred
from einstellung.scenes.attributes import Codes
from einstellung.scenes.class_scenes import draw_class
from einstellung.scenes.rendering import render
from einstellung.scenes.rules import RuleBook
from einstellung.scenes.sampling import scene_generator
from einstellung.scenes.scene import Scenes

LABELS = (1, 0)  # positives come first everywhere
CHUNK_SIZE = 250  # scenes: half a second at 64x64, so that workers finish together and an interrupted one loses little

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class RenderSettings:
    """Everything but its address that determines a scene and its image. ``backend`` is resolved, never ``auto``."""

    book: RuleBook
    size: int
    seed: int
    backend: str


@dataclass(frozen=True)
class WorkChunk:
    """Scenes ``first``, ``first + 1``, ... of one class of one task."""

    variant: str
    split: str
    task: int
    label: int
    first: int
    count: int

    @property
    def names(self) -> tuple[str, ...]:
        """The image files, relative to the folder ``images``.

        >>> WorkChunk("strict", "test", task=0, label=1, first=7, count=1).names
        ('t0/1/000007.png',)
        """
        numbers = range(self.first, self.first + self.count)
        return tuple(f"t{self.task}/{self.label}/{number:06d}.png" for number in numbers)

    def generators(self, seed: int) -> list[np.random.Generator]:
        """One generator per scene: it draws the attributes first (see :func:`draw_class`)."""
        numbers = range(self.first, self.first + self.count)
        return [scene_generator(seed, self.variant, self.split, self.task, self.label, number) for number in numbers]


@dataclass(frozen=True)
class RenderedScenes:
    """Scenes with images and masks; ``places`` only where the rules mention places."""

    scenes: Scenes
    places: Codes | None
    images: npt.NDArray[np.uint8]
    masks: npt.NDArray[np.uint8]


def chunks_of(variant: str, split: str, task: int, count: int) -> list[WorkChunk]:
    """``count`` positives of a task, then ``count`` negatives, in chunks.

    >>> [(chunk.label, chunk.first, chunk.count) for chunk in chunks_of("strict", "train", 0, 300)]
    [(1, 0, 250), (1, 250, 50), (0, 0, 250), (0, 250, 50)]
    """
    return [
        WorkChunk(variant, split, task, label, first, min(CHUNK_SIZE, count - first))
        for label in LABELS
        for first in range(0, count, CHUNK_SIZE)
    ]


def render_chunk(chunk: WorkChunk, settings: RenderSettings) -> RenderedScenes:
    """Draw attributes, lay the objects out, render."""
    generators = chunk.generators(settings.seed)
    scenes, places = draw_class(settings.book, chunk.variant, chunk.task, chunk.label, generators)
    images, masks = render(scenes, settings.size, settings.backend)
    return RenderedScenes(scenes, places, images, masks)


def useful_workers(workers: int, scenes: int) -> int:
    """At most as many workers as there are full chunks: starting a process takes longer than rendering a few scenes.

    >>> useful_workers(4, 600), useful_workers(4, 20)
    (2, 1)
    """
    return max(1, min(workers, scenes // CHUNK_SIZE))


def compile_renderer(chunk: WorkChunk, settings: RenderSettings) -> None:
    """Fill numba's disk cache once, so that the worker processes do not all compile the same code."""
    if settings.backend == "numba":
        render_chunk(replace(chunk, count=1), replace(settings, size=16))


def map_in_processes(work: Callable[[Item], Result], items: Sequence[Item], workers: int) -> Iterator[Result]:
    """``work`` applied to every item, results in order; more than one of ``workers`` are separate processes.

    >>> list(map_in_processes(abs, [-1, 2], workers=1))
    [1, 2]
    """
    if workers <= 1 or len(items) <= 1:
        yield from map(work, items)
        return
    # Spawned: the server that forks a study's workers belongs to the study and must not be started from here.
    pool = ProcessPoolExecutor(
        min(workers, len(items)), mp_context=multiprocessing.get_context("spawn"), initializer=_initialise_worker
    )
    try:
        with interrupts_deferred():  # its processes start here
            results = pool.map(work, items)
        yield from results
    except BrokenProcessPool:
        raise InputError(
            "a rendering process was killed: rerun the command, with fewer workers if memory is short"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _initialise_worker() -> None:
    """Leave Ctrl-C to the parent, use one core, and exit with the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["OMP_NUM_THREADS"] = "1"
    exit_with_parent()
