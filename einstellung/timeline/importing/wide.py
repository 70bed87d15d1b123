"""Wide tables (one column a metric) as rows of a timeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from einstellung.errors import InputError
from einstellung.timeline.importing.options import IDENTITY, MEASURES, ImportOptions, Pattern
from einstellung.timeline.importing.runs import facts_of_names, method_and_seed
from einstellung.timeline.importing.table import RawTable
from einstellung.timeline.schema import EPOCH_DECIMALS, FloatArray, IntArray, Origin, number_column, text_column

_WORDS = {"accuracy": "acc", "top1": "acc", "top5_acc": "top5", **{measure: measure for measure in MEASURES}}
_SHAPES = (
    *("{{phase}}/{word}/{{split}}", "{{phase}}/{{split}}/{word}", "{{split}}/{word}", "{word}/{{split}}"),
    *("{{split}}.{word}", "{{split}}_{word}", "{{split}} {word}"),
)
USUAL = tuple(Pattern(shape.format(word=word), ours) for shape in _SHAPES for word, ours in _WORDS.items())
_PHASE_EPOCH = Pattern("{phase}/epoch", "epoch", any_phase=True)
_CHART = " - "  # W&B's charts export 'RUN - METRIC', with the least and largest value in columns of their own
_SPREADS = ("__MIN", "__MAX")
_STEPS = ("step", "_step", "global_step", "trainer/global_step")
_RUN_NAMES = ("run", "run_name", "name", "mlflow.runname", "run name")


@dataclass(frozen=True)
class _Metric:
    column: str
    measure: str
    split: str
    facts: Mapping[str, str]  # what the name says of method, seed, phase and run


def from_wide(table: RawTable, options: ImportOptions) -> tuple[pd.DataFrame, Origin, list[str], list[str]]:
    """Rows of a timeline with their origin, the columns used and those ignored."""
    frame = _with_short_names(table)
    metrics = _metrics(frame, options)
    if not any(metric.measure == "acc" for metric in metrics):
        raise InputError(
            f"{table.origin.name}: no column is recognised as the accuracy of a split (found: "
            f"{_listed(frame.columns)}); name one with --map: '{{split}}/acc=acc' or 'val_acc=T2_val/acc'"
        )
    with_accuracy = {(m.split, *sorted(m.facts.items())) for m in metrics if m.measure == "acc"}
    metrics = [metric for metric in metrics if (metric.split, *sorted(metric.facts.items())) in with_accuracy]
    identity = _Identity(frame, table, options)
    values = pd.concat([_values(metric, frame, identity, table.origin) for metric in metrics], ignore_index=True)
    tidy, rows = _tidy(values, table.origin)
    if tidy.empty:
        raise InputError(f"{table.origin.name}: every accuracy is empty")
    used = [*identity.used, *(metric.column for metric in metrics)]
    used = [column for column in frame.columns if column in set(used)]
    origin = Origin(
        table.origin.files, table.origin.file_of_row[rows], table.origin.number_of_row[rows], table.origin.units
    )
    return tidy, origin, used, [column for column in frame.columns if column not in used]


def _with_short_names(table: RawTable) -> pd.DataFrame:
    """MLflow's tables of runs call metrics ``metrics.NAME`` and parameters ``params.NAME``."""
    short: dict[str, str] = {}
    for prefix in ("metrics.", "params.", "tags."):
        for column in table.frame.columns:
            name = column.removeprefix(prefix)
            if name != column and name not in table.frame.columns and name not in short.values():
                short[column] = name
    return table.frame.rename(columns=short)


def _metrics(frame: pd.DataFrame, options: ImportOptions) -> list[_Metric]:
    patterns = tuple(options.patterns()) or USUAL
    found = []
    for column in frame.columns:
        run, separator, name = column.partition(_CHART)
        chart = {"run": run} if separator and not column.endswith(_SPREADS) else {}
        for candidate, facts in ((column, {}), *(((name, chart),) if chart else ())):
            match = next(((p, own) for p in patterns if (own := p.match(candidate)) is not None), None)
            if match is not None and not (candidate == column and chart):
                pattern, own = match
                split = own.pop("split")
                found.append(_Metric(column, pattern.measure, split, {**facts, **own}))
                break
    return found


class _Identity:
    """Method, seed, phase and epoch of every row, from its columns, its run's name or the options."""

    def __init__(self, frame: pd.DataFrame, table: RawTable, options: ImportOptions) -> None:
        self._frame, self._table, self._options = frame, table, options
        self._lower = {column.strip().lower(): column for column in reversed(list(frame.columns))}
        self._constants = options.constants()
        self.used: list[str] = []
        for name in self._constants:
            if name in frame.columns:
                raise InputError(f"{table.origin.name} has a column '{name}': leave out --{name}")

    def method_or_seed(self, name: str, facts: Mapping[str, str]) -> object:
        if name in facts:
            return facts[name]
        if name in self._constants:
            return self._constants[name]
        if name in self._frame.columns:
            self.used.append(name)
            return self._frame[name].to_numpy(dtype=object)
        if "run" in facts:
            found = method_and_seed(facts["run"], self._options.run).get(name)
            if found is not None:
                return found
        elif (column := next((self._lower[one] for one in _RUN_NAMES if one in self._lower), None)) is not None:
            runs = text_column(self._frame, column, self._table.origin)
            by_name = {run: method_and_seed(run, self._options.run).get(name) for run in dict.fromkeys(runs)}
            if all(value is not None for value in by_name.values()):
                self.used.append(column)
                return np.array([by_name[run] for run in runs], dtype=object)
        else:
            by_file = [facts_of_names(names, self._options.run).get(name) for names in self._table.runs]
            needed = set(self._table.origin.file_of_row.tolist())
            if by_file and all(by_file[number] is not None for number in needed):
                return np.array(by_file, dtype=object)[self._table.origin.file_of_row]
        raise InputError(
            f"{self._table.origin.name}: the {name} is unknown; give --{name}, a column '{name}', or run names such as "
            "sgd-seed1 (another form: --run '{method}_{seed}')"
        )

    def phase(self, facts: Mapping[str, str]) -> object:
        if "phase" in facts:
            return facts["phase"]
        if "phase" in self._constants:
            return self._constants["phase"]
        if "phase" in self._frame.columns:
            self.used.append("phase")
            return self._frame["phase"].to_numpy(dtype=object)
        raise InputError(
            f"{self._table.origin.name}: the phase is unknown; give --phase T2, a column 'phase', or {{phase}} in a pattern"
        )

    def epoch(self, phase: object) -> tuple[FloatArray, str]:
        """The epochs of all rows, and where they come from; NaN where a row has none."""
        if "epoch" in self._constants:
            return np.full(len(self._frame), self._constants["epoch"], dtype=np.float64), "--epoch"
        origin = self._table.origin
        own = {str(column): match["phase"] for column in self._frame if (match := _PHASE_EPOCH.match(str(column)))}
        for column, found in own.items():
            if isinstance(phase, str) and found == phase:
                self.used.append(column)
                return number_column(self._frame, column, origin, nullable=True), column
        if "epoch" in self._lower:
            self.used.append(self._lower["epoch"])
            return number_column(self._frame, self._lower["epoch"], origin, nullable=True), self._lower["epoch"]
        step = next((self._lower[one] for one in _STEPS if one in self._lower), None)
        if step is None:
            raise InputError(
                f"{origin.name}: the epoch is unknown; map a column to it (--map COLUMN=epoch), or give --epoch if every "
                "row was measured at the same epoch"
            )
        if self._options.steps_per_epoch is None:
            raise InputError(
                f"{origin.name}: there are steps ('{step}') but no epochs; give --steps-per-epoch N (1 if a step is an epoch)"
            )
        self.used.append(step)
        return number_column(self._frame, step, origin, nullable=True) / self._options.steps_per_epoch, step


def _values(metric: _Metric, frame: pd.DataFrame, identity: _Identity, origin: Origin) -> pd.DataFrame:
    """The measured values of a metric, a row each."""
    values = number_column(frame, metric.column, origin, nullable=True)
    phase = identity.phase(metric.facts)
    epoch, column = identity.epoch(phase)
    found = pd.DataFrame(
        {
            "method": pd.Series(identity.method_or_seed("method", metric.facts), index=frame.index, dtype=object),
            "seed": pd.Series(identity.method_or_seed("seed", metric.facts), index=frame.index, dtype=object),
            "phase": pd.Series(phase, index=frame.index, dtype=object),
            "epoch": epoch,
            "split": metric.split,
            "measure": metric.measure,
            "value": values,
            "row": np.arange(len(frame)),
        }
    )[~np.isnan(values)]
    lost = found["epoch"].isna().to_numpy()
    if lost.any():
        row = int(found["row"].to_numpy()[lost][0])
        raise InputError(f"{origin.at(row)}: '{metric.column}' has a value, but '{column}' is empty")
    return found


def _tidy(values: pd.DataFrame, origin: Origin) -> tuple[pd.DataFrame, IntArray]:
    """Measures of the same moment in one row; two different values of one measure are refused."""
    values["seed"] = values["seed"].map(str)
    values["method"], values["phase"] = values["method"].map(str), values["phase"].map(str)
    values["moment"] = values["epoch"].round(EPOCH_DECIMALS)
    key = ["method", "seed", "phase", "moment", "split"]
    values = values.drop_duplicates([*key, "measure", "value"])
    again = values.duplicated([*key, "measure"]).to_numpy()
    if again.any():
        second = values[again].iloc[0]
        same = (values[[*key, "measure"]] == second[[*key, "measure"]]).all(axis="columns")
        first = values[same].iloc[0]
        row, before = int(second["row"]), int(first["row"])
        raise InputError(
            f"{origin.at(row)}: a second value of {second['measure']} of {second['split']} at epoch {second['epoch']:g} of "
            f"{second['phase']} (first: {origin.and_at(before, row)}); map the metrics you need with --map, and steps with "
            "--steps-per-epoch"
        )
    number = values.groupby(key, sort=False).ngroup()
    firsts = ~number.duplicated().to_numpy()
    tidy = values.loc[firsts, [*IDENTITY, "split"]].reset_index(drop=True)
    rows = values["row"].to_numpy()[firsts]
    for measure in MEASURES:
        own = (values["measure"] == measure).to_numpy()
        if own.any() or measure == "acc":
            column = np.full(len(tidy), np.nan)
            column[number.to_numpy()[own]] = values["value"].to_numpy()[own]
            tidy[measure] = column
    measured = tidy["acc"].notna().to_numpy()
    return tidy[measured].reset_index(drop=True), rows[measured]


def _listed(columns: pd.Index, most: int = 20) -> str:
    names = [str(column) for column in columns]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
