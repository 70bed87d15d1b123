"""Predictions of one model, example by example: read from CSV, Parquet or a DataFrame, and validated."""

from __future__ import annotations

import csv
import difflib
import io
import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from einstellung.errors import InputError
from einstellung.foreign_files import require_regular
from einstellung.metrics.calibration import brier_scores
from einstellung.registry import suggestion
from einstellung.timeline.importing.content import MOST_BYTES, read_content, require_few_columns

CUE, COVERED, CLEAN = "cue", "covered", "clean"
CONDITIONS = (CUE, COVERED, CLEAN)
REQUIRED = ("id", "label", "prediction", "condition")
OPTIONAL = ("group", "probability", "seed")
CLASS_PREFIXES = ("", "p_", "prob_", "probability_")  # of the columns that hold one probability a class
ONE_SEED = "0"
_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".csv.gz", ".csv.xz", ".csv.bz2", ".csv.zip")
_SUM_SLACK = 0.01  # of the probabilities of an example, which files hold with few digits
# pandas' parser errors are ValueErrors; packed files have errors of their own
_UNREADABLE = (OSError, ValueError, EOFError, csv.Error, lzma.LZMAError, zipfile.BadZipFile, zlib.error)
_WHOLE = re.compile(r"-?\d+\.0*")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Predictions:
    """A validated table of one model: text columns ``id, label, prediction, condition, seed`` and perhaps ``group``.

    ``confidence``: probability of the prediction; ``brier``: Brier score, where every class has a probability.
    """

    name: str
    frame: pd.DataFrame

    @property
    def seeds(self) -> list[str]:
        return list(self.frame["seed"].unique())

    @property
    def conditions(self) -> list[str]:
        present = set(self.frame["condition"])
        return [condition for condition in CONDITIONS if condition in present]


@dataclass(frozen=True)
class _Rows:
    """What rows are called in messages: lines of a file (after its header), or rows of a table."""

    name: str
    unit: str
    first: int

    def at(self, position: int) -> str:
        return f"{self.name}, {self.unit} {position + self.first}"


def read_predictions_file(path: Path) -> Predictions:
    """The predictions in a CSV (also compressed) or Parquet file."""
    if not path.exists():
        raise InputError(f"{path} does not exist")
    name = path.name.lower()
    if name.endswith(_PARQUET):
        return validated(_parquet(path), _Rows(str(path), "row", 1))
    if name.endswith(_CSV):
        return validated(_csv(path), _Rows(str(path), "line", 2))
    raise InputError(f"{path}: give predictions as .csv (also .gz, .xz, .bz2, .zip) or .parquet, or a results folder")


def of_frame(frame: pd.DataFrame, name: str) -> Predictions:
    """The predictions in a DataFrame; ``name`` is used in messages."""
    return validated(frame.reset_index(drop=True), _Rows(name, "row", 1))


def _csv(path: Path) -> pd.DataFrame:
    options: dict[str, Any] = {"dtype": str, "keep_default_na": False, "encoding": "utf-8-sig"}
    content = _unpacked(path)
    require_few_columns(path, content.partition(b"\n")[0].count(b",") + 1)
    try:
        # the header alone first: pandas renames a column that occurs twice
        top = pd.read_csv(io.BytesIO(content), header=None, nrows=1, skip_blank_lines=False, **options)
        header = [str(name).strip() for name in top.iloc[0]]
        frame: pd.DataFrame = pd.read_csv(io.BytesIO(content), skip_blank_lines=False, skipinitialspace=True, **options)
    except pd.errors.EmptyDataError:
        raise InputError(
            f"{path} is empty: give a header line ({','.join(REQUIRED)}) and one line a prediction"
        ) from None
    except _UNREADABLE as error:
        raise InputError(f"{path} cannot be read as CSV ({' '.join(str(error).split())})") from None
    if twice := [name for name, count in Counter(header).items() if count > 1]:
        raise InputError(f"{path}, line 1: column '{twice[0]}' appears twice")
    if not isinstance(frame.index, pd.RangeIndex):
        raise InputError(f"{path}: lines have more fields than the header has columns")
    frame.columns = pd.Index(header)
    blank = (frame == "").all(axis=1)
    return frame if not len(frame) else frame.loc[: (~blank).to_numpy().nonzero()[0].max(initial=-1)]


def _unpacked(path: Path) -> bytes:
    content, _ = read_content(path)
    if not content.startswith(b"PK"):
        return content
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) != 1 or entries[0].file_size > MOST_BYTES:
                raise InputError(f"{path}: give a .zip with one table in it, of at most {MOST_BYTES // 2**20} MiB")
            return archive.read(entries[0])
    except (*_UNREADABLE, RuntimeError, NotImplementedError) as error:  # RuntimeError: it is encrypted
        raise InputError(f"{path} cannot be read as CSV ({error})") from None


def _parquet(path: Path) -> pd.DataFrame:
    require_regular(path, MOST_BYTES)
    try:
        frame: pd.DataFrame = pd.read_parquet(path)
    except ImportError:
        raise InputError(f"{path}: Parquet needs pyarrow: pip install 'einstellung[parquet]', or give CSV") from None
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise InputError(f"{path} cannot be read as Parquet ({' '.join(str(error).split())})") from None
    require_few_columns(path, len(frame.columns))
    return frame.reset_index(drop=True)


def validated(frame: pd.DataFrame, rows: _Rows) -> Predictions:
    """Check every column; an error names the row and what to do."""
    frame = frame.rename(columns={column: str(column).strip() for column in frame.columns})
    _require_columns([str(column) for column in frame.columns], rows)
    if frame.empty:
        raise InputError(f"{rows.name} holds no predictions")
    found = pd.DataFrame({column: _text(frame[column], column, rows) for column in REQUIRED})
    found["seed"] = _text(frame["seed"], "seed", rows) if "seed" in frame else ONE_SEED
    if "group" in frame:
        found["group"] = _text(frame["group"], "group", rows)
    _check_conditions(found["condition"], rows)
    _check_classes(found, rows)
    _check_unique(found, rows)
    for column in ("label", *(["group"] if "group" in found else [])):
        _check_constant(found, column, rows)
    if CUE not in set(found["condition"]) or COVERED not in set(found["condition"]):
        lacking = CUE if CUE not in set(found["condition"]) else COVERED
        raise InputError(
            f"{rows.name} has no rows with the condition '{lacking}': reliance needs every example with the cue and "
            "with the cue covered"
        )
    _add_probabilities(found, frame, rows)
    return Predictions(rows.name, found)


def _require_columns(columns: Sequence[str], rows: _Rows) -> None:
    others = [column for column in columns if column not in (*REQUIRED, *OPTIONAL)]
    for name in REQUIRED:
        if name not in columns:
            close = difflib.get_close_matches(name, [other.lower() for other in others], n=1, cutoff=0.5)
            meant = next((other for other in others if close and other.lower() == close[0]), None)
            hint = f"did you mean '{meant}'? Rename it" if meant else f"it needs {', '.join(REQUIRED)}"
            raise InputError(f"{rows.name} has no column '{name}': {hint}")
    for other in others:
        if other.startswith(CLASS_PREFIXES[1:]):
            continue
        close = difflib.get_close_matches(other.lower(), OPTIONAL, n=1, cutoff=0.8)
        if close and close[0] not in columns:
            raise InputError(f"{rows.name} has a column '{other}': did you mean '{close[0]}'? Rename or remove it")


def _text(column: pd.Series, name: str, rows: _Rows) -> pd.Series:
    """The column as text; a number that is whole is written without a point, as the other file may have it."""
    values = column.astype(object)
    missing = values.isna() | values.isin(["", "nan", "NaN"])
    if missing.any():
        raise InputError(
            f"{rows.at(int(missing.to_numpy().argmax()))}: column '{name}' is empty or NaN; fill or remove it"
        )
    is_text = values.map(lambda value: isinstance(value, str)).to_numpy(dtype=bool)
    if is_text.any() and not is_text.all():
        first = rows.at(int(is_text.argmax() if not is_text[0] else (~is_text).argmax()))
        raise InputError(f"{first}: column '{name}' mixes numbers and text; write all of it in one form")
    codes, distinct = pd.factorize(values)
    texts = [value.strip() if isinstance(value, str) else str(value) for value in distinct]
    if all(_NUMBER.fullmatch(text) for text in texts):
        texts = [text.partition(".")[0] if _WHOLE.fullmatch(text) else text for text in texts]
    return pd.Series(np.array(texts, dtype=object)[codes], index=column.index)


def _check_conditions(column: pd.Series, rows: _Rows) -> None:
    unknown = ~column.isin(CONDITIONS)
    if unknown.any():
        position = int(unknown.to_numpy().argmax())
        value = column.iloc[position]
        raise InputError(f"{rows.at(position)}: unknown condition '{value}': {suggestion(value, CONDITIONS)}")


def _check_classes(found: pd.DataFrame, rows: _Rows) -> None:
    numeric = {
        column: [bool(_NUMBER.fullmatch(value)) for value in found[column].unique()]
        for column in ("label", "prediction")
    }
    for one, other in (("label", "prediction"), ("prediction", "label")):
        if all(numeric[one]) and not any(numeric[other]):
            raise InputError(
                f"{rows.name}: column '{one}' holds numbers ('{found[one].iloc[0]}') and '{other}' holds names "
                f"('{found[other].iloc[0]}'); write classes in one form"
            )


def _check_unique(found: pd.DataFrame, rows: _Rows) -> None:
    twice = found.duplicated(["seed", "condition", "id"])
    if twice.any():
        position = int(twice.to_numpy().argmax())
        row = found.iloc[position]
        seed = f" and seed {row['seed']}" if found["seed"].nunique() > 1 else ""
        raise InputError(
            f"{rows.at(position)}: id '{row['id']}' appears twice with the condition '{row['condition']}'{seed}; keep one row"
        )


def _check_constant(found: pd.DataFrame, column: str, rows: _Rows) -> None:
    first = found.groupby("id", sort=False)[column].transform("first")
    differs = (found[column] != first).to_numpy()
    if differs.any():
        position = int(differs.argmax())
        row = found.iloc[position]
        raise InputError(
            f"{rows.at(position)}: id '{row['id']}' has the {column} '{row[column]}' here and '{first.iloc[position]}' "
            f"in another row; an example has one {column}"
        )


def _add_probabilities(found: pd.DataFrame, frame: pd.DataFrame, rows: _Rows) -> None:
    """Add ``confidence`` and, from a column for each class, ``brier``."""
    classes = sorted(set(found["label"]) | set(found["prediction"]))
    columns = _class_columns(classes, [str(column) for column in frame.columns], rows)
    if columns:
        shares = np.stack([_probability(frame[column], column, rows) for column in columns.values()], axis=1)
        total = shares.sum(axis=1)
        wrong = abs(total - 1) > _SUM_SLACK
        if wrong.any():
            position = int(wrong.argmax())
            raise InputError(
                f"{rows.at(position)}: the probabilities of the classes sum to {total[position]:.3g}, not 1"
            )
        number = {name: place for place, name in enumerate(columns)}
        predicted = found["prediction"].map(number).to_numpy()
        found["confidence"] = shares[np.arange(len(shares)), predicted]
        found["brier"] = brier_scores(shares, found["label"].map(number).to_numpy())
    elif "probability" in frame:
        found["confidence"] = _probability(frame["probability"], "probability", rows)


def _class_columns(classes: Sequence[str], columns: Sequence[str], rows: _Rows) -> dict[str, str]:
    """The column of every class, by class; empty where there are none, an error where some classes have none."""
    others = [column for column in columns if column not in (*REQUIRED, *OPTIONAL)]
    for prefix in CLASS_PREFIXES:
        present = {name: f"{prefix}{name}" for name in classes if f"{prefix}{name}" in others}
        if not present:
            continue
        if lacking := [name for name in classes if name not in present]:
            some = next(iter(present.values()))
            raise InputError(
                f"{rows.name} has the probabilities of some classes ('{some}'), but no column '{prefix}{lacking[0]}'"
            )
        # classes that are neither a label nor predicted count in the sum, where the prefix identifies them
        more = [column for column in others if prefix and column.startswith(prefix)]
        return present | {column.removeprefix(prefix): column for column in more}
    return {}


def _probability(column: pd.Series, name: str, rows: _Rows) -> npt.NDArray[np.float64]:
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        position = int(wrong.argmax())
        raise InputError(f"{rows.at(position)}: '{name}' is '{column.iloc[position]}': give a number from 0 to 1")
    return values
