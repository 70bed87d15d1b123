"""``arrays``: the two-phase protocol on images that were given from Python, kept in one file for workers and for a resume."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from einstellung.cues import Cue
from einstellung.errors import InputError
from einstellung.files import write_atomically
from einstellung.npz import read_npz
from einstellung.streams.by_name import class_numbers, parts_by_name
from einstellung.streams.colours import Colour, check_colours, mean_and_std
from einstellung.streams.many_phases import many_phases
from einstellung.streams.phase_plan import PhasePlan, PhaseSettings, read_phases
from einstellung.streams.stream import Stream, streams
from einstellung.streams.two_phase import LabelledImages, Split, Taxonomy, two_phase


@dataclass(frozen=True)
class ArraySource:
    """Training and test images, uint8 [N, 3, H, W], with class numbers, and the name of every class."""

    train: LabelledImages
    test: LabelledImages
    names: tuple[str, ...]

    @cached_property
    def content(self) -> str:
        """A hash of all pixels, labels and names: what a run's key rests on."""
        hasher = hashlib.sha256("\n".join(self.names).encode())
        for tensor in self._tensors().values():
            hasher.update(str(list(tensor.shape)).encode())
            hasher.update(tensor.contiguous().numpy().tobytes())
        return hasher.hexdigest()

    def write(self, path: Path) -> Path:
        """Write one compressed ``.npz`` file, atomically."""
        arrays = {key: tensor.numpy() for key, tensor in self._tensors().items()}

        def save(temporary: Path) -> None:
            with temporary.open("wb") as file:
                np.savez_compressed(file, names=np.array(self.names, dtype=str), **arrays)

        return write_atomically(path, save)

    @classmethod
    def read(cls, path: Path) -> ArraySource:
        try:
            stored = read_npz(path, most_bytes=None)
        except InputError as error:
            raise InputError(f"{path} {error}: delete it and call run() on the data again, which writes it") from None
        try:
            arrays = {key: torch.from_numpy(stored[key]) for key in cls._KEYS}
            names = tuple(str(name) for name in stored["names"])
        except (KeyError, TypeError) as error:
            raise InputError(
                f"{path} does not hold the images of a study ({error}): delete it and call run() on the data again"
            ) from None
        return cls(
            LabelledImages(arrays["train_images"], arrays["train_labels"]),
            LabelledImages(arrays["test_images"], arrays["test_labels"]),
            names,
        )

    _KEYS = ("train_images", "train_labels", "test_images", "test_labels")

    def _tensors(self) -> dict[str, Tensor]:
        parts = (self.train.images, self.train.fine, self.test.images, self.test.fine)
        return dict(zip(self._KEYS, parts, strict=True))


@streams.register("arrays")
def arrays(
    cue: Cue,
    cover: str = "black",
    *,
    path: str = "",
    t1: tuple[str, ...] = (),
    t2: tuple[str, ...] = (),
    shortcut: tuple[str, ...] = (),
    validation: float = 0.1,
    crop_padding: int | None = None,
    flip: bool = True,
    mean: Colour | None = None,
    std: Colour | None = None,
    phases: list[dict[str, Any]] | None = None,
) -> Stream:
    """Images given from Python by ``einstellung.two_phase`` or ``einstellung.phases``, which store them in the results folder."""
    if not path:
        raise InputError(
            "stream.path is not set: the stream 'arrays' is made from Python, by einstellung.two_phase(...) or phases(...)"
        )
    return array_stream(
        ArraySource.read(Path(path).expanduser()),
        cue,
        cover,
        t1=t1,
        t2=t2,
        shortcut=shortcut,
        validation=validation,
        crop_padding=crop_padding,
        flip=flip,
        mean=mean,
        std=std,
        phases=phases,
    )


def array_stream(
    source: ArraySource,
    cue: Cue,
    cover: str,
    *,
    t1: Sequence[str] = (),
    t2: Sequence[str] = (),
    shortcut: Sequence[str] = (),
    validation: float = 0.1,
    crop_padding: int | None = None,
    flip: bool = True,
    mean: Colour | None = None,
    std: Colour | None = None,
    phases: Sequence[PhaseSettings] | None = None,
) -> Stream:
    """The stream of a source; classes by name. ``crop_padding`` defaults to an eighth of the images' side."""
    check_colours(mean, std)
    named = {"t1": t1, "t2": t2, "shortcut": shortcut}
    plans, parts = tuple[PhasePlan, ...](), dict[str, tuple[int, ...]]()
    if phases is not None:
        plans = _plans(source, phases, cue, [key for key, classes in named.items() if classes])
    else:
        parts = parts_by_name(
            source.names, **named, train=source.train.fine, test=source.test.fine, validation=validation, prefix=""
        )
    side = source.train.images.shape[-1]
    used = source.train.rows(
        [number for plan in plans for number in plan.classes if isinstance(number, int)]
        if plans
        else [*parts["t1"], *parts["t2"]]
    )
    given = mean is not None and std is not None
    mean, std = (mean, std) if mean is not None and std is not None else mean_and_std(source.train.images[used])
    every = list(range(len(source.names)))
    which = "all" if plans else "both"
    settings: dict[str, Any] = {
        "train": source.train,
        "test": source.test,
        "taxonomy": Taxonomy(every, source.names, source.names),
        "cover": cover,
        "mean": mean,
        "std": std,
        "crop_padding": side // 8 if crop_padding is None else crop_padding,
        "flip": flip,
        "uneven_classes": True,
        "facts": {
            "source": f"{len(source.train.fine)} training and {len(source.test.fine)} test images given from Python",
            "content": source.content,
            "image_size": "x".join(map(str, source.train.images.shape[-2:])),
            "normalisation": {
                "mean": list(mean),
                "std": list(std),
                "from": "the caller" if given else f"the {len(used)} training images of {which} phases",
            },
        },
    }
    if plans:
        return many_phases("arrays", plans, validation=validation, **settings)
    split = Split(parts["t1"], parts["t2"], parts["shortcut"], validation)
    return two_phase("arrays", split=split, cue=cue, **settings)


def _plans(
    source: ArraySource, phases: Sequence[PhaseSettings], cue: Cue, given_otherwise: Sequence[str]
) -> tuple[PhasePlan, ...]:
    """The phases with their classes as numbers; every class must have images of both kinds."""
    plans = []
    for plan in read_phases(phases, cue, given_otherwise, section=""):
        classes, shortcut = (
            class_numbers(f"{plan.place}.{key}", [str(name) for name in names], source.names) if names else ()
            for key, names in (("classes", plan.classes), ("shortcut", plan.shortcut))
        )
        for number in classes:
            for kind, part in (("training", source.train), ("test", source.test)):
                if not bool((part.fine == number).any()):
                    raise InputError(f"class '{source.names[number]}' has no {kind} image")
        plans.append(replace(plan, classes=classes, shortcut=shortcut))
    return tuple(plans)
