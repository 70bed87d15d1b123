"""A sweep: a study for every value of one setting; equal first phases are shared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from einstellung.errors import InputError
from einstellung.files import write_text
from einstellung.results.config import StudyConfig, build_config, with_value
from einstellung.results.folder import ResultsFolder

_SWEPT_SECTIONS = ("cue", "cover", "stream", "backbone", "training", "learners")
SHARED_FIRST_PHASES = "../first_phases"


@dataclass(frozen=True)
class Sweep:
    """A dotted key of the configuration and the values it takes, one study each."""

    key: str
    values: tuple[Any, ...]

    @staticmethod
    def parse(text: str) -> Sweep:
        """``key=value,value,...``, values in YAML.

        >>> Sweep.parse("cue.size=2,4,6")
        Sweep(key='cue.size', values=(2, 4, 6))
        >>> Sweep.parse("cue.place=top-left,[14, 14]")
        Sweep(key='cue.place', values=('top-left', [14, 14]))
        """
        key, sign, listed = (part.strip() for part in text.partition("="))
        if not sign or key.split(".")[0] not in _SWEPT_SECTIONS:
            raise InputError(
                f"--sweep {text}: write it as key=value,value,... with a setting of {', '.join(_SWEPT_SECTIONS[:-1])} or "
                f"{_SWEPT_SECTIONS[-1]}, for instance --sweep cue.size=2,4,6,8"
            )
        try:
            values = yaml.safe_load(f"[{listed}]")
        except (yaml.YAMLError, ValueError):
            raise InputError(f"--sweep {text}: the values are not valid YAML") from None
        names = [folder_name(key, value) for value in values]
        if len(values) < 2 or len(set(names)) < len(names):
            raise InputError(f"--sweep {text}: give at least two different values, separated by commas")
        return Sweep(key, tuple(values))

    def studies(self, values: Mapping[str, Any], where: str) -> dict[str, StudyConfig]:
        """A configuration for every value, by the name of its folder; all are checked before the first runs."""
        return {
            folder_name(self.key, value): build_config(with_value(values, self.key, value), where)
            for value in self.values
        }


def folder_name(key: str, value: Any) -> str:
    """A plain name for the folder of one value.

    >>> folder_name("cue.size", 4), folder_name("cue.colour", [255, 0, 255])
    ('cue.size=4', 'cue.colour=255-0-255')
    """
    text = re.sub(r"[^\w.+-]+", "-", str(value)).strip("-")
    return f"{key}={text}"


def with_choices_of_existing(root: Path, studies: Mapping[str, StudyConfig]) -> dict[str, StudyConfig]:
    """``auto`` in a study that is added to a sweep replaced by what it meant for the studies that exist."""
    existing = next(
        (ResultsFolder(root / name) for name in studies if ResultsFolder(root / name).config_file.exists()), None
    )
    if existing is None:
        return dict(studies)
    existing.check_usable()
    return {
        name: config if ResultsFolder(root / name).config_file.exists() else existing.with_recorded_choices(config)
        for name, config in studies.items()
    }


def sweep_file(root: Path) -> Path:
    return root / "sweep.yaml"


def check_root(root: Path, sweep: Sweep) -> None:
    """Refuse a folder that holds something else: a study, another sweep, other files."""
    if root.exists() and not root.is_dir():
        raise InputError(f"{root} is a file; choose a folder for --out")
    if sweep_file(root).exists():
        old = read_sweep(root)
        if old.key != sweep.key:
            raise InputError(f"{root} holds a sweep over {old.key}, not {sweep.key}; choose another --out")
    elif root.is_dir() and (strangers := [entry.name for entry in root.iterdir() if entry.name != ".lock"]):
        raise InputError(f"{root} holds other files ({strangers[0]}, ...); choose a new or empty folder for --out")


def write_sweep(root: Path, sweep: Sweep) -> None:
    """Record the values of the sweep in its root; values of an earlier sweep over the same key stay."""
    values = list(sweep.values)
    if sweep_file(root).exists():
        values += [value for value in read_sweep(root).values if value not in values]
    write_text(sweep_file(root), yaml.safe_dump({"key": sweep.key, "values": values}, sort_keys=False))


def read_sweep(root: Path) -> Sweep:
    try:
        stored = yaml.safe_load(sweep_file(root).read_text(encoding="utf-8"))
        return Sweep(str(stored["key"]), tuple(stored["values"]))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError) as error:
        raise InputError(f"cannot read {sweep_file(root)}: {error}") from None
