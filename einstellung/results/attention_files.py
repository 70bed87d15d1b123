"""Read and check the attention files of runs, ``attention.csv`` and ``attention.npz``. Nothing is ever unpickled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from einstellung.errors import InputError
from einstellung.npz import read_npz
from einstellung.results.run_files import RunFiles, read_run_table, run_folder
from einstellung.timeline import Run

COLUMNS = ("phase", "epoch", "split", "n", "layer", "head", "AS", "boxed", "entropy", "ADI")
TABLE, ARRAYS = "attention.csv", "attention.npz"

Moment = tuple[str, float]  # phase and effective epoch
Place = tuple[str, str]  # layer and head: ("2", "1"), ("2", "mean"), ("rollout", "")
Array = npt.NDArray[Any]

ROLLOUT: Place = ("rollout", "")
_DIMENSIONS = {"mean_heads": 4, "mean_rollout": 2, "example_rollout": 3}


class Reading(NamedTuple):
    """One row of ``attention.csv``; ``boxed`` is False where AS is minus the entropy. None: undefined."""

    n: int
    AS: float | None
    boxed: bool
    entropy: float | None
    ADI: float | None


@dataclass(frozen=True)
class AttentionRun:
    """The attention of one run: readings by moment, split and place, and arrays by name (none if the file is unusable)."""

    readings: Mapping[tuple[Moment, str, Place], Reading]
    arrays: Mapping[str, Array] = field(default_factory=dict)

    @property
    def moments(self) -> list[Moment]:
        return sorted({moment for moment, _, _ in self.readings})

    @property
    def splits(self) -> list[str]:
        return list(dict.fromkeys(split for _, split, _ in self.readings))

    @property
    def places(self) -> list[Place]:
        """The roll-out first, then layer by layer its heads and their mean."""
        return sorted({place for _, _, place in self.readings}, key=_order)

    def end(self, phase: str) -> Moment | None:
        """The last measured moment of a phase; None where there is no such phase."""
        return max((moment for moment in self.moments if moment[0] == phase), default=None)

    def mean_map(self, moment: Moment, split: str, place: Place) -> Array | None:
        """The mean map over the images of a split, of one head, of one layer (mean over its heads) or of the roll-out."""
        kind = "mean_rollout" if place == ROLLOUT else "mean_heads"
        stored = self.array(kind, moment, split)
        if stored is None or place == ROLLOUT:
            return stored
        layer, head = int(place[0]) - 1, place[1]
        if layer >= stored.shape[0] or (head != "mean" and int(head) > stored.shape[1]):
            return None
        of_layer: Array = stored[layer].mean(axis=0) if head == "mean" else stored[layer, int(head) - 1]
        return of_layer

    def array(self, kind: str, moment: Moment, split: str) -> Array | None:
        return self.arrays.get(f"{kind}/{moment[0]}/{moment[1]:g}/{split}")


AttentionRuns = Mapping[Run, AttentionRun]


def attention_of(files: RunFiles) -> tuple[dict[Run, AttentionRun], list[str]]:
    """See :func:`read_attention`; foreign logs have none."""
    return ({}, []) if files.folder is None else read_attention(files.folder, files.runs, files.left_out)


def read_attention(
    results: Path, runs: Iterable[Run], left_out: frozenset[str] = frozenset()
) -> tuple[dict[Run, AttentionRun], list[str]]:
    """Attention of every run that has it, and a sentence for every file that is missing or invalid.

    If no run has such a file, attention was not requested, and nothing is reported.
    """
    runs = list(runs)
    folders = {run: run_folder(results, run) for run in runs}
    if not any((folder / name).exists() for folder in folders.values() for name in (TABLE, ARRAYS)):
        return {}, []
    found, problems = {}, []
    for run, folder in folders.items():
        where = folder.relative_to(results).as_posix()
        if f"{where}/{TABLE}" in left_out:
            continue
        try:
            readings = read_readings(folder / TABLE)
        except InputError as error:
            problems.append(f"{where}/{TABLE} {error}; attention leaves {run[0]} seed {run[1]} out")
            continue
        arrays: dict[str, Array] = {}
        try:
            arrays = {} if f"{where}/{ARRAYS}" in left_out else read_maps(folder / ARRAYS)
        except InputError as error:
            problems.append(f"{where}/{ARRAYS} {error}; maps and CTAS leave {run[0]} seed {run[1]} out")
        found[run] = AttentionRun(readings, arrays)
    return found, problems


def read_readings(path: Path) -> dict[tuple[Moment, str, Place], Reading]:
    """The rows of one ``attention.csv``; an error says what is wrong."""
    text = {"phase": str, "split": str, "layer": str, "head": str}
    gaps = {"AS": [""], "entropy": [""], "ADI": [""]}
    frame = read_run_table(path, COLUMNS, "rows", dtype=text, keep_default_na=False, na_values=gaps)
    for column in ("epoch", "n", "AS", "boxed", "entropy", "ADI"):
        if not pd.api.types.is_numeric_dtype(frame[column]) or np.isinf(frame[column]).any():
            raise InputError(f"has values other than numbers in column '{column}'")
        if frame[column].isna().any() and column in ("epoch", "n", "boxed"):  # the others may be undefined
            raise InputError(f"has a missing value in column '{column}'")
    if not frame["boxed"].isin((0, 1)).all():
        raise InputError("has values other than 0 and 1 in column 'boxed'")
    readings: dict[tuple[Moment, str, Place], Reading] = {}
    for line, row in enumerate(frame[list(COLUMNS)].itertuples(index=False), start=2):
        phase, epoch, split, n, layer, head, *values = row
        if not _is_place(layer, head):
            raise InputError(f"names layer '{layer}' and head '{head}' in line {line}")
        key = ((phase, float(epoch)), split, (layer, head))
        if key in readings:
            raise InputError(f"has a duplicate: line {line} repeats {phase} {epoch:g} {split} {layer} {head}".rstrip())
        AS, boxed, entropy, ADI = values  # noqa: N806 (the metrics' own names)
        readings[key] = Reading(int(n), _defined(AS), bool(boxed), _defined(entropy), _defined(ADI))
    return readings


def read_maps(path: Path) -> dict[str, Array]:
    """The arrays of one ``attention.npz`` by name; an error says what is wrong."""
    arrays: dict[str, Array] = read_npz(path)
    for name, array in arrays.items():
        dimensions = _DIMENSIONS.get(name.split("/")[0])
        if dimensions is not None and not _are_maps(array, dimensions):
            raise InputError(f"has '{name}' as {array.dtype} {list(array.shape)}, not as attention maps")
    if len({array.shape[-2:] for name, array in arrays.items() if name.split("/")[0] in _DIMENSIONS}) > 1:
        raise InputError("has maps of different grid sizes")
    _check_examples(arrays)
    return arrays


def _are_maps(array: Array, dimensions: int) -> bool:
    shaped = array.ndim == dimensions and 0 not in array.shape and np.issubdtype(array.dtype, np.floating)
    return bool(shaped and np.isfinite(array).all() and (array >= 0).all() and (array.sum(axis=(-2, -1)) > 0).all())


def _check_examples(arrays: Mapping[str, Array]) -> None:
    """All examples must be the same images in the same order: one region serves all of them."""
    images = {name: array for name, array in arrays.items() if name.startswith("example_images/")}
    for name, array in images.items():
        if array.dtype != np.uint8 or array.ndim != 4 or array.shape[-1] != 3 or 0 in array.shape:
            raise InputError(f"has '{name}' as {array.dtype} {list(array.shape)}, not as uint8 [N, H, W, 3]")
    shapes = {array.shape[:3] for array in images.values()}
    regions = arrays.get("example_regions")
    if regions is not None:
        if regions.dtype != np.bool_ or regions.ndim != 3:
            raise InputError(f"has 'example_regions' as {regions.dtype} {list(regions.shape)}, not as bool [N, H, W]")
        shapes.add(regions.shape)
    if len(shapes) > 1:
        raise InputError("has inconsistent examples: images and regions differ in number or size")
    counts = {len(array) for name, array in arrays.items() if name.startswith("example_rollout/")}
    if images and counts - {len(array) for array in images.values()}:
        raise InputError("has inconsistent examples: images and maps differ in number")


def _is_place(layer: str, head: str) -> bool:
    """Whether the names of a layer and a head are valid.

    >>> _is_place("2", "1"), _is_place("2", "mean"), _is_place("rollout", ""), _is_place("2", "")
    (True, True, True, False)
    """
    numbered = re.compile(r"[1-9]\d*")
    if numbered.fullmatch(layer):
        return head == "mean" or numbered.fullmatch(head) is not None
    return (layer, head) == ROLLOUT


def _order(place: Place) -> tuple[int, float]:
    if place == ROLLOUT:
        return (0, 0)
    return (int(place[0]), float("inf") if place[1] == "mean" else int(place[1]))


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
