"""Sets of scenes with their pictures: drawn once, then mapped from the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from filelock import BaseFileLock, FileLock, Timeout

from einstellung.errors import InputError
from einstellung.files import digest
from einstellung.scenes.attributes import Codes
from einstellung.scenes.lots import Lot, Recipe, carried_out, draw, lots_of, prepare, worth_starting
from einstellung.scenes.progress import Tell, in_lines
from einstellung.scenes.rendering import RENDERER_VERSION, resolve_backend
from einstellung.scenes.rules import RuleBook, rules_digest
from einstellung.scenes.sampling import draw_attributes
from einstellung.scenes.scene import Scenes
from einstellung.sources.cache import Arrays, cache_folder, cached, is_off

_PATIENCE = 3.0  # seconds: reading what is there takes less, and is not worth a word
_LAYOUT = 1  # of the cached arrays, and of how attributes are drawn; another one is another entry


@dataclass(frozen=True)
class SceneSet:
    """Scenes of one task and split: first all positives (label 1), then all negatives, each in the order of their names.

    ``images`` [N, S, S, 3] and ``masks`` [N, S, S] (0 ground, k the k-th object) are bytes; what is not known is None.
    ``file_size``: of how many pixels a side the files are that the images were averaged down from, if from any.
    """

    images: npt.NDArray[np.uint8] | None
    masks: npt.NDArray[np.uint8] | None
    scenes: Scenes | None
    attributes: Codes | None
    places: Codes | None
    labels: npt.NDArray[np.int64]
    names: tuple[str, ...]
    file_size: int | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: npt.NDArray[np.int64]) -> SceneSet:
        """The given scenes, in the given order."""
        return SceneSet(
            None if self.images is None else self.images[rows],
            None if self.masks is None else self.masks[rows],
            None if self.scenes is None else self.scenes.take(rows),
            None if self.attributes is None else self.attributes[rows],
            None if self.places is None else self.places[rows],
            self.labels[rows],
            tuple(self.names[row] for row in rows.tolist()),
            self.file_size,
        )


def scene_set(
    book: RuleBook,
    variant: str,
    split: str,
    task: int,
    *,
    count: int,
    size: int,
    seed: int,
    backend: str,
    workers: int = 1,
    tell: Tell = lambda _: None,
) -> SceneSet:
    """``count`` positives and ``count`` negatives of a task with their pictures; the second time they come from the cache."""
    if count < 1 or size < 1:
        raise InputError(f"{count} images of {size} pixels a side: both must be 1 or more")
    recipe = Recipe(book, size, seed, resolve_backend(backend))
    lots = lots_of(variant, split, task, count)
    key = digest(
        [_LAYOUT, RENDERER_VERSION, rules_digest(book), variant, split, task, count, size, seed, recipe.backend],
        length=32,
    )
    what = f"{variant} {split} t{task}"
    arrays = made_once(f"scenes-{key}", lambda: _drawn(lots, recipe, workers, what, tell), what, tell)
    return set_of(arrays, lots)


def attribute_set(book: RuleBook, variant: str, split: str, task: int, *, count: int, seed: int) -> SceneSet:
    """The attributes of the very scenes that :func:`scene_set` draws; nothing is laid out or rendered."""
    lots = lots_of(variant, split, task, count)
    drawn = [draw_attributes(book, variant, task, lot.label, lot.generators(seed)) for lot in lots]
    attributes = np.concatenate([some for some, _ in drawn])
    places = np.concatenate([some for _, some in drawn if some is not None]) if book.uses_places else None
    return SceneSet(None, None, None, attributes, places, _labels(lots), _names(lots))


def set_of(arrays: Arrays, lots: Sequence[Lot]) -> SceneSet:
    """The set whose parts are ``arrays`` (see :func:`arrays_of`), with the labels and names of ``lots``."""
    scenes = Scenes(*(arrays[name] for name in Scenes.__dataclass_fields__))
    return SceneSet(
        arrays["images"], arrays["masks"], scenes, scenes.attributes, arrays.get("places"), _labels(lots), _names(lots)
    )


def arrays_of(scenes: Scenes, places: Codes | None, images: Any, masks: Any) -> dict[str, npt.NDArray[Any]]:
    """The parts of a set by name, as the cache keeps them."""
    arrays = {name: getattr(scenes, name) for name in Scenes.__dataclass_fields__} | {"images": images, "masks": masks}
    return arrays if places is None else arrays | {"places": places}


def made_once(entry: str, make: Callable[[], Arrays], what: str, tell: Tell) -> Arrays:
    """Arrays of the cache; one process makes them while the others that want the same wait."""
    if is_off():
        return make()
    lock = _locked(entry, what, tell)
    try:
        return cached(entry, make)
    finally:
        if lock is not None:
            lock.release()


def _locked(entry: str, what: str, tell: Tell) -> BaseFileLock | None:
    """The entry's lock; None in a folder that cannot be written, which the cache itself complains of, or needs not to be."""
    try:
        root = cache_folder()
        root.mkdir(parents=True, exist_ok=True)
        lock = FileLock(root / f".{entry}.lock")
        try:
            lock.acquire(timeout=_PATIENCE)
        except Timeout:
            tell(f"{what}: another process is drawing the same scenes; waiting for it")
            lock.acquire()
    except (InputError, OSError, NotImplementedError):
        return None
    return lock


def _drawn(lots: Sequence[Lot], recipe: Recipe, workers: int, what: str, tell: Tell) -> Arrays:
    heard = in_lines(what, tell)
    total, done = sum(lot.count for lot in lots), 0
    arrays: dict[str, npt.NDArray[Any]] = {}
    workers = worth_starting(workers, total)
    if workers > 1:
        prepare(lots[0], recipe)
    for drawn in carried_out(partial(draw, recipe=recipe), lots, workers):
        some = arrays_of(drawn.scenes, drawn.places, drawn.images, drawn.masks)
        for name, values in some.items():
            if name not in arrays:
                arrays[name] = np.empty((total, *values.shape[1:]), values.dtype)
            arrays[name][done : done + len(values)] = values
        done += len(drawn.scenes)
        heard(done, total)
    return arrays


def _labels(lots: Sequence[Lot]) -> npt.NDArray[np.int64]:
    return np.repeat([lot.label for lot in lots], [lot.count for lot in lots]).astype(np.int64)


def _names(lots: Sequence[Lot]) -> tuple[str, ...]:
    return tuple(name for lot in lots for name in lot.names)
