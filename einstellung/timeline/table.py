"""The timeline: one tidy table between training and diagnosis."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from einstellung.errors import InputError
from einstellung.files import write_atomically
from einstellung.registry import suggestion
from einstellung.timeline.importing.finding import PARQUET_SUFFIXES, timeline_files
from einstellung.timeline.importing.layout import Understood, in_our_layout
from einstellung.timeline.importing.options import ImportOptions
from einstellung.timeline.importing.table import RawTable
from einstellung.timeline.reading import read_logs
from einstellung.timeline.schema import FloatArray, Origin, checked, order_of_phases

NO_VALUES: FloatArray = np.empty(0, dtype=np.float64)


Run = tuple[str, int]  # method and seed


@dataclass(frozen=True)
class Curve:
    """One split of one run in one phase, sorted by effective epoch; NaN where a value was not measured."""

    epochs: FloatArray
    acc: FloatArray
    n: FloatArray
    acc_task: FloatArray | None = None
    loss: FloatArray | None = None
    acc_within: FloatArray | None = None


class Timeline:
    """A validated table with one row per method, seed, phase, effective epoch and split.

    >>> rows = {"method": "sgd", "seed": 1, "phase": "T2", "epoch": [2, 1], "split": "T1_all", "acc": [0.1, 0.3]}
    >>> timeline = Timeline(pd.DataFrame({**rows, "loss": None, "n": 500}))
    >>> timeline.methods, timeline.seeds("sgd")
    (('sgd',), (1,))
    >>> epochs, accs = timeline.curve("sgd", 1, "T2", "T1_all")
    >>> epochs.tolist(), accs.tolist()
    ([1.0, 2.0], [0.3, 0.1])
    """

    def __init__(self, frame: pd.DataFrame, origin: Origin | None = None) -> None:
        #: The validated table; shared, not copied: treat it as read-only.
        self.frame = checked(frame, origin or Origin.unknown(len(frame)))
        self._curves = _curves_of(self.frame)
        self._seeds = _seeds_of(self._curves)

    def __repr__(self) -> str:
        return (
            f"<Timeline: methods {', '.join(self.methods)}; seeds {', '.join(map(str, sorted({s for _, s in self.runs})))}; "
            f"{len(self.frame):,} rows>"
        )

    @classmethod
    def read(cls, path: Path | str, options: ImportOptions | None = None) -> Timeline:
        """Read one file of any format (docs/timeline.md), in our layout, the public fork's, or as ``options`` say."""
        if Path(path).is_dir():
            raise InputError(f"{path} is a folder; a timeline file is needed")
        return cls.read_many([path], options)

    @classmethod
    def read_many(cls, paths: Iterable[Path | str], options: ImportOptions | None = None) -> Timeline:
        """Read files and folders into one timeline; a row that is in two files is an error that names both."""
        return cls.understand(paths, options)[0]

    @classmethod
    def understand(
        cls, paths: Iterable[Path | str], options: ImportOptions | None = None
    ) -> tuple[Timeline, list[Understood]]:
        """Like :meth:`read_many`, and what was understood of the files."""
        files = timeline_files(paths, None if options is None else options.format)
        if not files:
            raise InputError("no timeline was given; name a file or a folder")
        frame, origin, understood = read_logs(files, options)
        return cls(frame, origin), understood

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, mapping: ImportOptions | Mapping[str, str] | None = None) -> Timeline:
        """A timeline from a DataFrame in our layout, or in another one with a mapping of its columns.

        >>> wide = pd.DataFrame({"epoch": [1, 2], "T2_val/acc": [0.5, 0.7]})
        >>> timeline = Timeline.from_frame(wide, ImportOptions(wide=True, method="sgd", seed=1, phase="T2"))
        >>> timeline.curve("sgd", 1, "T2", "T2_val")[1].tolist()
        [0.5, 0.7]
        >>> tidy = {"method": "sgd", "seed": 1, "phase": "T2", "epoch": [1], "split": "T2_val", "accuracy": 0.5}
        >>> Timeline.from_frame(pd.DataFrame(tidy), {"accuracy": "acc"}).splits
        ('T2_val',)
        """
        options = mapping if isinstance(mapping, ImportOptions) else ImportOptions(columns=mapping or {})
        frame = frame.reset_index(drop=all(name is None for name in frame.index.names))
        frame.columns = frame.columns.map(str)
        table = RawTable(frame, Origin.unknown(len(frame)), "DataFrame")
        rows, origin, _ = in_our_layout(table, options)
        return cls(rows, origin)

    def write(self, path: Path | str) -> Path:
        """Write the table atomically, as CSV or Parquet depending on the suffix."""
        path = Path(path)
        table = self.frame.assign(n=self.frame["n"].astype("Int64"))
        if path.suffix in PARQUET_SUFFIXES:
            try:
                import pyarrow  # noqa: F401  # for a clearer error than pandas gives
            except ImportError:
                raise InputError(f"{path}: Parquet needs pyarrow; pip install 'einstellung[parquet]'") from None
            return write_atomically(path, lambda temporary: table.to_parquet(temporary, engine="pyarrow", index=False))
        return write_atomically(path, lambda temporary: table.to_csv(temporary, index=False, lineterminator="\n"))

    def only(self, methods: Collection[str] | None = None, seeds: Collection[int] | None = None) -> Timeline:
        """The runs of these methods and seeds, in the same order; None: of all. A name or seed that no run has is an error.

        >>> rows = {"method": ["sgd", "er"], "seed": [1, 2], "phase": "T2", "epoch": 1, "split": "T1_all", "acc": 0.5}
        >>> timeline = Timeline(pd.DataFrame({**rows, "loss": None, "n": 500}))
        >>> timeline.only(methods=["er"]).runs, timeline.only(seeds=[1]).runs
        ((('er', 2),), (('sgd', 1),))
        """
        for method in methods or ():
            if method not in self._seeds:
                raise InputError(f"no method '{method}' in the timeline: {suggestion(method, self._seeds)}")
        known = sorted({seed for _, seed in self._curves})
        for seed in seeds or ():
            if seed not in known:
                raise InputError(f"no seed {seed} in the timeline: there are: {', '.join(map(str, known))}")
        kept = {
            run: curves
            for run, curves in self._curves.items()
            if (methods is None or run[0] in methods) and (seeds is None or run[1] in seeds)
        }
        if not kept:
            raise InputError("no run is left: none of these methods has one of these seeds")
        chosen = copy(self)
        rows = pd.MultiIndex.from_frame(self.frame[["method", "seed"]]).isin(list(kept))
        chosen.frame = self.frame[rows].reset_index(drop=True)
        chosen._curves, chosen._seeds = kept, _seeds_of(kept)
        chosen.__dict__["phase_names"] = tuple(
            phase for phase in self.phase_names if any(phase in curves for curves in kept.values())
        )
        return chosen

    @property
    def methods(self) -> tuple[str, ...]:
        """Method names in order of first appearance."""
        return tuple(self._seeds)

    def seeds(self, method: str) -> tuple[int, ...]:
        """Seeds of a method, sorted."""
        return tuple(sorted(self._seeds.get(method, ())))

    @property
    def runs(self) -> tuple[tuple[str, int], ...]:
        """Every (method, seed)."""
        return tuple(self._curves)

    @property
    def splits(self) -> tuple[str, ...]:
        """Every split name, sorted."""
        return tuple(sorted({split for run in self._curves.values() for curves in run.values() for split in curves}))

    def phases(self, method: str, seed: int) -> tuple[str, ...]:
        """Phases of a run, in order."""
        own = self._curves.get((method, seed), {})
        return tuple(phase for phase in self.phase_names if phase in own)

    @cached_property
    def phase_names(self) -> tuple[str, ...]:
        """Every phase: T1, T2, ... by number; other names as they first appear in the run with the most of them."""
        return tuple(order_of_phases(self.frame))

    def curves(self, method: str, seed: int, phase: str) -> dict[str, Curve]:
        """Every split of a run in a phase; empty if there are no rows."""
        return self._curves.get((method, seed), {}).get(phase, {})

    def curve(self, method: str, seed: int, phase: str, split: str) -> tuple[FloatArray, FloatArray]:
        """Effective epochs and accuracies of one split; two empty arrays if it was not measured."""
        found = self.curves(method, seed, phase).get(split)
        return (found.epochs, found.acc) if found is not None else (NO_VALUES, NO_VALUES)


def _seeds_of(runs: Iterable[Run]) -> dict[str, tuple[int, ...]]:
    seeds: dict[str, tuple[int, ...]] = {}
    for method, seed in runs:
        seeds[method] = (*seeds.get(method, ()), seed)
    return seeds


def _curves_of(frame: pd.DataFrame) -> dict[tuple[str, int], dict[str, dict[str, Curve]]]:
    """Cut the table into curves: sorted once, then sliced, so that curves are views."""
    key = np.zeros(len(frame), dtype=np.int64)
    for column in ("method", "seed", "phase", "split"):
        codes, values = pd.factorize(frame[column])
        key = key * len(values) + codes
    order = np.lexsort((frame["epoch"].to_numpy(), key))
    starts = np.flatnonzero(np.r_[True, np.diff(key[order]) != 0])
    ends = np.r_[starts[1:], len(order)]
    epochs, acc, n, loss = (frame[column].to_numpy()[order] for column in ("epoch", "acc", "n", "loss"))
    acc_task, within = (
        frame[column].to_numpy()[order] if column in frame.columns else None for column in ("acc_task", "acc_within")
    )
    labels = frame[["method", "seed", "phase", "split"]].iloc[order[starts]]
    curves: dict[tuple[str, int], dict[str, dict[str, Curve]]] = {}
    for (method, seed, phase, split), start, end in zip(labels.itertuples(index=False), starts, ends, strict=True):
        more = (None if column is None else column[start:end] for column in (acc_task, loss, within))
        curve = Curve(epochs[start:end], acc[start:end], n[start:end], *more)
        curves.setdefault((method, int(seed)), {}).setdefault(phase, {})[split] = curve
    return curves
