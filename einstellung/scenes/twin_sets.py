"""Sets of counterfactual twins with their pictures: rendered once, then mapped from the cache."""

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
from einstellung.scenes.layout import layouts_hold
from einstellung.scenes.lots import carried_out, worth_starting
from einstellung.scenes.progress import Tell, in_lines
from einstellung.scenes.rendering import RENDERER_VERSION, render, resolve_backend
from einstellung.scenes.rules import RuleBook, rules_digest
from einstellung.scenes.scene import Scenes
from einstellung.scenes.store import SceneSet, made_once
from einstellung.scenes.twins import Bools, Rows, Twins, with_confounder, without_confounder
from einstellung.sources.cache import Arrays
from einstellung.sources.pictures import averaged

_LAYOUT = 1  # of the cached arrays, and of how twins are drawn; another one is another entry
_LOT = 250  # scenes
_ALIKE = 0.1  # grey levels, on average: our own backends differ by less, other renderers and sizes by more
_COUNTS = ("wrong_start", "no_candidate", "no_room", "others_changed")


class Sizes(NamedTuple):
    """Pixels a side: as a picture is rendered, and as it is shown."""

    rendered: int
    shown: int


@dataclass(frozen=True)
class TwinSet:
    """Twins, the rows of their originals in the set they come from, and how many others have none, and why (see Twins)."""

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
    put_in: bool,
    workers: int = 1,
    tell: Tell = lambda _: None,
) -> TwinSet:
    """The negatives with the task's confounder put in, or the positives with it taken away; all else is as it was.

    Layout, camera and lamps stay; a twin whose objects would touch or hide each other is left out. Sets without images get twins
    without images, of which only the attributes count. A twin has its original's name and label. It is rendered in the size of
    the original's file and averaged down with it, so that nothing but the confounder tells them apart.
    """
    if originals.attributes is None:
        raise InputError("twins need to know what an image shows: these images have no scenes.jsonl beside them")
    asked = np.flatnonzero(originals.labels == (0 if put_in else 1))
    some = replace(originals, images=None, masks=None).take(asked)
    if originals.images is None:
        twins = _twins(some, book, task, put_in)
        return _assembled(some, asked, _arrays(twins))
    if some.scenes is None:
        raise InputError("twins are rendered from whole scenes: the scenes.jsonl beside these images holds no layout")
    backend = resolve_backend(backend)
    first = originals.take(np.arange(1))
    sizes = Sizes(originals.file_size or size, size)
    key = [_LAYOUT, RENDERER_VERSION, rules_digest(book), task, sizes, backend, put_in, _content(some), _look(first)]
    what = f"twins of t{task}, {'with' if put_in else 'without'} {book.confounder_words(task)}"

    def make() -> Arrays:
        _check_alike(first, sizes, backend)
        twins = _twins(some, book, task, put_in)
        return _arrays(twins) | _rendered(
            _scenes(some, twins.rows, twins.attributes), sizes, backend, workers, what, tell
        )

    return _assembled(some, asked, made_once(f"twins-{digest(key, length=32)}", make, what, tell))


def _pictures(scenes: Scenes, sizes: Sizes, backend: str) -> tuple[Codes, Codes]:
    """Images and masks as they are shown; masks, whose numbers have no mean, of every so many pixels."""
    images, masks = render(scenes, sizes.rendered, backend)
    if sizes.rendered == sizes.shown:
        return images, masks
    middles = (np.arange(sizes.shown) * 2 + 1) * sizes.rendered // (2 * sizes.shown)
    smaller = [averaged(Image.fromarray(image), sizes.shown) for image in images]
    return np.stack(smaller), masks[:, middles][:, :, middles]


def _check_alike(original: SceneSet, sizes: Sizes, backend: str) -> None:
    """Refuse to hold pictures by one renderer against twins by another: they would differ in everything."""
    assert original.scenes is not None
    assert original.images is not None
    again, _ = _pictures(original.scenes, sizes, backend)
    if again.shape != original.images.shape or np.abs(again.astype(np.int64) - original.images).mean() > _ALIKE:
        raise InputError(
            f"twins drawn by {backend} would not look like these images, which were made otherwise: give the backend and size "
            "that they were made with"
        )


def _twins(some: SceneSet, book: RuleBook, task: int, put_in: bool) -> Twins:
    """Each scene's twin is drawn from a generator that depends on the scene alone, with or without a layout."""
    assert some.attributes is not None
    generators = [_generator(name, codes, task) for name, codes in zip(some.names, some.attributes, strict=True)]
    change = with_confounder if put_in else without_confounder
    fits = None if some.scenes is None else partial(_fits, some)
    return change(book, task, some.attributes, generators, some.places, fits)


def _generator(name: str, codes: Codes, task: int) -> np.random.Generator:
    hashed = hashlib.sha256(f"{name} {task} {codes.tolist()}".encode()).digest()
    return np.random.default_rng(np.frombuffer(hashed, dtype=np.uint32))


def _fits(some: SceneSet, rows: Rows, attributes: Codes) -> Bools:
    return layouts_hold(_scenes(some, rows, attributes), in_places=some.places is not None)


def _scenes(some: SceneSet, rows: Rows, attributes: Codes) -> Scenes:
    assert some.scenes is not None
    return replace(some.scenes.take(rows), attributes=attributes)


def _rendered(scenes: Scenes, sizes: Sizes, backend: str, workers: int, what: str, tell: Tell) -> dict[str, Codes]:
    heard, done = in_lines(what, tell), 0
    images = np.empty((len(scenes), sizes.shown, sizes.shown, 3), dtype=np.uint8)
    masks = np.empty((len(scenes), sizes.shown, sizes.shown), dtype=np.uint8)
    workers = worth_starting(workers, len(scenes))
    if workers > 1 and backend == "numba":
        render(scenes.take(slice(1)), 16, backend)  # what is compiled is then on the disk for all of them
    lots = [scenes.take(slice(first, first + _LOT)) for first in range(0, len(scenes), _LOT)]
    for some_images, some_masks in carried_out(partial(_pictures, sizes=sizes, backend=backend), lots, workers):
        end = done + len(some_images)
        images[done:end], masks[done:end] = some_images, some_masks
        done = end
        heard(done, len(scenes))
    return {"images": images, "masks": masks}


def _arrays(twins: Twins) -> dict[str, npt.NDArray[Any]]:
    counts = np.array([getattr(twins, name) for name in _COUNTS])
    return {"rows": twins.rows, "attributes": twins.attributes, "counts": counts}


def _assembled(some: SceneSet, asked: Rows, arrays: Arrays) -> TwinSet:
    rows, attributes = arrays["rows"], arrays["attributes"]
    scenes = None if some.scenes is None or "images" not in arrays else _scenes(some, rows, attributes)
    twins = replace(
        some.take(rows),
        images=arrays.get("images"),
        masks=arrays.get("masks"),
        scenes=scenes,
        attributes=attributes,
    )
    return TwinSet(twins, asked[rows], dict(zip(_COUNTS, arrays["counts"].tolist(), strict=True)))


def _look(original: SceneSet) -> str:
    assert original.images is not None
    return hashlib.sha256(np.ascontiguousarray(original.images).tobytes()).hexdigest()


def _content(some: SceneSet) -> str:
    """A hash of everything that the twins of a set depend on."""
    hasher = hashlib.sha256("\n".join(some.names).encode())
    assert some.scenes is not None
    for array in (*(getattr(some.scenes, name) for name in Scenes.__dataclass_fields__), some.places):
        hasher.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    return hasher.hexdigest()
