"""Parquet files (extra ``parquet``)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from einstellung.errors import InputError
from einstellung.timeline.importing.content import MOST_BYTES, require_few_columns, require_regular_file
from einstellung.timeline.schema import Origin


def read_parquet(path: Path) -> tuple[pd.DataFrame, Origin]:
    """The rows of a Parquet file; its own account of its size is checked before it is unpacked."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(f"{path}: reading Parquet needs pyarrow; pip install 'einstellung[parquet]'") from None
    require_regular_file(path)
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            facts = file.metadata
            require_few_columns(path, facts.num_columns)
            # encodings store equal values once: a cell takes eight bytes at least when it is unpacked
            size = max(
                facts.num_rows * facts.num_columns * 8,
                sum(facts.row_group(group).total_byte_size for group in range(facts.num_row_groups)),
            )
            if size > MOST_BYTES:
                raise InputError(f"{path} unpacks to more than {MOST_BYTES / 2**20:,.0f} MiB: split the log")
        frame = pd.read_parquet(path, engine="pyarrow")
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise InputError(f"cannot read {path} as Parquet: {error}") from None
    frame.columns = frame.columns.map(str)
    if not frame.columns.is_unique:
        raise InputError(f"{path}: column '{frame.columns[frame.columns.duplicated()][0]}' appears twice")
    return frame.reset_index(drop=True), Origin.of_file(str(path), np.arange(1, len(frame) + 1), "row")
