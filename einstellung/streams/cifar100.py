"""``cifar100``: the two-phase protocol on CIFAR-100, read from the user's copy of the published files."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from einstellung.cues import Cue
from einstellung.errors import InputError
from einstellung.registry import suggestion
from einstellung.sources import CIFAR100, Cifar100, LabelledArrays, load_cifar100
from einstellung.sources.cifar100_duplicates import TRAIN_AND_TEST, WITHIN_TRAIN
from einstellung.streams.duplicates import Duplicates, OnDuplicates
from einstellung.streams.many_phases import many_phases, plain
from einstellung.streams.phase_plan import read_phases
from einstellung.streams.stream import Stream, streams
from einstellung.streams.two_phase import LabelledImages, Labels, Split, Taxonomy, changed_from_default, two_phase

_MEAN, _STD = (0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761)


@streams.register("cifar100")
def cifar100(
    cue: Cue,
    cover: str = "black",
    *,
    labels: Labels = "fine",
    t1: tuple[int | str, ...] = Split.t1,
    t2: tuple[int | str, ...] = Split.t2,
    shortcut: tuple[int | str, ...] = Split.shortcut,
    validation: float = 0.1,
    duplicates: OnDuplicates = "report",
    train_per_class: int | None = None,
    test_per_class: int | None = None,
    phases: list[dict[str, Any]] | None = None,
) -> Stream:
    """CIFAR-100 in two phases of superclasses, by number or name; 'einstellung data get cifar100' fetches its files.

    ``phases``: any number of phases instead of T1 and T2, of superclasses or of fine classes by name (docs/data.md).
    """
    source = load_cifar100()
    names = source.coarse_names
    _check_sizes(source, train_per_class, test_per_class)
    parts = {key: superclass_ids(key, given, names) for key, given in (("t1", t1), ("t2", t2), ("shortcut", shortcut))}
    split = Split(
        **parts,
        validation=validation,
        labels=labels,
        train_per_class=train_per_class,
        test_per_class=test_per_class,
    )
    settings: dict[str, Any] = {
        "train": _tensors(source.train),
        "test": _tensors(source.test),
        "taxonomy": Taxonomy(source.superclass_of(), source.fine_names, names),
        "cover": cover,
        "mean": _MEAN,
        "std": _STD,
        "facts": {
            "source": f"CIFAR-100, published files (md5 {', '.join(f'{n} {md5}' for n, md5 in CIFAR100.md5.items())})",
            "image_size": "32x32",
        },
        "duplicates": Duplicates(WITHIN_TRAIN, TRAIN_AND_TEST, duplicates),
    }
    if phases is not None:
        chosen: dict[str, Any] = {
            "validation": validation,
            "labels": labels,
            "train_per_class": train_per_class,
            "test_per_class": test_per_class,
        }
        plans = read_phases(phases, cue, changed_from_default(split))
        return many_phases("cifar100", plans, **chosen, **settings)
    return two_phase("cifar100", split=split, cue=cue, **settings)


def superclass_ids(key: str, given: tuple[int | str, ...], names: tuple[str, ...]) -> tuple[int, ...]:
    """Superclass numbers from numbers or names.

    >>> superclass_ids("t1", (1, "food containers"), ("fish", "flowers", "food_containers"))
    (1, 2)
    >>> superclass_ids("t1", ("flower",), ("fish", "flowers"))
    Traceback (most recent call last):
    einstellung.errors.InputError: stream.t1 names 'flower', which is not a superclass of CIFAR-100: did you mean 'flowers'?
    """
    known = {plain(name): number for number, name in enumerate(names)}
    for one in given:
        if isinstance(one, str) and plain(one) not in known:
            raise InputError(
                f"stream.{key} names '{one}', which is not a superclass of CIFAR-100: {suggestion(plain(one), names)}"
            )
    return tuple(known[plain(one)] if isinstance(one, str) else one for one in given)


def _tensors(arrays: LabelledArrays) -> LabelledImages:
    return LabelledImages(torch.from_numpy(arrays.images), torch.from_numpy(arrays.fine))


def _check_sizes(source: Cifar100, train_per_class: int | None, test_per_class: int | None) -> None:
    for key, wanted, least, part in (
        ("train_per_class", train_per_class, 2, source.train),
        ("test_per_class", test_per_class, 1, source.test),
    ):
        available = int(np.bincount(part.fine).min())
        if wanted is not None and not least <= wanted <= available:
            raise InputError(f"stream.{key} is {wanted}: give a number from {least} to {available}, or null for all")
