"""Sets of scenes with their images: rendered once, then memory-mapped from the cache."""

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
from einstellung.scenes.class_scenes import SAMPLING_VERSION
from einstellung.scenes.progress import Log, progress_logger
from einstellung.scenes.rendering import RENDERER_VERSION, resolve_backend
from einstellung.scenes.rules import RuleBook, rules_digest
from einstellung.scenes.sampling import draw_attributes
from einstellung.scenes.scene import Scenes
from einstellung.scenes.work_chunks import (
    RenderSettings,
    WorkChunk,
    chunks_of,
    compile_renderer,
    map_in_processes,
    render_chunk,
    useful_workers,
)
from einstellung.sources.cache import Arrays, cache_folder, cached, is_off

_QUIET_WAIT = 3.0  # seconds to wait for the lock before saying so: reading an entry takes less
_LAYOUT = 1  # version of the cached arrays; part of the cache key


@dataclass(frozen=True)
class SceneSet:
    """Scenes of one task and split: all positives (label 1), then all negatives, each sorted by name.

    ``images`` is uint8 [N, S, S, 3] and ``masks`` uint8 [N, S, S] (0: ground, k: the k-th object). Unknown fields are None.
    ``file_size`` is the side in pixels of the files that the images were averaged down from, if any.
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
    log: Log = lambda _: None,
) -> SceneSet:
    """Render ``count`` positives and ``count`` negatives of a task, or load them from the cache."""
    if count < 1 or size < 1:
        raise InputError(f"count is {count}, size is {size}: both must be 1 or more")
    settings = RenderSettings(book, size, seed, resolve_backend(backend))
    chunks = chunks_of(variant, split, task, count)
    what = f"{variant} {split} t{task}"
    entry = scene_entry(settings, variant, split, task, count)
    return set_of(cached_once(entry, lambda: _rendered(chunks, settings, workers, what, log), what, log), chunks)


def scene_entry(settings: RenderSettings, variant: str, split: str, task: int, count: int) -> str:
    """The name of a set in the cache."""
    key = digest(
        [
            _LAYOUT,
            SAMPLING_VERSION,
            RENDERER_VERSION,
            rules_digest(settings.book),
            variant,
            split,
            task,
            count,
            settings.size,
            settings.seed,
            settings.backend,
        ],
        length=32,
    )
    return f"scenes-{key}"


def attribute_set(book: RuleBook, variant: str, split: str, task: int, *, count: int, seed: int) -> SceneSet:
    """The attributes of the same scenes as :func:`scene_set`, without layout and images."""
    chunks = chunks_of(variant, split, task, count)
    rendered = [draw_attributes(book, variant, task, chunk.label, chunk.generators(seed)) for chunk in chunks]
    attributes = np.concatenate([some for some, _ in rendered])
    places = np.concatenate([some for _, some in rendered if some is not None]) if book.uses_places else None
    return SceneSet(None, None, None, attributes, places, _labels(chunks), _names(chunks))


def set_of(arrays: Arrays, chunks: Sequence[WorkChunk]) -> SceneSet:
    """A set from its ``arrays`` (see :func:`arrays_of`), with the labels and names of ``chunks``."""
    scenes = Scenes(*(arrays[name] for name in Scenes.__dataclass_fields__))
    return SceneSet(
        arrays["images"],
        arrays["masks"],
        scenes,
        scenes.attributes,
        arrays.get("places"),
        _labels(chunks),
        _names(chunks),
    )


def arrays_of(scenes: Scenes, places: Codes | None, images: Any, masks: Any) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a set by name, as the cache stores them."""
    arrays = {name: getattr(scenes, name) for name in Scenes.__dataclass_fields__} | {"images": images, "masks": masks}
    return arrays if places is None else arrays | {"places": places}


def cached_once(entry: str, make: Callable[[], Arrays], what: str, log: Log) -> Arrays:
    """Load arrays from the cache, or make them: one process does, others that need the same entry wait."""
    if is_off():
        return make()
    lock = _locked(entry, what, log)
    try:
        return cached(entry, make)
    finally:
        if lock is not None:
            lock.release()


def _locked(entry: str, what: str, log: Log) -> BaseFileLock | None:
    """The entry's lock, or None if the cache folder cannot be written: the cache itself warns about that if it matters."""
    try:
        root = cache_folder()
        root.mkdir(parents=True, exist_ok=True)
        lock = FileLock(root / f".{entry}.lock")
        try:
            lock.acquire(timeout=_QUIET_WAIT)
        except Timeout:
            log(f"{what}: another process is making the same data; waiting for it")
            lock.acquire()
    except (InputError, OSError, NotImplementedError):
        return None
    return lock


def _rendered(chunks: Sequence[WorkChunk], settings: RenderSettings, workers: int, what: str, log: Log) -> Arrays:
    on_progress = progress_logger(what, log)
    total, done = sum(chunk.count for chunk in chunks), 0
    arrays: dict[str, npt.NDArray[Any]] = {}
    workers = useful_workers(workers, total)
    if workers > 1:
        compile_renderer(chunks[0], settings)
    for rendered in map_in_processes(partial(render_chunk, settings=settings), chunks, workers):
        some = arrays_of(rendered.scenes, rendered.places, rendered.images, rendered.masks)
        for name, values in some.items():
            if name not in arrays:
                arrays[name] = np.empty((total, *values.shape[1:]), values.dtype)
            arrays[name][done : done + len(values)] = values
        done += len(rendered.scenes)
        on_progress(done, total)
    return arrays


def _labels(chunks: Sequence[WorkChunk]) -> npt.NDArray[np.int64]:
    return np.repeat([chunk.label for chunk in chunks], [chunk.count for chunk in chunks]).astype(np.int64)


def _names(chunks: Sequence[WorkChunk]) -> tuple[str, ...]:
    return tuple(name for chunk in chunks for name in chunk.names)
