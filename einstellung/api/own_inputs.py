"""Texts and series in the forms that people have them, as the source of a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from einstellung.api.inputs import Labelled, class_numbers, plain_labels, split_source
from einstellung.cues import covers, covers_for
from einstellung.errors import InputError
from einstellung.modalities import FIRST_WORD, MODALITIES, PADDING, UNKNOWN, Modality
from einstellung.registry import suggestion
from einstellung.sources.vocabulary import Vocabulary
from einstellung.streams.own_inputs import InputSource

_COLUMNS = {"text": ("text", "sentence", "content", "document"), "series": ("series", "values", "signal", "x")}


def input_source(
    train: Any,
    test: Any,
    modality: str,
    names: Sequence[str] | None,
    *,
    length: int = 128,
    vocabulary: int = 20_000,
    min_count: int = 2,
) -> InputSource:
    """The source of training and test inputs, each as (inputs, labels), a data set of pairs, or a Hugging Face data set."""
    spoken = MODALITIES[modality].words
    many = spoken.many
    inputs: dict[str, Any] = {}
    labelled: dict[str, Labelled] = {}
    for what, given in (("train", train), ("test", test)):
        inputs[what], labels, known = split_source(given, what, _COLUMNS[modality], spoken)
        labelled[what] = Labelled(torch.empty(0), plain_labels(labels, what, spoken), known)
    numbers, classes = class_numbers(labelled, names)
    words: tuple[str, ...] = ()
    arrays: dict[str, npt.NDArray[Any]]
    if modality == "series":
        arrays = {what: _series(some, what) for what, some in inputs.items()}
    elif all(_is_strings(some) for some in inputs.values()):
        made = Vocabulary.build(inputs["train"], vocabulary, min_count)
        arrays, words = {what: made.encode(list(some), length) for what, some in inputs.items()}, made.words
    else:
        arrays = {what: _tokens(some, what) for what, some in inputs.items()}
        most = max(int(one.max(initial=0)) for one in arrays.values())
        words = tuple(map(str, range(FIRST_WORD, most + 1)))
    for what, one in arrays.items():
        if len(one) != len(labelled[what].labels):
            raise InputError(f"{what} has {len(one)} {many} and {len(labelled[what].labels)} labels")
        if not len(one):
            raise InputError(f"{what} holds no {many}")
    if (first := arrays["train"].shape[1:]) != (second := arrays["test"].shape[1:]):
        raise InputError(
            f"training {many} are {list(first)} and test {many} {list(second)}: give all the same length and channels"
        )
    return InputSource(
        arrays["train"], numbers["train"].numpy(), arrays["test"], numbers["test"].numpy(), classes, words
    )


def _is_strings(inputs: Any) -> bool:
    return not isinstance(inputs, Tensor) and len(inputs) > 0 and all(isinstance(one, str) for one in inputs)


def _series(inputs: Any, what: str) -> npt.NDArray[np.float32]:
    """float32 [N, C, L] of arrays [N, C, L] or [N, L], or of a list of series."""
    rows = [_array(one) for one in inputs] if not isinstance(inputs, Tensor | np.ndarray) else None
    for number, one in enumerate(rows or ()):
        if one.shape != rows[0].shape:  # type: ignore[index]
            raise InputError(
                f"series {number} of {what} has the shape {list(one.shape)}, series 0 {list(rows[0].shape)}: "  # type: ignore[index]
                "give all the same length"
            )
    array = _array(inputs) if rows is None else np.stack(rows) if rows else np.empty((0, 1, 1))
    if array.dtype.kind not in "fiu" or array.ndim not in (2, 3):
        raise InputError(
            f"series of {what} are {array.dtype} {list(array.shape)}: give numbers as [series, samples] or "
            "[series, channels, samples]"
        )
    if not np.isfinite(array).all():
        raise InputError(f"series of {what} hold values that are not finite: fill or leave out what is missing")
    return np.ascontiguousarray(array[:, None, :] if array.ndim == 2 else array, dtype=np.float32)


def _tokens(inputs: Any, what: str) -> npt.NDArray[np.int32]:
    """int32 [N, T] of token numbers, which must leave alone those that cues insert."""
    try:
        array = _array(inputs)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "iu" or array.ndim != 2:
        raise InputError(
            f"texts of {what} are {array.dtype} {list(array.shape)}: give strings, or token numbers as [texts, tokens]"
        )
    wrong = array[(array < 0) | ((array < FIRST_WORD) & (array != PADDING) & (array != UNKNOWN))]
    if wrong.size or array.max(initial=0) >= 2**31:
        number = int(wrong[0]) if wrong.size else int(array.max())
        raise InputError(
            f"texts of {what} hold token {number}: {PADDING} is padding, {UNKNOWN} an unknown word, and words begin at "
            f"{FIRST_WORD}"
        )
    return np.ascontiguousarray(array, dtype=np.int32)


def _array(one: Any) -> npt.NDArray[Any]:
    return one.detach().cpu().numpy() if isinstance(one, torch.Tensor) else np.asarray(one)


def known_modality(name: str) -> Modality:
    """The kind of inputs of this name."""
    if name not in MODALITIES:
        raise InputError(f"modality '{name}' is unknown: {suggestion(name, MODALITIES)}")
    return MODALITIES[name]


def suitable_cover(name: str | None, kind: Modality) -> str:
    """The cover, by default the modality's own."""
    if name is None:
        return kind.default_cover
    covers[name]
    require_suitable("cover", name, covers_for(kind.name), kind)
    return name


def require_suitable(what: str, name: str, suitable: Sequence[str], kind: Modality) -> None:
    """Refuse a cue or a cover for another kind of inputs."""
    if name not in suitable:
        raise InputError(f"{what} '{name}' is not for {kind.words.many}: give {', '.join(suitable)}")


def refuse(kind: Modality, **options: Any) -> None:
    """Refuse options that only images have."""
    for key, value in options.items():
        if value is not None:
            raise InputError(f"{key} is for images; leave it out for {kind.words.many}")
