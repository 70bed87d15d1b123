"""``text_arrays`` and ``series_arrays``: the two-phase protocol on texts and series given from Python.

They are kept in one file, for workers and for a resume, as images are by :mod:`einstellung.streams.arrays`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from einstellung.cues import Cue
from einstellung.errors import InputError
from einstellung.files import write_atomically
from einstellung.modalities import SERIES, TEXTS, Modality
from einstellung.npz import read_npz
from einstellung.sources.vocabulary import Vocabulary
from einstellung.streams.series.building import LabelledSet, series_stream
from einstellung.streams.stream import Stream, holds, streams
from einstellung.streams.text.building import Corpus, TextOptions, text_stream

STREAM_OF = {"text": "text_arrays", "series": "series_arrays"}
_ARRAYS = ("train", "train_labels", "test", "test_labels")


@dataclass(frozen=True)
class InputSource:
    """Training and test inputs with class numbers, the names of the classes, and the words of texts.

    Texts are token numbers, int32 [N, T]; series float32 [N, C, L].
    """

    train: npt.NDArray[Any]
    train_labels: npt.NDArray[np.int64]
    test: npt.NDArray[Any]
    test_labels: npt.NDArray[np.int64]
    names: tuple[str, ...]
    words: tuple[str, ...] = ()

    @cached_property
    def content(self) -> str:
        """A hash of all inputs, labels, names and words: what a run's key rests on."""
        hasher = hashlib.sha256("\n".join((*self.names, "", *self.words)).encode())
        for array in self._arrays().values():
            hasher.update(f"{array.dtype} {list(array.shape)}".encode())
            hasher.update(np.ascontiguousarray(array).tobytes())
        return hasher.hexdigest()

    def write(self, path: Path) -> Path:
        """Write one compressed ``.npz`` file, atomically."""
        texts = {"names": np.array(self.names, dtype=str), "words": np.array(self.words, dtype=str)}

        def save(temporary: Path) -> None:
            with temporary.open("wb") as file:
                np.savez_compressed(file, **texts, **self._arrays())  # type: ignore[arg-type]

        return write_atomically(path, save)

    @classmethod
    def read(cls, path: Path) -> InputSource:
        try:
            stored = read_npz(path, most_bytes=None)
        except InputError as error:
            raise InputError(f"{path} {error}: delete it and call run() on the data again, which writes it") from None
        if missing := [key for key in (*_ARRAYS, "names", "words") if key not in stored]:
            raise InputError(
                f"{path} does not hold the inputs of a study ('{missing[0]}'): delete it and call run() on the data again"
            )
        names, words = (tuple(str(one) for one in stored[key]) for key in ("names", "words"))
        return cls(*(stored[key] for key in _ARRAYS), names, words)

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {key: getattr(self, key) for key in _ARRAYS}

    def described(self, many: str) -> dict[str, object]:
        """What the proof says of the source."""
        counts = f"{len(self.train_labels)} training and {len(self.test_labels)} test {many}"
        return {"source": f"{counts} given from Python", "content": self.content}


@streams.register("text_arrays")
@holds(TEXTS)
def text_arrays(
    cue: Cue,
    cover: str = "remove",
    *,
    path: str = "",
    t1: tuple[str, ...] = (),
    t2: tuple[str, ...] = (),
    shortcut: tuple[str, ...] = (),
    room: int = 8,
    validation: float = 0.1,
) -> Stream:
    """Texts given from Python by ``einstellung.two_phase``, which stores them in the results folder."""
    parts = {"t1": t1, "t2": t2, "shortcut": shortcut}
    return own_stream(TEXTS, _stored(path, TEXTS), cue, cover, **parts, room=room, validation=validation)


@streams.register("series_arrays")
@holds(SERIES)
def series_arrays(
    cue: Cue,
    cover: str = "interpolate",
    *,
    path: str = "",
    t1: tuple[str, ...] = (),
    t2: tuple[str, ...] = (),
    shortcut: tuple[str, ...] = (),
    validation: float = 0.1,
) -> Stream:
    """Series given from Python by ``einstellung.two_phase``, which stores them in the results folder."""
    parts = {"t1": t1, "t2": t2, "shortcut": shortcut}
    return own_stream(SERIES, _stored(path, SERIES), cue, cover, **parts, validation=validation)


def _stored(path: str, kind: Modality) -> InputSource:
    if not path:
        raise InputError(
            f"stream.path is not set: the stream '{STREAM_OF[kind.name]}' is made from Python, by einstellung.two_phase(...)"
        )
    return InputSource.read(Path(path).expanduser())


def own_stream(
    kind: Modality,
    source: InputSource,
    cue: Cue,
    cover: str,
    *,
    t1: Sequence[str],
    t2: Sequence[str],
    shortcut: Sequence[str],
    validation: float = 0.1,
    room: int = 8,
    prefix: str = "stream.",
) -> Stream:
    """The stream of a source; ``room`` is for texts, ``prefix`` stands before the names of options in messages."""
    name, parts = STREAM_OF[kind.name], (tuple(t1), tuple(t2), tuple(shortcut))
    arrays = (source.train, source.train_labels, source.test, source.test_labels, source.names)
    given: dict[str, Any] = {
        "validation": validation,
        "facts": source.described(kind.words.many),
        "prefix": prefix,
    }
    if kind is SERIES:
        return series_stream(name, LabelledSet(*arrays), parts, cue, cover, **given)
    TextOptions(source.train.shape[1], room)
    return text_stream(name, Corpus(*arrays, Vocabulary(source.words)), parts, cue, cover, room=room, **given)
