"""One small study, to be written in the forms of other tools and read back."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from einstellung.timeline import ImportOptions, Timeline

SPLITS = ("T2_shortcut_normal", "T2_shortcut_masked")
RUNS = [("scratch_t2", 1), ("scratch_t2", 2), ("sgd", 1), ("sgd", 2)]
KEY = ["method", "seed", "phase", "epoch", "split"]


def tidy() -> pd.DataFrame:
    """Two methods, two seeds, three epochs, two splits; no two accuracies are the same."""
    return pd.DataFrame(
        [
            {"method": method, "seed": seed, "phase": "T2", "epoch": epoch, "split": split, "acc": number / 32}
            for number, (method, seed, epoch, split) in enumerate(
                (*run, epoch, split) for run in RUNS for epoch in (0, 1, 2) for split in SPLITS
            )
        ]
    )


def wide(metric: str = "{split}/acc") -> pd.DataFrame:
    """A row per run and epoch, a column per split."""
    table = tidy().pivot(index=KEY[:4], columns="split", values="acc").reset_index().rename_axis(columns=None)
    return table.rename(columns={split: metric.format(split=split) for split in SPLITS})


def read(path: Path, **options: object) -> pd.DataFrame:
    """The rows of a log, in the order of :func:`tidy`."""
    return ordered(Timeline.read_many([path], ImportOptions(**options)).frame)  # type: ignore[arg-type]


def ordered(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values(KEY).reset_index(drop=True)


def assert_read(frame: pd.DataFrame) -> None:
    """The same study, with loss and n unknown."""
    expected = ordered(tidy())
    for column in (*KEY, "acc"):
        assert frame[column].tolist() == expected[column].tolist(), column
    assert frame["loss"].isna().all()
    assert frame["n"].isna().all()
