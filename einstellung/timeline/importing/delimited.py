"""CSV and TSV files, parsed so that every row knows its line."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from einstellung.errors import InputError
from einstellung.timeline.importing.content import require_few_columns
from einstellung.timeline.importing.table import merged_frames
from einstellung.timeline.schema import TEXT_COLUMNS, Origin

OTHER_SEPARATORS = {";": '";"', "\t": "tabs", "|": '"|"'}
_LONGEST_HEADER = 4 * 2**20


@dataclass(frozen=True)
class DelimitedText:
    """A file split after its header, with Unix line endings and a final newline."""

    path: Path
    separator: str
    header: tuple[str, ...]
    body: bytes

    @property
    def lines(self) -> int:
        return self.body.count(b"\n")


def delimited_text(path: Path, content: bytes, separator: str) -> DelimitedText:
    """The header and the lines of a file's content."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in content:
        raise InputError(f"{path} is not a CSV file: it holds binary data")
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not content.strip():
        raise InputError(f"{path} is empty")
    if not content.endswith(b"\n"):
        content += b"\n"
    head, _, body = content.partition(b"\n")
    if len(head) > _LONGEST_HEADER:
        raise InputError(f"{path} is not a CSV file: its first line has {len(head):,} bytes")
    require_few_columns(path, head.count(separator.encode()) + 1)
    try:
        content.decode("utf-8")
        header = tuple(name.strip() for name in next(csv.reader([head.decode("utf-8")], delimiter=separator), []))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is not a CSV file in UTF-8: {error}") from None
    if len(header) == 1:
        for other, name in OTHER_SEPARATORS.items():
            if other in header[0]:
                hint = ", or name it .tsv" if other == "\t" else ""
                raise InputError(f"{path}: the columns are separated by {name}: save it with commas{hint}")
    seen: set[str] = set()
    for name in filter(None, header):
        if name in seen:
            raise InputError(f"{path}, line 1: column '{name}' appears twice")
        seen.add(name)
    return DelimitedText(path, separator, header, body)


def parse(texts: Sequence[DelimitedText]) -> tuple[pd.DataFrame, Origin]:
    """The rows of files with the same header, parsed together: one call for a folder of a thousand runs."""
    names = [name or f"unnamed {position}" for position, name in enumerate(texts[0].header)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.BytesIO(b"".join(text.body for text in texts)),
                sep=texts[0].separator,
                header=None,
                names=names,
                index_col=False,
                dtype={column: "category" for column in TEXT_COLUMNS if column in names},
                skipinitialspace=True,
                skip_blank_lines=False,  # so that a row's position is its line
                keep_default_na=False,
                na_values=[""],
                float_precision="round_trip",
                low_memory=False,
            )
    except (pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.EmptyDataError) as error:
        return _parse_alone(texts, error)
    counts = np.array([text.lines for text in texts])
    if len(frame) != counts.sum() and len(texts) > 1:  # a quoted line break shifts all following files
        return merged_frames([parse([text]) for text in texts])
    first = np.r_[0, np.cumsum(counts)[:-1]]
    file_of_row = np.repeat(np.arange(len(texts)), counts)[: len(frame)]
    line = np.arange(len(frame)) - first[file_of_row] + 2
    origin = Origin(tuple(str(text.path) for text in texts), file_of_row, line, ("line",) * len(texts))
    # an unnamed column is an index written by some tool, or a comma at the end of each line
    frame = frame.drop(columns=[name for name, given in zip(names, texts[0].header, strict=True) if not given])
    filled = frame.notna().any(axis="columns").to_numpy()
    empty = set(range(len(texts))) - set(np.unique(file_of_row[filled]).tolist())
    if empty:
        raise InputError(f"{texts[min(empty)].path} has a header but no rows")
    return (frame, origin) if filled.all() else (frame[filled].reset_index(drop=True), origin.keep(filled))


def _parse_alone(texts: Sequence[DelimitedText], error: Exception) -> tuple[pd.DataFrame, Origin]:
    """Parse file by file, to find the file and line that cannot be parsed."""
    if len(texts) > 1:
        return merged_frames([parse([text]) for text in texts])
    (text,) = texts
    if isinstance(error, pd.errors.EmptyDataError):
        raise InputError(f"{text.path} has a header but no rows") from None
    rows = csv.reader(text.body.decode("utf-8").splitlines(), delimiter=text.separator)
    for number, fields in enumerate(rows, start=2):
        if len(fields) > len(text.header):
            counts = f"{len(fields)} fields where the header names {len(text.header)}"
            raise InputError(f"{text.path}, line {number}: {counts}") from None
    raise InputError(f"{text.path} is not a CSV file: {error}") from None
