"""Probes that need no net: the cue at another place, and the study at other strengths of the cue (a sweep)."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from einstellung.diagnoses.rigidity.card import RigidityCard, RigidityMethod, SeedRecord
from einstellung.diagnoses.rigidity.contrasts import Side, side_of
from einstellung.errors import InputError
from einstellung.files import read_json
from einstellung.metrics.arithmetic import difference
from einstellung.metrics.statistics import Summary, summarise
from einstellung.results.sweep import read_sweep, sweep_file

SALIENCE = ("cue.opacity", "cue.size", "cue.share", "cue.place")  # settings that make a cue more or less conspicuous
SIZES = (3, 5, 8, 12)  # numbers of seeds whose error rates are measured


def placement(card: RigidityCard, method: str) -> Summary | None:
    """What the cue is worth at another place (SC_elsewhere - SC_mask), the method's minus the baseline's of the same seed.

    None where no split shows the cue elsewhere.
    """
    own, reference = (card.methods[name].per_seed for name in (method, card.baseline))
    pairs = [(_worth(record), _worth(reference.get(seed))) for seed, record in own.items()]
    found = summarise([difference(one, other) for one, other in pairs])
    return None if found.mean is None else found


def _worth(record: SeedRecord | None) -> float | None:
    return None if record is None else difference(record.SC_elsewhere, record.SC_mask)


@dataclass(frozen=True)
class Swept:
    """SFR_rel of a method in the other finished studies of a sweep over the cue's salience, by the value of its setting."""

    key: str
    found: Mapping[str, Summary]

    @property
    def sides(self) -> list[Side]:
        return [side_of(one) for one in self.found.values()]

    def words(self) -> str:
        shown = ", ".join(f"{value}: {_estimate(one)}" for value, one in self.found.items())
        return f"SFR_rel at other values of {self.key}: {shown}"


def _estimate(summary: Summary) -> str:
    if summary.mean is None:
        return "undefined"
    if summary.ci95 is None:
        return f"{summary.mean:+.3f} (n = {summary.n})"
    return f"{summary.mean:+.3f} (95 % {summary.ci95[0]:+.3f} to {summary.ci95[1]:+.3f})"


def swept(folder: Path, method: str) -> Swept | None:
    """The sweep that a results folder is part of, read from the scores of its other studies; None where it is part of none."""
    root = folder.resolve().parent
    if not sweep_file(root).exists():
        return None
    try:
        sweep = read_sweep(root)
    except InputError:
        return None
    if not any(key in SALIENCE for key in sweep.keys) or folder.resolve().name not in sweep.points:
        return None
    found = {}
    for name, values in sweep.points.items():
        if name != folder.resolve().name and (summary := _sfr_rel(root / name / "score.json", method)) is not None:
            found[", ".join(map(str, values))] = summary
    return Swept(sweep.label, found) if found else None


def _sfr_rel(file: Path, method: str) -> Summary | None:
    """SFR_rel of a method in a stored card; None where it is missing or damaged."""
    if not file.exists():
        return None
    try:
        own = read_json(file)["methods"][method]
        return RigidityMethod.model_validate(own).SFR_rel
    except (InputError, ValidationError, LookupError, TypeError):
        return None


def salience_command(folder: Path, cue: Mapping[str, Any] | None) -> str | None:
    """The command that sweeps the cue's opacity, or its size where it has none; None where no cue is planted."""
    for key, values in _weaker(cue or {}):
        return _run(folder, "--sweep", f"cue.{key}={','.join(values)}", out=f"{folder}-{key}")
    return None


def _weaker(cue: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Settings of a cue with values below and above the study's own."""
    found = []
    if isinstance(opacity := cue.get("opacity"), int | float) and opacity > 0:
        found.append(("opacity", [f"{share * opacity:g}" for share in (0.25, 0.5, 1)]))
    if isinstance(size := cue.get("size"), int) and size > 1:
        found.append(("size", [str(size // 2), str(size), str(2 * size)]))
    return found


def seeds_command(folder: Path, seeds: Sequence[int]) -> str:
    """The command that adds seeds up to the next number whose error rate is measured, or as many again.

    >>> seeds_command(Path("mine"), [42, 123, 456])
    'einstellung run mine/config.yaml --seeds 42,123,456,1,2 --out mine'
    """
    wanted = next((size for size in SIZES if size > len(seeds)), 2 * len(seeds))
    fresh = (seed for seed in range(1, wanted + max(seeds, default=0) + 1) if seed not in seeds)
    every = [*seeds, *(next(fresh) for _ in range(wanted - len(seeds)))]
    return _run(folder, "--seeds", ",".join(map(str, every)), out=str(folder))


def _run(folder: Path, *options: str, out: str) -> str:
    return shlex.join(["einstellung", "run", str(folder / "config.yaml"), *options, "--out", out])


def is_study(folder: Path | None) -> bool:
    """Whether a folder can be run again."""
    return folder is not None and (folder / "config.yaml").is_file()


def is_undecided(record: RigidityMethod, card: RigidityCard) -> bool:
    """Whether more seeds may decide: a facet has no interval, or one that contains a bound that patterns compare it with."""
    for name in ("AD", "PD", "SFR_rel"):
        facet: Any = getattr(record, name)
        margin = float(getattr(card.margins, name))
        if facet is None or facet.ci95 is None or any(facet.ci95[0] < end < facet.ci95[1] for end in (-margin, margin)):
            return True
    return False
