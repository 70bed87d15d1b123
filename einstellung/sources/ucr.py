"""The UCR archive of time series: NAME_TRAIN.tsv and NAME_TEST.tsv, a label and a series in every line."""

from __future__ import annotations

import hashlib
import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from os import scandir
from os.path import isdir, isfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError
from einstellung.foreign_files import cannot_read
from einstellung.registry import suggestion
from einstellung.sources.corpora import first_usable, read_packed
from einstellung.sources.locations import DataLocation, data_locations, describe_locations

HOME = "https://www.cs.ucr.edu/~eamonn/time_series_data_2018/"
FOLDERS = ("ucr", "UCRArchive_2018", "UCR")  # searched below a data location, beside the location itself
KNOWN: Mapping[str, tuple[str, str]] = {  # sha256 of the unpacked training and test file
    "Crop": (
        "43977038db988d19341a476e1124978c837e6e1cbf48a4dd254622cf3dc058bf",
        "688f7a25e0617f4eef376fe49a054e03b179b11cfa28fee77e3c01f3a9e85dd2",
    ),
    "ElectricDevices": (
        "bf9b3e4ebb4bcecc4fe5ef36b5cde85383a78a9c7e83ed2834b00e440feb4d20",
        "64ea1c73040b8c60ef63ebb4a36dc1c4b56b027f9a1dff342469dbf3853a3a20",
    ),
}

_MOST_BYTES = 2**29
_PARTS = ("TRAIN", "TEST")
_ENDINGS = (".tsv", ".tsv.xz")
_NAME = re.compile(r"[A-Za-z0-9]+")
_FILE = re.compile(r"(\w+)_TRAIN\.tsv(?:\.xz)?")


@dataclass(frozen=True)
class LabelledSeries:
    """Series (float32 [N, channels, length]) in file order with their labels 0 .. K - 1."""

    series: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class UcrDataset:
    """Training and test series; ``label_names``: the file's own labels by number, in ascending order."""

    name: str
    train: LabelledSeries
    test: LabelledSeries
    label_names: tuple[str, ...]
    found: Path


@dataclass(frozen=True)
class PublishedUcr:
    """The archive as ``data check`` knows it."""

    name: str = "ucr"
    title: str = "the UCR archive"
    how_to_get: str = (
        f"download the archive from {HOME} (its page names the password), unpack it, "
        "and set EINSTELLUNG_DATA to its folder"
    )

    def copies(self, location: DataLocation) -> list[Path]:
        """Folders with sets at a location."""
        return [folder for folder in _folders(location) if _sets_in(folder)]

    def check(self, copy: Path) -> str:
        """Read every set of a folder, and say how many can be used; an error if there is none."""
        problems = {}
        names = _sets_in(copy)
        for name in names:
            try:
                with warnings.catch_warnings(action="error", category=UserWarning):
                    load_ucr(name, copy)
            except (InputError, UserWarning) as problem:
                problems[name] = str(problem)
        if len(problems) == len(names):
            raise InputError(next(iter(problems.values())))
        whole = f"{len(names) - len(problems)} of {len(names)} sets"
        return whole + (f"; not {', '.join(problems)}" if problems else "")


UCR = PublishedUcr()


def load_ucr(name: str, path: Path | str | None = None) -> UcrDataset:
    """The set of this name, for instance ``Crop``: the first usable copy in ``path`` or else in the data locations."""
    if not _NAME.fullmatch(name):
        raise InputError(f"'{name}' is no name of a set of the UCR archive: they are letters and digits")
    chosen = None if path is None else Path(path).expanduser()
    locations = data_locations() if chosen is None else [DataLocation(chosen, str(chosen))]
    here = ucr_sets(locations)
    if here and name not in here:
        searched = describe_locations() if chosen is None else str(chosen)
        raise InputError(f"no set '{name}' of the UCR archive in {searched}: {suggestion(name, here)}")
    return first_usable(
        f"UCR's {name}",
        chosen,
        lambda location: ucr_copies(location, name),
        lambda copy: _load(copy, name),
        how_to_get(name),
    )


def how_to_get(name: str) -> str:
    """What to do if a set is missing, for error messages."""
    return (
        f"download the archive from {HOME} (its page names the password), unpack {name}/{name}_TRAIN.tsv and {name}_TEST.tsv, "
        "and set EINSTELLUNG_DATA to the folder that holds them"
    )


def ucr_sets(locations: list[DataLocation]) -> list[str]:
    """The names of all sets at these locations."""
    return sorted({name for location in locations for folder in _folders(location) for name in _sets_in(folder)})


def _sets_in(folder: Path) -> list[str]:
    found = set()
    for name in _names(folder):
        if (train := _FILE.fullmatch(name)) and _NAME.fullmatch(train[1]):
            found.add(train[1])
        elif _NAME.fullmatch(name) and _file(folder / name, name, "TRAIN"):
            found.add(name)
    return sorted(found)


def ucr_copies(location: DataLocation, name: str) -> list[Path]:
    """Folders at a location with a file of the set; whether they are intact is not checked."""
    candidates = [folder for parent in _folders(location) for folder in (parent / name, parent)]
    return [folder for folder in candidates if any(_file(folder, name, part) for part in _PARTS)]


def _folders(location: DataLocation) -> list[Path]:
    return [location.path, *(location.path / name for name in FOLDERS)]


def _names(folder: Path) -> list[str]:
    if not isdir(folder):
        return []
    try:
        with scandir(folder) as entries:
            return [entry.name for entry in entries]
    except OSError as error:
        raise InputError(cannot_read(folder, error)) from None


def _file(folder: Path, name: str, part: str) -> Path | None:
    return next((file for ending in _ENDINGS if isfile(file := folder / f"{name}_{part}{ending}")), None)


def _load(folder: Path, name: str) -> UcrDataset:
    tables = {}
    for number, part in enumerate(_PARTS):
        file = _file(folder, name, part)
        if file is None:
            raise InputError(f"{folder} lacks {name}_{part}.tsv")
        content = read_packed(file, _MOST_BYTES)
        if name in KNOWN and hashlib.sha256(content).hexdigest() != KNOWN[name][number]:
            warnings.warn(f"{file} differs from the file that published studies used (sha256 unpacked)", stacklevel=4)
        tables[part] = read_series(content, str(file))
    (train_labels, train), (test_labels, test) = tables["TRAIN"], tables["TEST"]
    if train.shape[1] != test.shape[1]:
        raise InputError(
            f"{folder}: {name}_TRAIN has series of {train.shape[1]} values, {name}_TEST of {test.shape[1]}; they must be equal"
        )
    known = np.unique(train_labels)
    if len(unknown := np.setdiff1d(test_labels, known)):
        raise InputError(f"{folder}: {name}_TEST has the label {_label(unknown[0])}, which {name}_TRAIN lacks")
    parts = [
        LabelledSeries(series[:, None, :].astype(np.float32), np.searchsorted(known, labels).astype(np.int64))
        for labels, series in ((train_labels, train), (test_labels, test))
    ]
    return UcrDataset(name, parts[0], parts[1], tuple(_label(label) for label in known), folder)


def read_series(content: bytes, where: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The labels [N] and series [N, L] of a file; all series must have the same length, and every value be finite.

    >>> read_series(b"-1\\t0.5\\t1\\n1\\t2\\t3\\n", "an example")
    (array([-1.,  1.]), array([[0.5, 1. ],
           [2. , 3. ]]))
    """
    numbered = [(number, line) for number, line in enumerate(content.splitlines(), start=1) if line.strip()]
    if not numbered:
        raise InputError(f"{where} is empty")
    columns = numbered[0][1].count(b"\t")
    if columns < 1:
        raise InputError(f"{where}, line {numbered[0][0]}: a label and a series are expected, separated by tabs")
    for number, line in numbered:
        if line.count(b"\t") != columns:
            raise InputError(
                f"{where}, line {number}: a series of {line.count(bytes([9]))} values where the first has {columns}; "
                "sets with series of unequal length are not supported"
            )
    try:
        table = np.loadtxt([line.decode("ascii") for _, line in numbered], delimiter="\t", ndmin=2, comments=None)
    except ValueError as error:
        reason = str(error).partition(";")[0]
        raise InputError(f"{where} holds something other than numbers ({reason})") from None
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise InputError(
            f"{where}, line {numbered[row][0]}: column {column + 1} is {table[row, column]}; "
            "sets with missing values or series padded with NaN are not supported"
        )
    return table[:, 0], table[:, 1:]


def _label(value: float) -> str:
    """
    >>> _label(3.0), _label(-1.0), _label(0.5)
    ('3', '-1', '0.5')
    """
    return str(int(value)) if math.isclose(value, round(value), abs_tol=0) else str(float(value))
