"""What a study logs to other tools, read back by the importers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from einstellung.timeline import ImportOptions, Timeline

from .conftest import SMALL, study

KEY = ["method", "seed", "phase", "epoch", "split"]


def run_and_read_back(kind: str, folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The timeline of a study, and what the importer makes of its log, rows in the same order.

    The same study without logging must have the same timeline, byte for byte.
    """
    config = folder / "small.yaml"
    config.write_text(yaml.safe_dump(SMALL))
    study(config, folder / "plain", methods=["scratch_t2", "sgd"])
    study(config, folder / "out", methods=["scratch_t2", "sgd"], logging=[kind])
    for plain in sorted((folder / "plain").rglob("timeline.csv")):
        logged = folder / "out" / plain.relative_to(folder / "plain")
        assert logged.read_bytes() == plain.read_bytes()
    place = folder / "out" / ("mlruns" if kind == "mlflow" else "runs")
    written = Timeline.read_many([folder / "out"]).frame
    read = Timeline.read_many([place], ImportOptions(format=kind)).frame
    return sorted_rows(written), sorted_rows(read)


def sorted_rows(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values(KEY).reset_index(drop=True)


def assert_same(written: pd.DataFrame, read: pd.DataFrame, precision: type = np.float64) -> None:
    """Equal keys, and equal values at the precision that the log stores."""
    assert read[KEY].astype(object).equals(written[KEY].astype(object))
    for column in ("acc", "loss", "n", "acc_task", "acc_within", "top5"):
        expected = written[column].to_numpy(dtype=float).astype(precision)
        np.testing.assert_array_equal(read[column].to_numpy(dtype=float).astype(precision), expected, column)
