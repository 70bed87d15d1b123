"""How the columns of a log become those of a timeline: the mapping, and what the log itself does not say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.registry import suggestion
from einstellung.timeline.schema import COLUMNS, OPTIONAL_COLUMNS
from einstellung.yaml_text import read_yaml

MEASURES = ("acc", "loss", "n", *OPTIONAL_COLUMNS)
IDENTITY = ("method", "seed", "phase", "epoch")
TARGETS = (*COLUMNS, *OPTIONAL_COLUMNS, "run", "step", "epoch_eff")
PLACEHOLDERS = ("method", "seed", "phase", "split", "run")
FORMATS = ("csv", "tsv", "json", "jsonl", "parquet", "tensorboard", "mlflow", "wandb")


@dataclass(frozen=True)
class Pattern:
    """A name with placeholders, such as ``{split}/acc``, and what a column of such a name measures.

    ``any_phase``: whether ``{phase}`` may be any name; otherwise only T1, T2, ...
    """

    source: str
    measure: str
    fixed: Mapping[str, str] = field(default_factory=dict)
    any_phase: bool = False

    def match(self, name: str) -> dict[str, str] | None:
        found = _expression(self.source, self.any_phase).fullmatch(name)
        return None if found is None else {**found.groupdict(), **self.fixed}


@dataclass(frozen=True)
class ImportOptions:
    """How to read logs. ``columns`` maps a log's names to a timeline's.

    ``accuracy: acc`` renames a column, ``"{split}/acc": acc`` finds the splits of a wide table by their names, and ``val_acc:
    T2_val/acc`` or ``val_acc: T2/T2_val/acc`` names the split (and phase) of one column. ``wide``: one column a metric.
    ``run``: how run names spell method and seed. ``method``, ``seed``, ``phase`` and ``epoch`` are those of all rows.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    wide: bool = False
    run: str | None = None
    steps_per_epoch: float | None = None
    method: str | None = None
    seed: int | None = None
    phase: str | None = None
    epoch: float | None = None
    format: str | None = None

    def __post_init__(self) -> None:
        for source, target in self.columns.items():
            _require_target(source, target)
        if self.run is not None and not {"{method}", "{seed}"} & set(re.findall(r"{\w+}", self.run)):
            raise InputError(f"run pattern '{self.run}': write {{method}} and {{seed}} where run names have them")
        if self.steps_per_epoch is not None and not 0 < self.steps_per_epoch < float("inf"):
            raise InputError(f"steps per epoch are {self.steps_per_epoch:g}; give a number above 0")
        if self.format is not None and self.format not in FORMATS:
            raise InputError(f"unknown format '{self.format}': {suggestion(self.format, FORMATS)}")

    @property
    def is_wide(self) -> bool:
        return self.wide or any(True for _ in self.patterns())

    def renamed(self) -> dict[str, str]:
        """Columns to rename."""
        return {source: target for source, target in self.columns.items() if not _is_pattern(source, target)}

    def patterns(self) -> Iterable[Pattern]:
        """Metrics to look for, in the order given."""
        for source, target in self.columns.items():
            if _is_pattern(source, target):
                *place, measure = target.split("/")
                fixed = dict(zip(("split", "phase"), reversed(place), strict=False))
                yield Pattern(source, measure, fixed, any_phase=True)

    def constants(self) -> dict[str, Any]:
        return {name: value for name in IDENTITY if (value := getattr(self, name)) is not None}


def _is_pattern(source: str, target: str) -> bool:
    return "{" in source or "/" in target


def _require_target(source: str, target: str) -> None:
    where = f"map {source}={target}"
    unknown = [name for name in re.findall(r"{(.*?)}", source) if name not in PLACEHOLDERS]
    if unknown:
        raise InputError(f"{where}: unknown placeholder '{{{unknown[0]}}}': {suggestion(unknown[0], PLACEHOLDERS)}")
    place, _, last = target.rpartition("/")
    known = MEASURES if _is_pattern(source, target) else TARGETS
    if last not in known:
        raise InputError(f"{where}: unknown column '{last}': {suggestion(last, known)}")
    if place.count("/") > 1 or target.startswith("/"):
        raise InputError(f"{where}: write a column, SPLIT/acc or PHASE/SPLIT/acc after the equals sign")
    if _is_pattern(source, target) and not place and "{split}" not in source:
        raise InputError(f"{where}: the split is unknown; write {{split}} in the pattern, or SPLIT/{last} after it")


def _expression(source: str, any_phase: bool) -> re.Pattern[str]:
    parts = re.split(r"{(\w+)}", source)
    seen: set[str] = set()
    expression = ""
    kinds = {"seed": r"-?[0-9]+", "phase": r"[Tt]?[0-9]+|[^\W\d][^/]*?" if any_phase else r"[Tt]?[0-9]+"}
    for number, part in enumerate(parts):
        if number % 2 == 0:
            expression += re.escape(part)
        elif part in seen:
            expression += f"(?P={part})"
        else:
            seen.add(part)
            expression += f"(?P<{part}>{kinds.get(part, '.+')})"
    return re.compile(expression)


def parse_assignments(items: Iterable[str]) -> dict[str, str]:
    """``accuracy=acc`` and the like; what stands after the last equals sign is ours.

    >>> parse_assignments(["accuracy=acc", "{split}/acc=acc"])
    {'accuracy': 'acc', '{split}/acc': 'acc'}
    """
    found: dict[str, str] = {}
    for item in items:
        source, equals, target = (part.strip() for part in item.rpartition("="))
        if not (equals and source and target):
            raise InputError(f"--map {item}: write THEIRS=OURS, such as accuracy=acc")
        if source in found:
            raise InputError(f"--map: '{source}' is mapped twice")
        found[source] = target
    return found


def read_mapping(path: Path, options: ImportOptions) -> ImportOptions:
    """The options of a YAML file; those in ``options`` go first. Keys: ``map`` and the names of the options."""
    content = read_yaml(path)
    kinds: dict[str, tuple[type, ...]] = {
        "map": (dict,), "wide": (bool,), "run": (str,), "steps_per_epoch": (int, float), "method": (str,),
        "seed": (int,), "phase": (str, int), "epoch": (int, float), "format": (str,),
    }  # fmt: skip
    if not isinstance(content, dict):
        raise InputError(f"{path}: write keys such as 'map' with THEIRS: OURS below it")
    for key, value in content.items():
        if key not in kinds:
            raise InputError(f"{path}: unknown key '{key}': {suggestion(str(key), kinds)}")
        if not isinstance(value, kinds[key]) or (isinstance(value, bool) and bool not in kinds[key]):
            raise InputError(f"{path}: {key} is '{value}'; see docs/timeline.md")
    columns = {str(theirs): str(ours) for theirs, ours in content.pop("map", {}).items()}
    if "phase" in content:
        content["phase"] = str(content["phase"])
    given = {
        one.name: value for one in fields(options) if (value := getattr(options, one.name)) not in (None, False, {})
    }
    return replace(ImportOptions(), **{**content, **given, "columns": {**columns, **options.columns}})
