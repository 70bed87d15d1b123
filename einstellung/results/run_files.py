"""Read the files of runs: predictions of single images, and pictures that a learner made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from einstellung.errors import InputError
from einstellung.foreign_files import open_regular
from einstellung.metrics.image_pairs import PREDICTION_COLUMNS, Predictions, RunPredictions, by_split
from einstellung.npz import Arrays, read_npz
from einstellung.results.folder import read_status
from einstellung.timeline import Run
from einstellung.timeline.split_names import as_second_phase

_MOST_BYTES = 2**30
SOURCE_COLUMNS = ("index", "source", "value")
CHOSEN_NET, LAST_NET = "model.safetensors", "model_last.safetensors"


@dataclass(frozen=True)
class RunPictures:
    """The picture file of a run."""

    method: str
    seed: int
    path: Path


@dataclass(frozen=True)
class RunFiles:
    """Files that runs store next to their timelines, read on demand; foreign logs have none.

    ``probe_folder``: where files of probes lie, if not in the results folder. ``log_folder``: the folder that foreign logs were
    read from, where they are in one. ``left_out``: damaged files, by their path below ``folder``, which are not read.
    ``phase``: of a stream of many, the phase whose splits are read under their names in T2.
    """

    folder: Path | None = None
    runs: tuple[Run, ...] = ()
    probe_folder: Path | None = None
    log_folder: Path | None = None
    left_out: frozenset[str] = frozenset()
    phase: str | None = None

    def predictions(
        self, last: bool = False, so: str = "tests on single images leave {run} out"
    ) -> tuple[Predictions, list[str]]:
        """See :func:`read_predictions`."""
        if self.folder is None:
            return {}, []
        found, problems = read_predictions(self.folder, self.runs, last, so, self.left_out)
        if self.phase is not None:
            found = {run: _of_phase(own, self.phase) for run, own in found.items()}
        return found, problems

    def sources(self) -> tuple[pd.DataFrame | None, list[str]]:
        """See :func:`read_sources`."""
        return (None, []) if self.folder is None or "sources.csv" in self.left_out else read_sources(self.folder)

    def pictures(self) -> list[RunPictures]:
        """See :func:`find_pictures`."""
        return [] if self.folder is None else find_pictures(self.folder, self.runs, self.left_out)

    def key(self, run: Run) -> str | None:
        """The key of a run's training; None where it was not recorded."""
        status = None if self.folder is None else read_status(run_folder(self.folder, run))
        return None if status is None else status.get("key")

    @property
    def has_nets(self) -> bool:
        """Whether a run stored its net."""
        return self.folder is not None and any(
            (run_folder(self.folder, run) / CHOSEN_NET).exists() for run in self.runs
        )

    @property
    def samples(self) -> Path | None:
        """The sample images of the study, where it stored some."""
        path = None if self.folder is None or "samples.npz" in self.left_out else self.folder / "samples.npz"
        return path if path is not None and path.exists() else None


def _of_phase(predictions: RunPredictions, phase: str) -> RunPredictions:
    named = {as_second_phase(split, phase): own for split, own in predictions.items()}
    return {split: own for split, own in named.items() if split is not None}


def run_folder(results: Path, run: Run) -> Path:
    return results / "runs" / f"{run[0]}-seed{run[1]}"


def read_predictions(
    results: Path,
    runs: Iterable[Run],
    last: bool = False,
    so: str = "tests on single images leave {run} out",
    left_out: frozenset[str] = frozenset(),
) -> tuple[Predictions, list[str]]:
    """The predictions of every run that has them, and a sentence for every file that is missing or invalid.

    They are those of the chosen checkpoint or, where a run has them, of the ``last`` epoch. ``so``: what follows for the report.
    """
    found, problems = {}, []
    for run in runs:
        path = run_folder(results, run) / "predictions.csv"
        if last and (of_last := path.with_name("predictions_last.csv")).exists():
            path = of_last
        if path.relative_to(results).as_posix() in left_out:
            continue
        try:
            found[run] = by_split(read_prediction_file(path))
        except InputError as error:
            where = path.relative_to(results).as_posix()
            problems.append(f"{where} {error}; {so.format(run=f'{run[0]} seed {run[1]}')}")
    return found, problems


def read_run_table(path: Path, columns: Sequence[str], rows: str, **options: Any) -> pd.DataFrame:
    """A CSV of a run with these columns and at least one row, by pandas' ``options``; an error says what is wrong."""
    try:
        with open_regular(path, _MOST_BYTES, missing="is missing") as stream:
            frame: pd.DataFrame = pd.read_csv(stream, **options)
    except InputError as error:
        raise InputError(str(error).removeprefix(f"{path} ")) from None
    except (OSError, ValueError) as error:  # pandas' parser errors are ValueErrors
        raise InputError(f"cannot be read ({' '.join(str(error).split())})") from None
    if lacking := [column for column in columns if column not in frame.columns]:
        raise InputError(f"has no column '{lacking[0]}'")
    if frame.empty:
        raise InputError(f"has no {rows}")
    return frame


def read_prediction_file(path: Path) -> pd.DataFrame:
    """One ``predictions.csv``: split, and whole numbers for index, label and prediction; an error says what is wrong."""
    frame = read_run_table(path, PREDICTION_COLUMNS, "predictions", dtype={"split": str})
    for column in PREDICTION_COLUMNS[1:]:
        if not pd.api.types.is_integer_dtype(frame[column]):
            raise InputError(f"has values other than whole numbers in column '{column}'")
    return frame[list(PREDICTION_COLUMNS)]


def read_sources(results: Path) -> tuple[pd.DataFrame | None, list[str]]:
    """The ``source`` that test images share and its ``value``, by the images' index; and a sentence where the file is invalid.

    None where the stream did not know the sources, or did not store them yet.
    """
    path = results / "sources.csv"
    if not path.exists():
        return None, []
    try:
        frame = read_run_table(path, SOURCE_COLUMNS, "sources")[list(SOURCE_COLUMNS)]
        if not all(pd.api.types.is_integer_dtype(frame[column]) for column in SOURCE_COLUMNS):
            raise InputError("has values other than whole numbers")
        if frame["index"].duplicated().any():
            raise InputError(f"has image {frame['index'][frame['index'].duplicated()].iloc[0]} twice")
    except InputError as error:
        return None, [f"{path.name} {error}; test images are resampled individually"]
    return frame.set_index("index"), []


def find_pictures(results: Path, runs: Iterable[Run], left_out: frozenset[str] = frozenset()) -> list[RunPictures]:
    """One picture file per method: that of its first run that has one."""
    first: dict[str, RunPictures] = {}
    for method, seed in runs:
        path = run_folder(results, (method, seed)) / "pictures.npz"
        if method not in first and path.exists() and path.relative_to(results).as_posix() not in left_out:
            first[method] = RunPictures(method, seed, path)
    return list(first.values())


def read_pictures(path: Path) -> Arrays:
    """The arrays of ``pictures.npz``, uint8 [N, H, W, 3], by name; never unpickles anything."""
    try:
        pictures = read_npz(path)
    except InputError as error:
        raise InputError(f"{path.name} {error}") from None
    for name, images in pictures.items():
        if images.dtype != np.uint8 or images.ndim != 4 or images.shape[-1] != 3 or 0 in images.shape:
            raise InputError(f"'{name}' in {path.name} is {images.dtype} {list(images.shape)}, not uint8 [N, H, W, 3]")
    if not pictures:
        raise InputError(f"{path.name} is empty")
    return pictures
