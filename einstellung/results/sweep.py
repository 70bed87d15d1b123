"""A sweep: a study for every value of one setting, or for every pair of values of two; equal first phases are shared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from einstellung.errors import InputError
from einstellung.files import write_text
from einstellung.results.config import StudyConfig, build_config, with_value
from einstellung.results.folder import ResultsFolder, member_folder, other_files
from einstellung.yaml_text import parse_yaml, read_yaml

_LONGEST_NAME = 100  # two of them are the name of a folder
_SWEPT_SECTIONS = ("cue", "cover", "stream", "backbone", "training", "learners")
FIRST_PHASES, SHARED_FIRST_PHASES = "first_phases", "../first_phases"


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
        values = parse_yaml(f"[{listed}]", f"--sweep {key}")
        names = [folder_name(key, value) for value in values]
        if len(values) < 2 or len(set(names)) < len(names):
            raise InputError(f"--sweep {text}: give at least two different values, separated by commas")
        return Sweep(key, tuple(values))

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.key,)

    @property
    def label(self) -> str:
        return self.key

    @property
    def points(self) -> dict[str, tuple[Any, ...]]:
        """The value of each key, by the name of the study's folder."""
        return {folder_name(self.key, value): (value,) for value in self.values}

    def studies(self, values: Mapping[str, Any], where: str) -> dict[str, StudyConfig]:
        """A configuration for every value, by the name of its folder; all are checked before the first runs."""
        return _studies(self.keys, self.points, values, where)


@dataclass(frozen=True)
class Grid:
    """Two sweeps at once: a study for every pair of their values."""

    first: Sweep
    second: Sweep

    def __post_init__(self) -> None:
        if self.first.key == self.second.key:
            raise InputError(
                f"--sweep names {self.first.key} twice: give two different settings, or all values in one option"
            )

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.first.key, self.second.key)

    @property
    def label(self) -> str:
        return ",".join(self.keys)

    @property
    def points(self) -> dict[str, tuple[Any, ...]]:
        """The values of both keys, by the name of the study's folder.

        >>> list(Grid(Sweep("cue.size", (2, 4)), Sweep("cue.share", (0.5, 1.0))).points)[:2]
        ['cue.size=2,cue.share=0.5', 'cue.size=2,cue.share=1.0']
        """
        return {
            f"{folder_name(self.first.key, one)},{folder_name(self.second.key, other)}": (one, other)
            for one in self.first.values
            for other in self.second.values
        }

    def studies(self, values: Mapping[str, Any], where: str) -> dict[str, StudyConfig]:
        """A configuration for every pair of values, by the name of its folder; all are checked before the first runs."""
        return _studies(self.keys, self.points, values, where)


def parse_sweeps(texts: Sequence[str]) -> Sweep | Grid | None:
    """The sweep given by one or two ``--sweep`` options; None without any.

    >>> parse_sweeps(["cue.size=2,4", "cue.share=0.5,1"]).keys
    ('cue.size', 'cue.share')
    """
    if len(texts) > 2:
        raise InputError(f"--sweep is given {len(texts)} times: a sweep varies one or two settings")
    sweeps = [Sweep.parse(text) for text in texts]
    if len(sweeps) == 2:
        return Grid(*sweeps)
    return sweeps[0] if sweeps else None


def _studies(
    keys: Sequence[str], points: Mapping[str, tuple[Any, ...]], values: Mapping[str, Any], where: str
) -> dict[str, StudyConfig]:
    studies = {}
    for name, point in points.items():
        changed = dict(values)
        for key, value in zip(keys, point, strict=True):
            changed = with_value(changed, key, value)
        studies[name] = build_config(changed, where)
    return studies


def folder_name(key: str, value: Any) -> str:
    """A plain name for the folder of one value.

    >>> folder_name("cue.size", 4), folder_name("cue.colour", [255, 0, 255])
    ('cue.size=4', 'cue.colour=255-0-255')
    """
    text = re.sub(r"[^\w.+-]+", "-", str(value)).strip("-")
    if len(key) + len(text) > _LONGEST_NAME:
        raise InputError(f"{key}={text}: a value of a sweep names a folder, and this one is too long for that")
    return f"{key}={text}"


def with_choices_of_existing(root: Path, studies: Mapping[str, StudyConfig]) -> dict[str, StudyConfig]:
    """``auto`` in a study that is added to a sweep replaced by what it meant for the studies that exist."""
    existing = next((ResultsFolder(root / name) for name in studies if ResultsFolder(root / name).is_study), None)
    if existing is None:
        return dict(studies)
    existing.check_usable()
    return {
        name: config if ResultsFolder(root / name).is_study else existing.with_recorded_choices(config)
        for name, config in studies.items()
    }


def sweep_file(root: Path) -> Path:
    return root / "sweep.yaml"


def check_root(root: Path, sweep: Sweep | Grid) -> None:
    """Refuse a folder with other content: a study, another sweep, other files."""
    if root.exists() and not root.is_dir():
        raise InputError(f"{root} is a file; choose a folder for --out")
    if sweep_file(root).exists():
        old = read_sweep(root)
        if old.keys != sweep.keys:
            raise InputError(f"{root} has a sweep over {old.label}, not {sweep.label}; choose another --out")
    elif others := other_files(root):
        raise InputError(f"{root} contains other files ({others[0]}, ...); choose a new or empty folder for --out")


def write_sweep(root: Path, sweep: Sweep | Grid) -> None:
    """Record the values of the sweep in its root; values of an earlier sweep over the same keys stay."""
    old = read_sweep(root) if sweep_file(root).exists() else None
    axes = [
        {"key": new.key, "values": [*new.values, *(value for value in before.values if value not in new.values)]}
        for new, before in zip(_axes(sweep), _axes(old or sweep), strict=True)
    ]
    stored = axes[0] if len(axes) == 1 else {"sweeps": axes}
    write_text(sweep_file(root), yaml.safe_dump(stored, sort_keys=False))


def _axes(sweep: Sweep | Grid) -> tuple[Sweep, ...]:
    return (sweep.first, sweep.second) if isinstance(sweep, Grid) else (sweep,)


def read_sweep(root: Path) -> Sweep | Grid:
    try:
        stored = read_yaml(sweep_file(root))
        axes = [Sweep(str(one["key"]), tuple(one["values"])) for one in stored.get("sweeps", [stored])]
        sweep = Grid(*axes) if len(axes) == 2 else axes[0]
    except (LookupError, TypeError, AttributeError) as error:
        raise InputError(f"cannot read {sweep_file(root)}: {error}") from None
    for key in sweep.keys:
        if key.split(".")[0] not in _SWEPT_SECTIONS:
            raise InputError(f"{sweep_file(root)} names '{key}', which is no setting that a sweep can vary")
    for name in sweep.points:
        member_folder(root, name)
    return sweep
