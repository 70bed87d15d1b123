"""Predictions from whatever a user has: a file, a results folder, a DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import pandas as pd

from einstellung.errors import InputError
from einstellung.gating.predictions import Predictions, of_frame, read_predictions_file


def read_source(
    source: str | PathLike[str] | pd.DataFrame, role: str, method: str | None = None, seeds: Sequence[int] = ()
) -> Predictions:
    """``role``: before, after or baseline; ``method`` and ``seeds`` are for a results folder."""
    if isinstance(source, pd.DataFrame):
        return of_frame(source, role)
    if not isinstance(source, str | PathLike):
        raise InputError(f"{role} is {type(source).__name__}: give a DataFrame, a file or a results folder")
    path = Path(source)
    if path.is_dir():
        from einstellung.gating.folders import read_results_folder

        return read_results_folder(path, method, seeds, baseline=role == "baseline")
    if method is not None or seeds:
        option = "--method" if method is not None else "--seed"
        raise InputError(f"{option} is for a results folder, and {path} is not a folder")
    return read_predictions_file(path)
