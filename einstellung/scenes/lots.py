"""The work of drawing scenes, cut into lots that any number of processes can do: what comes out depends on nobody's share."""

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
from einstellung.scenes.attributes import Codes
from einstellung.scenes.layout import place_scenes
from einstellung.scenes.rendering import render
from einstellung.scenes.rules import RuleBook
from einstellung.scenes.sampling import draw_attributes, scene_generator
from einstellung.scenes.scene import Scenes

LABELS = (1, 0)  # positives come first everywhere
_LOT = 250  # scenes: half a second's work at 64x64, so that processes end together and a stopped one loses little

Piece = TypeVar("Piece")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Recipe:
    """What, besides its address, decides how a scene looks. ``backend`` is one that is there, never ``auto``."""

    book: RuleBook
    size: int
    seed: int
    backend: str


@dataclass(frozen=True)
class Lot:
    """Scenes ``first``, ``first + 1``, ... of one class of one task."""

    variant: str
    split: str
    task: int
    label: int
    first: int
    count: int

    @property
    def names(self) -> tuple[str, ...]:
        """The image files, from the folder ``images``.

        >>> Lot("strict", "test", task=0, label=1, first=7, count=1).names
        ('t0/1/000007.png',)
        """
        numbers = range(self.first, self.first + self.count)
        return tuple(f"t{self.task}/{self.label}/{number:06d}.png" for number in numbers)

    def generators(self, seed: int) -> list[np.random.Generator]:
        """One for each scene: first its attributes are drawn from it, then its layout."""
        numbers = range(self.first, self.first + self.count)
        return [scene_generator(seed, self.variant, self.split, self.task, self.label, number) for number in numbers]


@dataclass(frozen=True)
class Drawn:
    """Scenes with their pictures; ``places`` only where the rules speak of them."""

    scenes: Scenes
    places: Codes | None
    images: npt.NDArray[np.uint8]
    masks: npt.NDArray[np.uint8]


def lots_of(variant: str, split: str, task: int, count: int) -> list[Lot]:
    """``count`` positives of a task, then ``count`` negatives.

    >>> [(lot.label, lot.first, lot.count) for lot in lots_of("strict", "train", 0, 300)]
    [(1, 0, 250), (1, 250, 50), (0, 0, 250), (0, 250, 50)]
    """
    return [
        Lot(variant, split, task, label, first, min(_LOT, count - first))
        for label in LABELS
        for first in range(0, count, _LOT)
    ]


def draw(lot: Lot, recipe: Recipe) -> Drawn:
    """Attributes, then a layout for them, then the pictures."""
    generators = lot.generators(recipe.seed)
    attributes, places = draw_attributes(recipe.book, lot.variant, lot.task, lot.label, generators)
    scenes = place_scenes(attributes, places, generators)
    images, masks = render(scenes, recipe.size, recipe.backend)
    return Drawn(scenes, places, images, masks)


def worth_starting(workers: int, scenes: int) -> int:
    """At most so many workers that each has a lot to draw: it takes longer to start one than to draw a few scenes.

    >>> worth_starting(4, 600), worth_starting(4, 20)
    (2, 1)
    """
    return max(1, min(workers, scenes // _LOT))


def prepare(lot: Lot, recipe: Recipe) -> None:
    """Have what is compiled compiled and kept on the disk, before several processes would each do the same."""
    if recipe.backend == "numba":
        draw(replace(lot, count=1), replace(recipe, size=16))


def carried_out(work: Callable[[Piece], Result], pieces: Sequence[Piece], workers: int) -> Iterator[Result]:
    """``work`` of every piece, in their order; with several ``workers``, in processes of their own.

    >>> list(carried_out(abs, [-1, 2], workers=1))
    [1, 2]
    """
    if workers <= 1 or len(pieces) <= 1:
        yield from map(work, pieces)
        return
    # Spawned: the server that forks a study's workers belongs to the study, and is not started early from here.
    pool = ProcessPoolExecutor(
        min(workers, len(pieces)), mp_context=multiprocessing.get_context("spawn"), initializer=_begin
    )
    try:
        yield from pool.map(work, pieces)
    except BrokenProcessPool:
        raise InputError(
            "a process that draws scenes was ended from outside: run the same command again, with fewer workers "
            "if the memory is short"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """What a new process does first: it leaves Ctrl-C to its parent, takes one core, and ends when its parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["OMP_NUM_THREADS"] = "1"
    exit_with_parent()
