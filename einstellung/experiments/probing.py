"""Probe the stored nets of a study, seed by seed, each compared with its baseline, and write the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from einstellung.diagnoses.contract import Diagnosis
from einstellung.diagnoses.reporting import diagnosis_of
from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream
from einstellung.experiments.execution import proved_stream
from einstellung.experiments.plugins import load_plugins
from einstellung.experiments.stored_nets import NetLoader, StoredRun, stored_runs
from einstellung.probes.nets.calibration import calibration
from einstellung.probes.nets.flips import flips
from einstellung.probes.nets.plasticity import plasticity
from einstellung.probes.nets.representation import representation
from einstellung.probes.nets.subject import ProbedNet, Subject
from einstellung.results.config import StudyConfig
from einstellung.results.family import family_file, read_family
from einstellung.results.folder import ResultsFolder
from einstellung.results.merging import merge_timelines
from einstellung.results.probe_files import (
    Checkpoint,
    NullPair,
    ProbedRun,
    ProbeFile,
    Reading,
    read_probe,
    write_probe,
)
from einstellung.results.probe_names import PROBES
from einstellung.results.run_files import CHOSEN_NET
from einstellung.results.sweep import sweep_file
from einstellung.streams import Stream
from einstellung.training.devices import torch_threads

Log = Callable[[str], None]
Measure = Callable[[Subject], Iterable[Reading]]
_COMPARING = ("cka", "flips")  # probes that compare a net with the baseline's


def probe_folder(results: ResultsFolder, names: Sequence[str], out: Path, log: Log) -> dict[str, ProbeFile[Any]]:
    """Measure probes on a finished study and write them into ``out``; nothing is written unless all succeed."""
    config, diagnosis = _study(results, names)
    names = tuple(names) or diagnosis.probes
    digests = (results.read_optional(results.provenance_file) or {}).get("data")
    stream = proved_stream(config, digests) if digests else build_stream(config)
    return measure_probes(results.path, config, stream, diagnosis, names, out, log)


def require_study(results: ResultsFolder) -> None:
    """Refuse a folder that does not hold a single study; nothing is written."""
    folder = results.path
    if not folder.is_dir():
        raise InputError(f"no such folder: {folder}")
    if sweep_file(folder).exists() or family_file(folder).exists():
        names = sorted(one.parent.name for one in folder.glob("*/config.yaml"))
        names = read_family(folder) if family_file(folder).exists() else names
        one = f", for instance {folder / names[0]}" if names else ""
        raise InputError(f"{folder} has several studies: give the folder of one of them{one}")
    if not results.is_study:
        raise InputError(
            f"{folder} is not a results folder (no config.yaml): probes need stored nets, which log files do not have"
        )


def _study(results: ResultsFolder, names: Sequence[str]) -> tuple[StudyConfig, Diagnosis[Any, Any]]:
    """The configuration and diagnosis of a folder; refuse a diagnosis that does not use these probes."""
    config = results.config()
    load_plugins(config.plugins)
    timeline = merge_timelines(results)
    if timeline is None:
        raise InputError(f"{results.path} has no finished run yet")
    diagnosis = diagnosis_of(config, timeline.splits)
    require_probed(diagnosis, names or PROBES, str(results.path))
    return config, diagnosis


def require_probed(diagnosis: Diagnosis[Any, Any], names: Sequence[str], where: str) -> None:
    """Refuse probes that the diagnosis does not use."""
    if unread := [name for name in names if name not in diagnosis.probes]:
        raise InputError(f"{where} is a study of {diagnosis.topic}, which has no probe '{unread[0]}'")


def require_two_phases(stream: Stream, what: str, reason: str) -> None:
    """Refuse what is defined for two phases only."""
    if stream.phase_cues:
        raise InputError(f"{what} {reason}: they are not available for a stream with a list of phases; leave them out")


def measure_probes(
    root: Path,
    config: StudyConfig,
    stream: Stream,
    diagnosis: Diagnosis[Any, Any],
    names: Sequence[str],
    out: Path,
    log: Log = lambda _: None,
) -> dict[str, ProbeFile[Any]]:
    """Measure what has not been measured on these nets yet, then write it."""
    require_two_phases(stream, "probes", "compare the nets of T2 with those of T1")
    checkpoint: Checkpoint = "last" if config.score.get("final") == "last" else "chosen"
    runs = stored_runs(root, config, checkpoint)
    if not runs:
        raise InputError(f"{root} has no stored nets (runs/*/{CHOSEN_NET}) of finished runs, which probes need")
    baseline = config.score.get("baseline") or diagnosis.default_baseline or ""
    known = {name: _known(out, name, runs, checkpoint, baseline) for name in names}
    missing = [name for name in names if known[name] is None]
    found = _measure(config, stream, runs, missing, checkpoint, baseline, log) if missing else {}
    for one in found.values():
        write_probe(out, one)
    return {name: found.get(name) or _present(known[name]) for name in names}


def _present(file: ProbeFile[Any] | None) -> ProbeFile[Any]:
    assert file is not None
    return file


def _known(
    out: Path, name: str, runs: Sequence[StoredRun], checkpoint: Checkpoint, baseline: str
) -> ProbeFile[Any] | None:
    """The results of an earlier call on the same nets, if any."""
    try:
        file = read_probe(out, name)
    except InputError:
        return None  # measured again
    same = file is not None and file.keys == {(run.method, run.seed): run.key for run in runs}
    return file if file is not None and same and (file.checkpoint, file.baseline) == (checkpoint, baseline) else None


def _measure(
    config: StudyConfig,
    stream: Stream,
    runs: Sequence[StoredRun],
    names: Sequence[str],
    checkpoint: Checkpoint,
    baseline: str,
    log: Log,
) -> dict[str, ProbeFile[Any]]:
    measures: Mapping[str, Measure] = {
        "cka": representation,
        "calibration": calibration,
        "plasticity": lambda subject: plasticity(subject, config.training.batch_size),
        "flips": flips,
    }
    loader = NetLoader(config, stream, checkpoint)
    probed: dict[str, list[ProbedRun[Any]]] = {name: [] for name in names}
    null: dict[str, list[NullPair[Any]]] = {name: [] for name in names}
    previous: tuple[int, ProbedNet] | None = None
    with torch_threads(config.training.thread_count):
        for seed in dict.fromkeys(run.seed for run in runs):
            own = [run for run in runs if run.seed == seed]
            reference = next((loader.final(run) for run in own if run.method == baseline), None)
            fresh = loader.fresh(own[0])
            firsts: dict[Path | None, ProbedNet | None] = {}
            for run in own:
                log(f"probing {run.method} seed {run.seed}")
                if run.first_phase not in firsts:
                    firsts[run.first_phase] = loader.first(run)
                alone = run.method == baseline
                net = reference if alone and reference is not None else loader.final(run)
                subject = Subject(seed, net, firsts[run.first_phase], fresh, None if alone else reference)
                for name in names:
                    readings = tuple(measures[name](subject))
                    probed[name].append(ProbedRun(method=run.method, seed=seed, key=run.key, readings=readings))
            if previous is not None and reference is not None:
                pair = Subject(seed, reference, baseline=previous[1])
                for name in (name for name in names if name in _COMPARING):
                    readings = tuple(takewhile(_with_baseline, measures[name](pair)))
                    null[name].append(NullPair(seeds=(previous[0], seed), readings=readings))
            previous = (seed, reference) if reference is not None else None
    notes = tuple(_notes(runs, baseline))
    return {
        name: ProbeFile(
            probe=name,
            checkpoint=checkpoint,
            baseline=baseline,
            runs=tuple(probed[name]),
            null=tuple(null[name]),
            notes=notes,
        )
        for name in names
    }


def _with_baseline(reading: Reading) -> bool:
    """Whether a reading compares with the baseline; without a net after T1, these are the first."""
    return getattr(reading, "change", None) == "baseline"


def _notes(runs: Sequence[StoredRun], baseline: str) -> Iterable[str]:
    gone = [run for run in runs if run.first_phase and not (run.first_phase / "state.safetensors").exists()]
    if gone:
        labels = ", ".join(f"{run.method} seed {run.seed}" for run in gone)
        yield f"the net after T1 is not stored any more for {labels}: comparisons with it are left out"
    if len({run.seed for run in runs}) == 1:
        yield "one seed: no intervals over seeds, and no baseline of another seed to compare with"
    if all(run.method != baseline for run in runs):
        yield f"no net of the baseline '{baseline}': comparisons with it are left out"
