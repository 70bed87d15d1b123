"""Labelled images in the forms that people have them: arrays, torchvision-like data sets, Hugging Face ``datasets``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.input_words import IMAGE_WORDS, InputWords
from einstellung.registry import suggestion
from einstellung.streams.pixels import as_pixels

_LABEL_COLUMNS = ("label", "labels", "fine_label", "target", "class", "y")
_IMAGE_COLUMNS = ("image", "img", "pixel_values", "x")


@dataclass(frozen=True)
class Labelled:
    """uint8 images [N, 3, H, W] with their labels as given (numbers or names), and the names of the numbers where known."""

    images: Tensor
    labels: list[int | str]
    names: tuple[str, ...] | None = None


def read_labelled(source: Any, what: str) -> Labelled:
    """Labelled images from (images, labels), from a data set of (image, label), or from a Hugging Face data set.

    ``what`` names the source in messages.
    """
    if isinstance(source, Labelled):
        return source
    images, labels, names = split_source(source, what, _IMAGE_COLUMNS, IMAGE_WORDS)
    pixels = as_pixels(_stacked(images, what), f"images of {what}")
    given = plain_labels(labels, what, IMAGE_WORDS)
    if len(given) != len(pixels):
        raise InputError(f"{what} has {len(pixels)} images and {len(given)} labels")
    if not given:
        raise InputError(f"{what} holds no images")
    return Labelled(pixels.expand(-1, 3, -1, -1).contiguous(), given, names)


def split_source(
    source: Any, what: str, columns: Sequence[str], words: InputWords
) -> tuple[Any, Any, tuple[str, ...] | None]:
    """Inputs, labels, and the names of the classes where the source knows them; ``columns``: usual names of the inputs'."""
    if isinstance(source, tuple | list) and len(source) == 2 and not _is_pair(source[0]):
        return source[0], source[1], None
    if isinstance(getattr(source, "features", None), Mapping) and hasattr(source, "column_names"):
        return _of_hugging_face(source, what, columns, words)
    if hasattr(source, "__len__") and hasattr(source, "__getitem__"):
        return _of_data_set(source, what, words)
    raise InputError(
        f"{what} is a {type(source).__name__}: give ({words.many}, labels), a data set of ({words.one}, label) pairs, or a "
        "Hugging Face data set"
    )


def class_numbers(
    parts: Mapping[str, Labelled], names: Sequence[str] | None
) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """The labels of all parts as numbers into one list of class names.

    Names come from the caller, else from a data set that knows them, else from the labels themselves.
    """
    known = tuple(names) if names is not None else next((part.names for part in parts.values() if part.names), None)
    every = {label for part in parts.values() for label in part.labels}
    texts = any(isinstance(label, str) for label in every)
    if texts and not all(isinstance(label, str) for label in every):
        raise InputError("some labels are names and some are numbers: give all of one kind")
    if known is None:
        known = tuple(sorted(map(str, every))) if texts else tuple(map(str, range(max(map(int, every)) + 1)))
    if len(set(known)) < len(known):
        raise InputError(f"two classes have the same name: {', '.join(known)}")
    numbers: dict[int | str, int] = {name: number for number, name in enumerate(known)}
    numbers |= {number: number for number in range(len(known))}
    for what, part in parts.items():
        for label in part.labels:
            if label not in numbers:
                hint = suggestion(label, known) if isinstance(label, str) else f"names has {len(known)} entries"
                raise InputError(f"{what} has the label {label!r}, which is not among the classes: {hint}")
    return {what: torch.tensor([numbers[label] for label in part.labels]) for what, part in parts.items()}, known


def class_names(key: str, given: Sequence[int | str] | int | str, names: Sequence[str]) -> tuple[str, ...]:
    """The names of classes given by name or number.

    >>> class_names("t1", [0, "dog"], ["cat", "dog"])
    ('cat', 'dog')
    """
    found = []
    for one in [given] if isinstance(given, int | str) else list(given):
        if isinstance(one, str):
            if one not in names:
                raise InputError(f"{key} names '{one}', which is not a class of the data: {suggestion(one, names)}")
            found.append(one)
        elif isinstance(one, int | np.integer) and 0 <= int(one) < len(names):
            found.append(names[int(one)])
        else:
            raise InputError(f"{key} names class {one!r}: give names, or numbers from 0 to {len(names) - 1}")
    return tuple(dict.fromkeys(found))


def _is_pair(first: Any) -> bool:
    """Whether the first of two things is an (image, label) pair: a data set of two items, not (images, labels)."""
    return isinstance(first, tuple) and len(first) == 2


def _of_hugging_face(
    source: Any, what: str, columns: Sequence[str], words: InputWords
) -> tuple[Any, Any, tuple[str, ...] | None]:
    features = source.features
    image = _column(features, "Image" if words == IMAGE_WORDS else "", columns, what, words.many)
    label = _column(features, "ClassLabel", _LABEL_COLUMNS, what, "labels")
    names = getattr(features[label], "names", None)
    rows = [source[number] for number in range(len(source))]
    return [row[image] for row in rows], [row[label] for row in rows], tuple(names) if names else None


def _column(features: Mapping[str, Any], kind: str, usual: Sequence[str], what: str, holds: str) -> str:
    """The column of a kind, of those the one with a usual name first; else a column with a usual name."""
    typed = [name for name, feature in features.items() if type(feature).__name__ == kind]
    for name in (*(one for one in usual if one in typed), *typed, *(one for one in usual if one in features)):
        return name
    raise InputError(
        f"{what} has the columns {', '.join(features)}, none of which holds {holds}: rename one to '{usual[0]}'"
    )


def _of_data_set(source: Any, what: str, words: InputWords) -> tuple[Any, Any, tuple[str, ...] | None]:
    images, labels = [], []
    for number in range(len(source)):
        item = source[number]
        if not isinstance(item, tuple | list) or len(item) < 2:
            raise InputError(
                f"{what}[{number}] is a {type(item).__name__}: give pairs of {_article(words.one)} and a label"
            )
        images.append(item[0])
        labels.append(item[1])
    names = getattr(source, "classes", None)
    if not isinstance(names, Sequence) or isinstance(names, str):
        return images, labels, None
    return images, labels, tuple(map(str, names))


def _article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _stacked(images: Any, what: str) -> Any:
    """One array of all images; a list may hold PIL images, arrays and tensors."""
    if isinstance(images, Tensor | np.ndarray):
        return images
    found = [_array(image) for image in images]
    sizes = [tuple(image.shape) for image in found]
    for number, size in enumerate(sizes):
        if size != sizes[0]:
            raise InputError(
                f"image {number} of {what} has the shape {list(size)}, image 0 {list(sizes[0])}: resize all to one size"
            )
    if found and len({image.dtype for image in found}) > 1:
        raise InputError(f"images of {what} differ in type ({', '.join(sorted({str(one.dtype) for one in found}))})")
    return np.stack(found) if found else np.empty((0, 1, 1, 1), dtype=np.uint8)


def _array(image: Any) -> Any:
    if isinstance(image, Tensor):
        return image.detach().cpu().numpy()
    if hasattr(image, "convert"):  # PIL
        return np.asarray(image.convert("RGB"))
    return np.asarray(image)


def plain_labels(labels: Any, what: str, words: InputWords) -> list[int | str]:
    """Labels as numbers or names."""
    if isinstance(labels, Tensor):
        labels = labels.detach().cpu().numpy()
    array = np.asarray([one.item() if isinstance(one, Tensor) else one for one in labels])
    if array.ndim != 1 or array.dtype.kind not in "iuU":
        raise InputError(
            f"labels of {what} are {array.dtype} {list(array.shape)}: give one class number or name {_article(words.one)}"
        )
    if array.dtype.kind in "iu" and len(array) and int(array.min()) < 0:
        raise InputError(f"labels of {what} are negative: give class numbers from 0")
    return list(array.tolist())
