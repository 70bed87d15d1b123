"""The schema of a timeline; an error names file, line and column."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from einstellung.errors import InputError
from einstellung.prose import join

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

REQUIRED_COLUMNS = ("method", "seed", "phase", "epoch", "split", "acc")
COLUMNS = (*REQUIRED_COLUMNS, "loss", "n")  # of every timeline; loss and n are empty where a log has none
OPTIONAL_COLUMNS = ("acc_task", "acc_within", "top5")
TEXT_COLUMNS = ("method", "phase", "split")

T1_ALL = "T1_all"
SC_PATCH = "T2_shortcut_normal"
SC_MASK = "T2_shortcut_masked"
NSC = "T2_nonshortcut_normal"
VAL = "T2_val"
SC_CLEAN = "T2_shortcut_clean"
SC_ELSEWHERE = "T2_shortcut_elsewhere"
NSC_PATCHED = "T2_nonshortcut_patched"
HABIT_PATCH = "T1_habit_normal"
HABIT_MASK = "T1_habit_masked"
KNOWN_SPLITS = (T1_ALL, SC_PATCH, SC_MASK, NSC, VAL, SC_CLEAN, SC_ELSEWHERE, NSC_PATCHED, HABIT_PATCH, HABIT_MASK)

# What others call our columns, for suggestions.
_ALSO_CALLED = {
    "method": ("algorithm", "learner", "model", "strategy", "approach"),
    "seed": ("random_seed", "run_seed", "rng_seed"),
    "phase": ("task", "task_id", "experience", "stage"),
    "epoch": ("epochs", "ep"),
    "split": ("subset", "eval_split", "evaluation", "dataset"),
    "acc": ("accuracy", "top1", "acc1", "acc@1", "test_acc", "test_accuracy"),
}
_LONGEST_LIST = 100  # characters
_PHASE = re.compile(r"[^\W\d][\w.+-]{0,79}")  # what a phase may be called: no space, as 'task 2' means T2
_NUMBERED = re.compile(r"T\d+")

# Effective epochs are quotients of sample counts: rounded to this many decimals, equal ones are the same epoch.
EPOCH_DECIMALS = 9
# Means over classes may exceed 1 by rounding.
ACCURACY_SLACK = 1e-9


@dataclass(frozen=True)
class Origin:
    """The file and line of each row, for error messages.

    >>> Origin.of_file("a.csv", np.array([2, 3])).at(1)
    'a.csv, line 3'
    >>> Origin.unknown(2).at(1)
    'row 2'
    """

    files: tuple[str, ...]
    file_of_row: IntArray
    number_of_row: IntArray
    units: tuple[str, ...]  # per file: a CSV has lines, a Parquet file or a frame has rows

    @classmethod
    def of_file(cls, file: str, numbers: IntArray, unit: str = "line") -> Origin:
        return cls((file,), np.zeros(len(numbers), dtype=np.int64), numbers, (unit,))

    @classmethod
    def unknown(cls, rows: int) -> Origin:
        return cls.of_file("", np.arange(1, rows + 1), "row")

    @classmethod
    def joined(cls, origins: Sequence[Origin]) -> Origin:
        before = np.cumsum([0, *(len(origin.files) for origin in origins)])
        return cls(
            tuple(file for origin in origins for file in origin.files),
            np.concatenate([origin.file_of_row + start for origin, start in zip(origins, before[:-1], strict=True)]),
            np.concatenate([origin.number_of_row for origin in origins]),
            tuple(unit for origin in origins for unit in origin.units),
        )

    @property
    def name(self) -> str:
        if not any(self.files):
            return "the timeline"
        return self.files[0] + (f" and {len(self.files) - 1} more" if len(self.files) > 1 else "")

    def at(self, row: int) -> str:
        file = self.files[self.file_of_row[row]]
        place = f"{self.units[self.file_of_row[row]]} {self.number_of_row[row]}"
        return f"{file}, {place}" if file else place

    def and_at(self, row: int, first: int) -> str:
        """A second place, after that of ``first``: the file is named only if it is another one."""
        if self.file_of_row[row] != self.file_of_row[first]:
            return self.at(row)
        return f"{self.units[self.file_of_row[row]]} {self.number_of_row[row]}"

    def keep(self, rows: npt.NDArray[np.bool_]) -> Origin:
        return Origin(self.files, self.file_of_row[rows], self.number_of_row[rows], self.units)


def checked(frame: pd.DataFrame, origin: Origin) -> pd.DataFrame:
    """The same rows with canonical types, or an InputError that names file, line and column."""
    require_columns(frame, REQUIRED_COLUMNS, origin.name, in_python=not any(origin.files))
    frame = frame.assign(**{column: np.nan for column in ("loss", "n") if column not in frame.columns})
    if len(frame) == 0:
        raise InputError(f"{origin.name}: no rows")
    columns: dict[str, Any] = {
        "method": text_column(frame, "method", origin),
        "seed": _whole(frame, "seed", origin),
        "phase": _phases(frame, origin),
        "epoch": _at_least(number_column(frame, "epoch", origin), 0.0, "epoch", origin),
        "split": text_column(frame, "split", origin),
        "acc": _accuracy(frame, "acc", origin, nullable=False),
        "loss": number_column(frame, "loss", origin, nullable=True),
        "n": _counts(frame, origin),
    }
    for column in OPTIONAL_COLUMNS:
        if column in frame.columns:
            columns[column] = _accuracy(frame, column, origin, nullable=True)
    for column in frame.columns:
        if column not in columns:
            columns[str(column)] = frame[column].to_numpy()
    clean = pd.DataFrame(columns)
    _refuse_duplicates(clean, origin)
    return clean


def require_columns(frame: pd.DataFrame, needed: Sequence[str], name: str, *, in_python: bool = False) -> None:
    """Raise an error that names all missing columns, and columns with similar names.

    ``in_python``: the caller gave a DataFrame, so options are named as keywords of ``score``.
    """
    missing = [column for column in needed if column not in frame.columns]
    if missing:
        names = join([f"'{column}'" for column in missing])
        are = f"columns {names} are" if len(missing) > 1 else f"column {names} is"
        listed = sum(length <= _LONGEST_LIST for length in accumulate(len(str(one)) + 2 for one in frame.columns))
        found = ", ".join(map(str, frame.columns[:listed])) or "none"
        found += f" and {len(frame.columns) - listed} more" if len(frame.columns) > listed else ""
        raise InputError(
            f"{name}: {are} missing (columns found: {found}){_similar(missing, list(frame.columns), in_python)}"
            + (
                f"; one column a metric? Use {'wide=True' if in_python else '--wide'}"
                if {"split", "acc"} <= set(missing)
                else ""
            )
        )


def _similar(missing: Sequence[str], found: Sequence[str], in_python: bool = False) -> str:
    """A question that names columns similar to the missing ones, and the option that maps them.

    >>> _similar(["method", "acc"], ["Method", "seed", "colour"])
    "; did you mean 'Method' for 'method'? Use --map Method=method"
    >>> _similar(["acc"], ["accuracy"])
    "; did you mean 'accuracy' for 'acc'? Use --map accuracy=acc"
    >>> _similar(["acc"], ["accuracy"], in_python=True)
    "; did you mean 'accuracy' for 'acc'? Use map={'accuracy': 'acc'}"
    >>> _similar(["method", "acc"], ["Method", "Acc"])
    '; did you mean --map Method=method --map Acc=acc?'
    """
    unknown = {str(name).strip().lower(): str(name) for name in found if name not in (*COLUMNS, *OPTIONAL_COLUMNS)}
    guesses: dict[str, str] = {}
    for column in missing:
        close = [name for name in (column, *_ALSO_CALLED.get(column, ())) if name in unknown]
        close += difflib.get_close_matches(column, unknown, n=1, cutoff=0.7)
        if close:
            guesses[column] = unknown.pop(close[0])
    if not guesses:
        return ""
    options = " ".join(f"--map {shlex.quote(f'{theirs}={column}')}" for column, theirs in guesses.items())
    if in_python:
        options = f"map={ {theirs: column for column, theirs in guesses.items()} }"
    if len(guesses) > 1:
        return f"; did you mean {options}?"
    ((column, theirs),) = guesses.items()
    return f"; did you mean '{theirs}' for '{column}'? Use {options}"


def text_column(frame: pd.DataFrame, column: str, origin: Origin) -> npt.NDArray[np.object_]:
    """The column as stripped strings; empty ones are refused."""
    codes, values = pd.factorize(frame[column])
    names = np.array([str(value).strip() for value in values], dtype=object)
    empty = (codes < 0) if len(names) == 0 else (codes < 0) | (names == "")[codes]
    if empty.any():
        raise InputError(f"{origin.at(int(np.argmax(empty)))}, column '{column}': is empty")
    return names[codes]


def number_column(frame: pd.DataFrame, column: str, origin: Origin, nullable: bool = False) -> FloatArray:
    """The column as floats; NaN means 'not measured' and is refused unless ``nullable``."""
    series = frame[column]
    if pd.api.types.is_numeric_dtype(series) and not pd.api.types.is_bool_dtype(series):
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        wrong = np.isnan(values)
    else:
        text = series.astype(object).map(lambda value: "" if pd.isna(value) else str(value).strip())
        values = pd.to_numeric(text, errors="coerce").to_numpy(dtype=np.float64)
        no_number = np.isnan(values) & ~text.str.lower().isin(["", "nan"]).to_numpy()
        if no_number.any():
            row = int(np.argmax(no_number))
            raise InputError(f"{origin.at(row)}, column '{column}': '{text.iloc[row]}' is not a number")
        wrong = np.isnan(values)
    if not nullable:
        wrong |= np.isinf(values)
        if wrong.any():
            row = int(np.argmax(wrong))
            found = "infinite" if np.isinf(values[row]) else "empty or NaN"
            raise InputError(f"{origin.at(row)}, column '{column}': is {found}, a number is needed")
    return values


def whole_numbers(values: FloatArray, column: str, origin: Origin) -> IntArray:
    """Floats as integers; fractions are refused."""
    broken = (values != np.rint(values)) | (np.abs(values) > 2**53)
    if broken.any():
        row = int(np.argmax(broken))
        raise InputError(f"{origin.at(row)}, column '{column}': {values[row]:g} is not a whole number up to 2**53")
    return values.astype(np.int64)


def _whole(frame: pd.DataFrame, column: str, origin: Origin) -> IntArray:
    series = frame[column]
    if pd.api.types.is_signed_integer_dtype(series) and not series.isna().any():
        return series.to_numpy(dtype=np.int64)
    return whole_numbers(number_column(frame, column, origin), column, origin)


def phase_name(name: str) -> str | None:
    """The canonical name of a phase: 'T2', 't2', '2' and 2 are one phase, phases count from 1. None for what is no name.

    >>> phase_name("2"), phase_name("t3.0"), phase_name("night"), phase_name("T0"), phase_name("1.5")
    ('T2', 'T3', 'night', None, None)
    """
    digits = name.upper().removeprefix("T").removesuffix(".0")
    if digits.isascii() and digits.isdigit():
        return f"T{int(digits)}" if int(digits) >= 1 else None
    return name if _PHASE.fullmatch(name) else None


def in_order(phases: Iterable[str]) -> list[str]:
    """Phases by number if all of them are T1, T2, ...; otherwise as given.

    >>> in_order(["T10", "T2"]), in_order(["night", "day"])
    (['T2', 'T10'], ['night', 'day'])
    """
    listed = list(phases)
    if all(_NUMBERED.fullmatch(phase) for phase in listed):
        return sorted(listed, key=lambda phase: int(phase[1:]))
    return listed


def order_of_phases(frame: pd.DataFrame) -> list[str]:
    """All phases of a table: T1, T2, ... by number; other names as they first appear in the run with the most of them.

    A run that skips phases (a baseline of the last one) says nothing about what came before.
    """
    runs = frame.groupby(["method", "seed"], sort=False)["phase"].unique()
    longest_first = sorted(runs, key=len, reverse=True)
    return in_order(dict.fromkeys(phase for phases in longest_first for phase in phases))


def _phases(frame: pd.DataFrame, origin: Origin) -> npt.NDArray[np.object_]:
    names = text_column(frame, "phase", origin)
    codes, found = pd.factorize(names)
    canonical = []
    for code, given in enumerate(found):
        name = phase_name(str(given))
        if name is None:
            row = int(np.argmax(codes == code))
            raise InputError(
                f"{origin.at(row)}, column 'phase': '{given}' is not a phase; write T1, T2, ..., or a name without spaces"
            )
        canonical.append(name)
    return np.array(canonical, dtype=object)[codes]


def _accuracy(frame: pd.DataFrame, column: str, origin: Origin, nullable: bool) -> FloatArray:
    values = number_column(frame, column, origin, nullable)
    outside = (values < -ACCURACY_SLACK) | (values > 1 + ACCURACY_SLACK)
    if outside.any():
        row = int(np.argmax(outside))
        percent = "; per cent? divide by 100" if 1.5 < values[row] <= 100 and np.nanmax(values) <= 100 else ""
        shown = repr(float(values[row])).removesuffix(".0")  # all digits: rounded, it may look like a valid one
        raise InputError(f"{origin.at(row)}, column '{column}': {shown} is outside 0..1{percent}")
    return np.clip(values, 0.0, 1.0)


def _counts(frame: pd.DataFrame, origin: Origin) -> FloatArray:
    values = number_column(frame, "n", origin, nullable=True)
    given = np.where(np.isnan(values), 1.0, values)
    whole_numbers(_at_least(given, 1.0, "n", origin), "n", origin)
    return values


def _at_least(values: FloatArray, least: float, column: str, origin: Origin) -> FloatArray:
    below = values < least
    if below.any():
        row = int(np.argmax(below))
        raise InputError(f"{origin.at(row)}, column '{column}': {values[row]:g} is below {least:g}")
    return values


def row_keys(frame: pd.DataFrame) -> IntArray:
    """One integer per row, equal for rows with the same method, seed, phase, epoch and split."""
    keys = np.zeros(len(frame), dtype=np.int64)
    for column in ("method", "seed", "phase", "split", "epoch"):
        values = np.round(frame["epoch"].to_numpy(), EPOCH_DECIMALS) if column == "epoch" else frame[column].to_numpy()
        codes, found = pd.factorize(values)
        keys = keys * len(found) + codes
    return keys


def _refuse_duplicates(frame: pd.DataFrame, origin: Origin) -> None:
    keys = row_keys(frame)
    repeated = pd.Series(keys).duplicated().to_numpy()
    if not repeated.any():
        return
    second = int(np.argmax(repeated))
    first = int(np.argmax(keys == keys[second]))
    row = frame.iloc[second]
    raise InputError(
        f"{origin.at(second)}: the same method, seed, phase, epoch and split as {origin.and_at(first, second)} "
        f"({row['method']}, seed {row['seed']}, {row['phase']}, epoch {row['epoch']:g}, {row['split']})"
    )
