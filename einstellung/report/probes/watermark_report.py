"""The files of the watermark probe: numbers, tables, the figure, a sheet of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from einstellung.files import write_json
from einstellung.report.probes.watermark import class_name, control_table, model_table
from einstellung.report.table_formats import write_table

Pictures = Mapping[str, npt.NDArray[np.uint8]]


def as_json(
    records: Sequence[Mapping[str, Any]], average: Mapping[str, Any] | None, provenance: Mapping[str, Any]
) -> dict[str, Any]:
    """One model: its record as it is; several: all of them, and the average. Then what they were measured with.

    >>> as_json([{"gap": -0.1}], None, {"command": "einstellung watermark"})
    {'gap': -0.1, 'provenance': {'command': 'einstellung watermark'}}
    """
    content = dict(records[0]) if average is None else {"models": list(records), "average": average}
    return {**content, "provenance": dict(provenance)}


def write_watermark(
    folder: Path,
    records: Sequence[Mapping[str, Any]],
    average: Mapping[str, Any] | None,
    samples: Pictures,
    captions: Sequence[str],
    provenance: Mapping[str, Any],
) -> Path:
    """Write ``watermark.json`` last, after tables (CSV, Markdown, LaTeX) and figures (SVG, PNG, PDF); return its path."""
    from einstellung.report.figures.canvas import drawing, save  # matplotlib takes most of a second to import
    from einstellung.report.figures.samples import draw_samples
    from einstellung.report.probes.watermark_figure import draw_watermark

    write_table(folder, "watermark", model_table(records, average))
    if records[0]["controls"]:
        write_table(folder, "controls", control_table(records))
    with drawing():
        save(draw_watermark(records, class_name(records[0])), folder, "watermark")
        save(draw_samples(dict(samples), list(samples), captions), folder, "samples")
    return write_json(folder / "watermark.json", as_json(records, average, provenance))
