"""The files of probes, ``probes/<probe>.json``: what each of them measured on the nets of every run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from einstellung.errors import InputError
from einstellung.hashes import read_sealed, write_sealed
from einstellung.results.probe_names import PROBES
from einstellung.results.run_files import RunFiles
from einstellung.timeline import Run

FORMAT: Literal[1] = 1
Interval = tuple[float, float] | None
Checkpoint = Literal["chosen", "last"]
#: What is compared: the net after T1 with that after T2, the net with the baseline's of the same seed, with the cue and without.
Change = Literal["T1", "baseline", "cue"]
ALL_OF_T2 = "T2_test"  # SC and NSC images together, of which the SC ones change


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class SimilarityReading(_Record):
    """CKA of one layer; ``ci95`` is over images."""

    change: Change
    split: str
    layer: str
    value: float | None
    ci95: Interval
    n: int


class ReliabilityBin(_Record):
    """One bin of a reliability diagram."""

    n: int
    confidence: float
    accuracy: float


class CalibrationReading(_Record):
    """Calibration on one split. ``shortcut_probability``: the mean probability of all shortcut classes together."""

    split: str
    n: int
    accuracy: float
    confidence: float
    ece_width: float
    ece_mass: float
    brier: float
    shortcut_probability: float | None
    bins: tuple[ReliabilityBin, ...]


class DormantLayer(_Record):
    """Dormant units of one layer, by tau."""

    layer: str
    units: int
    dormant: Mapping[str, float]


class PlasticityReading(_Record):
    """Plasticity of one net: freshly initialised, after T1, after T2. ``dormant``: over the units of all layers, by tau."""

    net: Literal["fresh", "T1", "T2"]
    dormant: Mapping[str, float]
    layers: tuple[DormantLayer, ...]
    effective_rank: float | None
    stable_rank: float | None
    weight_magnitude: float
    gradient_norm: float | None
    n: int


class FlipReading(_Record):
    """Flips of one change on one split."""

    change: Change
    split: str
    n: int
    negative: float
    positive: float


Reading = SimilarityReading | CalibrationReading | PlasticityReading | FlipReading
R = TypeVar("R", bound=Reading)


class ProbedRun(_Record, Generic[R]):
    """The readings of one run; ``key`` is that of its training."""

    method: str
    seed: int
    key: str
    readings: tuple[R, ...]


class NullPair(_Record, Generic[R]):
    """The baseline of one seed compared with the baseline of another: what two seeds alone do."""

    seeds: tuple[int, int]
    readings: tuple[R, ...]


class ProbeFile(_Record, Generic[R]):
    """Everything that a probe measured in a results folder. ``notes``: what could not be measured, and why."""

    format: Literal[1] = FORMAT
    probe: str
    checkpoint: Checkpoint
    baseline: str
    runs: tuple[ProbedRun[R], ...]
    null: tuple[NullPair[R], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def keys(self) -> dict[Run, str]:
        return {(run.method, run.seed): run.key for run in self.runs}

    def readings(self, run: Run) -> tuple[R, ...]:
        return next((one.readings for one in self.runs if (one.method, one.seed) == run), ())


_KINDS: Mapping[str, type[ProbeFile[Any]]] = {
    "cka": ProbeFile[SimilarityReading],
    "calibration": ProbeFile[CalibrationReading],
    "plasticity": ProbeFile[PlasticityReading],
    "flips": ProbeFile[FlipReading],
}


@dataclass(frozen=True)
class Probed:
    """What the probes of a folder measured; None for one that was not run."""

    cka: ProbeFile[SimilarityReading] | None = None
    calibration: ProbeFile[CalibrationReading] | None = None
    plasticity: ProbeFile[PlasticityReading] | None = None
    flips: ProbeFile[FlipReading] | None = None

    @property
    def names(self) -> list[str]:
        """The probes that were run."""
        return [name for name in PROBES if getattr(self, name) is not None]


def probe_path(folder: Path, probe: str) -> Path:
    return folder / "probes" / f"{probe}.json"


def write_probe(folder: Path, found: ProbeFile[Any]) -> Path:
    return write_sealed(probe_path(folder, found.probe), found.model_dump(mode="json"))


def read_probe(folder: Path, probe: str) -> ProbeFile[Any] | None:
    """The file of a probe; None where it was not run. An error says what is wrong with a file."""
    path = probe_path(folder, probe)
    if not path.exists():
        return None
    try:
        found = _KINDS[probe].model_validate(read_sealed(path))
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))
        raise InputError(f"{path} is not a file of the probe {probe}: {where}: {problem['msg']}; delete it") from None
    if found.probe != probe:
        raise InputError(f"{path} is a file of the probe {found.probe}; delete it")
    return found


def probed(files: RunFiles) -> tuple[Probed, list[str]]:
    """What was probed, and a sentence for every file that cannot be read; foreign logs have none."""
    folder = files.probe_folder or files.folder
    if folder is None:
        return Probed(), []
    found, problems = {}, []
    for probe in PROBES:
        try:
            found[probe] = file = read_probe(folder, probe)
        except InputError as error:
            problems.append(str(error))
            continue
        if file is not None and (changed := _changed(files, file)):
            found[probe] = None
            problems.append(f"probes/{probe}.json was measured on other nets of {changed}: run the probe again")
    return Probed(**found), problems


def _changed(files: RunFiles, file: ProbeFile[Any]) -> str | None:
    """A run that was trained again, with other settings, after it was probed."""
    for run, key in file.keys.items():
        if run in files.runs and files.key(run) not in (None, key):
            return f"{run[0]} seed {run[1]}"
    return None
