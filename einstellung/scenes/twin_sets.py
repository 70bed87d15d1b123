"""Sets of counterfactual twins with their images: rendered once, then memory-mapped from the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from einstellung.errors import InputError
from einstellung.files import digest
from einstellung.scenes.attributes import Codes
from einstellung.scenes.layout import layouts_valid
from einstellung.scenes.progress import Log, progress_logger
from einstellung.scenes.rendering import RENDERER_VERSION, render, resolve_backend
from einstellung.scenes.rules import RuleBook, rules_digest
from einstellung.scenes.scene import Scenes
from einstellung.scenes.store import SceneSet, cached_once
from einstellung.scenes.twins import Bools, Rows, Twins, with_confounder, without_confounder
from einstellung.scenes.work_chunks import CHUNK_SIZE, map_in_processes, useful_workers
from einstellung.sources.cache import Arrays
from einstellung.sources.pictures import averaged

_LAYOUT = 1  # version of the cached arrays and of how twins are drawn; part of the cache key
_TOLERANCE = 0.1  # mean grey levels: our own backends differ by less, other renderers and sizes by more
_COUNTS = ("wrong_start", "no_candidate", "no_room", "others_changed")


class Sizes(NamedTuple):
    """Side lengths in pixels: of the rendered image, and of the image that a net is shown."""

    rendered: int
    shown: int


@dataclass(frozen=True)
class TwinSet:
    """Twins, the rows of their originals, and counts of originals without a twin by reason (see :class:`Twins`)."""

    twins: SceneSet
    rows: Rows
    counts: Mapping[str, int]


def twin_set(
    originals: SceneSet,
    book: RuleBook,
    task: int,
    *,
    size: int,
    backend: str,
    insert: bool,
    workers: int = 1,
    log: Log = lambda _: None,
) -> TwinSet:
    """Negatives with the task's confounder inserted, or positives with it removed, and nothing else changed.

    Layout, camera and lamps stay; twins whose objects would touch or hide each other are left out. Sets without images get twins
    without images, for which only attributes count. A twin keeps its original's name and label. It is rendered at the size of
    the original's file and averaged down in the same way, so that the pair differs in nothing but the confounder.
    """
    if originals.attributes is None:
        raise InputError("twins need scene records: there is no scenes.jsonl next to these images")
    candidates = np.flatnonzero(originals.labels == (0 if insert else 1))
    selected = replace(originals, images=None, masks=None).take(candidates)
    if originals.images is None:
        twins = _draw_twins(selected, book, task, insert)
        return _assembled(selected, candidates, _arrays(twins))
    if selected.scenes is None:
        raise InputError("twins need layouts: the scenes.jsonl next to these images has none")
    backend = resolve_backend(backend)
    first = originals.take(np.arange(1))
    sizes = Sizes(originals.file_size or size, size)
    key = [
        _LAYOUT,
        RENDERER_VERSION,
        rules_digest(book),
        task,
        sizes,
        backend,
        insert,
        _content_hash(selected),
        _image_hash(first),
    ]
    what = f"twins of t{task}, {'with' if insert else 'without'} {book.confounder_words(task)}"

    def make() -> Arrays:
        _check_same_renderer(first, sizes, backend)
        twins = _draw_twins(selected, book, task, insert)
        return _arrays(twins) | _render_in_chunks(
            _scenes(selected, twins.rows, twins.attributes), sizes, backend, workers, what, log
        )

    return _assembled(selected, candidates, cached_once(f"twins-{digest(key, length=32)}", make, what, log))


def _render(scenes: Scenes, sizes: Sizes, backend: str) -> tuple[Codes, Codes]:
    """Images averaged down to the shown size, and masks subsampled: object numbers cannot be averaged."""
    images, masks = render(scenes, sizes.rendered, backend)
    if sizes.rendered == sizes.shown:
        return images, masks
    middles = (np.arange(sizes.shown) * 2 + 1) * sizes.rendered // (2 * sizes.shown)
    smaller = [averaged(Image.fromarray(image), sizes.shown) for image in images]
    return np.stack(smaller), masks[:, middles][:, :, middles]


def _check_same_renderer(original: SceneSet, sizes: Sizes, backend: str) -> None:
    """Refuse originals from another renderer: they would differ from their twins everywhere."""
    assert original.scenes is not None
    assert original.images is not None
    again, _ = _render(original.scenes, sizes, backend)
    if again.shape != original.images.shape or np.abs(again.astype(np.int64) - original.images).mean() > _TOLERANCE:
        raise InputError(
            f"twins rendered by {backend} would not match these images: give the backend and size the images were made with"
        )


def _draw_twins(selected: SceneSet, book: RuleBook, task: int, insert: bool) -> Twins:
    """Draw each twin from a generator that depends on its scene alone, with or without a layout."""
    assert selected.attributes is not None
    generators = [
        _generator(name, codes, task) for name, codes in zip(selected.names, selected.attributes, strict=True)
    ]
    change = with_confounder if insert else without_confounder
    fits = None if selected.scenes is None else partial(_fits, selected)
    return change(book, task, selected.attributes, generators, selected.places, fits)


def _generator(name: str, codes: Codes, task: int) -> np.random.Generator:
    hashed = hashlib.sha256(f"{name} {task} {codes.tolist()}".encode()).digest()
    return np.random.default_rng(np.frombuffer(hashed, dtype=np.uint32))


def _fits(selected: SceneSet, rows: Rows, attributes: Codes) -> Bools:
    return layouts_valid(_scenes(selected, rows, attributes), in_places=selected.places is not None)


def _scenes(selected: SceneSet, rows: Rows, attributes: Codes) -> Scenes:
    assert selected.scenes is not None
    return replace(selected.scenes.take(rows), attributes=attributes)


def _render_in_chunks(
    scenes: Scenes, sizes: Sizes, backend: str, workers: int, what: str, log: Log
) -> dict[str, Codes]:
    on_progress, done = progress_logger(what, log), 0
    images = np.empty((len(scenes), sizes.shown, sizes.shown, 3), dtype=np.uint8)
    masks = np.empty((len(scenes), sizes.shown, sizes.shown), dtype=np.uint8)
    workers = useful_workers(workers, len(scenes))
    if workers > 1 and backend == "numba":
        render(scenes.take(slice(1)), 16, backend)  # fills numba's disk cache before the workers start
    chunks = [scenes.take(slice(first, first + CHUNK_SIZE)) for first in range(0, len(scenes), CHUNK_SIZE)]
    for some_images, some_masks in map_in_processes(partial(_render, sizes=sizes, backend=backend), chunks, workers):
        end = done + len(some_images)
        images[done:end], masks[done:end] = some_images, some_masks
        done = end
        on_progress(done, len(scenes))
    return {"images": images, "masks": masks}


def _arrays(twins: Twins) -> dict[str, npt.NDArray[Any]]:
    counts = np.array([getattr(twins, name) for name in _COUNTS])
    return {"rows": twins.rows, "attributes": twins.attributes, "counts": counts}


def _assembled(selected: SceneSet, candidates: Rows, arrays: Arrays) -> TwinSet:
    rows, attributes = arrays["rows"], arrays["attributes"]
    scenes = None if selected.scenes is None or "images" not in arrays else _scenes(selected, rows, attributes)
    twins = replace(
        selected.take(rows),
        images=arrays.get("images"),
        masks=arrays.get("masks"),
        scenes=scenes,
        attributes=attributes,
    )
    return TwinSet(twins, candidates[rows], dict(zip(_COUNTS, arrays["counts"].tolist(), strict=True)))


def _image_hash(original: SceneSet) -> str:
    assert original.images is not None
    return hashlib.sha256(np.ascontiguousarray(original.images).tobytes()).hexdigest()


def _content_hash(selected: SceneSet) -> str:
    """A hash of everything the twins of a set depend on."""
    hasher = hashlib.sha256("\n".join(selected.names).encode())
    assert selected.scenes is not None
    for array in (*(getattr(selected.scenes, name) for name in Scenes.__dataclass_fields__), selected.places):
        hasher.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    return hasher.hexdigest()
