"""Parse command-line options: lists of names and numbers, grids, numbers of workers, data folders."""

from __future__ import annotations

import math
import os
from pathlib import Path

from einstellung.errors import InputError
from einstellung.experiments.machine import Workers

_MAX_GRID_STEPS = 200


def numbers(option: str, text: str, count: int | None = None) -> list[float]:
    """Finite numbers separated by commas; exactly ``count`` if it is given.

    >>> numbers("--margins", "1,0.02,0.02", 3)
    [1.0, 0.02, 0.02]
    """
    try:
        values = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        values = []
    if not values or not all(map(math.isfinite, values)) or (count is not None and len(values) != count):
        raise InputError(f"{option} {text}: give {f'{count} ' if count else ''}numbers separated by commas")
    return values


def names(option: str, text: str) -> list[str]:
    """Names separated by commas.

    >>> names("--methods", "sgd, derpp")
    ['sgd', 'derpp']
    """
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found:
        raise InputError(f"{option} '{text}': give names separated by commas")
    return found


def whole_numbers(option: str, text: str) -> list[int]:
    """Whole numbers separated by commas.

    >>> whole_numbers("--seeds", "42, 9007199254740991")
    [42, 9007199254740991]
    """
    try:
        values = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        values = []
    if not values:
        raise InputError(f"{option} {text}: give whole numbers separated by commas")
    return values


def grid(option: str, text: str) -> tuple[float, ...]:
    """Numbers as ``first:last:step``, both ends included, or separated by commas.

    >>> grid("--tau-grid", "0.3:0.4:0.05")
    (0.3, 0.35, 0.4)
    """
    if ":" not in text:
        return tuple(numbers(option, text))
    first, last, step = numbers(option, text.replace(":", ","), 3)
    if step <= 0 or last < first or (last - first) / step > _MAX_GRID_STEPS:
        raise InputError(
            f"{option} {text}: write first:last:step with at most {_MAX_GRID_STEPS} steps, e.g. 0.3:0.6:0.05"
        )
    return tuple(round(first + position * step, 10) for position in range(int((last - first) / step + 1e-9) + 1))


def workers_from(option: str, value: str | int | None) -> Workers | None:
    """The number of parallel runs: a number from 1, ``auto``, or None.

    >>> workers_from("--workers", "4"), workers_from("--workers", "auto"), workers_from("--workers", None)
    (4, 'auto', None)
    >>> workers_from("--workers", "many")
    Traceback (most recent call last):
    einstellung.errors.InputError: --workers is many: give a number from 1, or auto
    """
    if value is None or value == "auto":
        return value  # type: ignore[return-value]
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1 or isinstance(value, bool | float):
        raise InputError(f"{option} is {value}: give a number from 1, or auto")
    return number


def add_data_location(path: Path | None) -> None:
    """Put ``--data`` first in ``EINSTELLUNG_DATA``, which worker processes inherit."""
    if path is None:
        return
    if not path.exists():
        raise InputError(f"--data {path}: no such file or folder")
    present = os.environ.get("EINSTELLUNG_DATA")
    os.environ["EINSTELLUNG_DATA"] = os.pathsep.join([str(path.resolve()), *([present] if present else [])])
