"""A whole study: prove the stream, plan the jobs, run what is missing, merge the timelines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from einstellung.diagnoses.contract import Diagnosis
from einstellung.diagnoses.registry import applies, get_diagnosis
from einstellung.diagnoses.settings import parse_settings
from einstellung.errors import InputError
from einstellung.experiments.assembly import (
    build_stream,
    check_backbone,
    check_groups,
    data_digests,
    resolve,
)
from einstellung.experiments.launcher import Failure, StudyRun
from einstellung.experiments.launchers import make_launcher
from einstellung.experiments.plan import Job, plan
from einstellung.experiments.probing import measure_probes, require_probed, require_two_phases
from einstellung.experiments.processes import preload_kernels
from einstellung.experiments.progress import Display, display_for
from einstellung.experiments.progress_file import ProgressFile
from einstellung.experiments.rehearsal import rehearse
from einstellung.experiments.run_log import require_log_targets
from einstellung.experiments.samples import stream_samples
from einstellung.files import to_json
from einstellung.hashes import write_sealed
from einstellung.registry import suggestion
from einstellung.results.config import StudyConfig
from einstellung.results.examination import damaged_lines
from einstellung.results.folder import ResultsFolder
from einstellung.results.merging import merge_timelines
from einstellung.results.provenance import now, provenance
from einstellung.sources.stand_ins import stand_ins
from einstellung.streams import Proof, Stream, prove
from einstellung.timeline import Timeline
from einstellung.training.acceleration import compile_kernels
from einstellung.visible import visible


@dataclass(frozen=True)
class Outcome:
    """The result of a study: its folder, its timeline, and the runs that failed."""

    folder: ResultsFolder
    config: StudyConfig
    timeline: Timeline | None
    failures: tuple[Failure, ...]
    ran: int
    reused: int


@dataclass(frozen=True)
class Prepared:
    """A study that is ready to run: everything is checked, nothing is written.

    ``config`` has the methods and seeds to run now; ``recorded`` also those that the folder already holds. ``warnings`` says
    what the study will not be able to show. ``assumed``: what a plan assumes about data that are missing; its stream then holds
    synthetic inputs, about which there is nothing to prove.
    """

    config: StudyConfig
    recorded: StudyConfig
    stream: Stream
    proof: Proof
    diagnosis: Diagnosis[Any, Any]
    warnings: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


def prepare_study(
    config: StudyConfig, out: Path | None = None, about_to_run: bool = False, planning: bool = False
) -> Prepared:
    """Check names, options, the results folder (where there is one) and the stream's proof, without writing anything.

    With ``about_to_run``, kernels are compiled if this machine never did, and the launcher warms up while the stream is proved.
    With ``planning``, missing data are replaced by synthetic inputs, unless the folder already holds runs on the real ones.
    """
    folder = ResultsFolder(out) if out is not None else None
    if folder is not None:
        folder.check_usable()
        config = folder.with_recorded_choices(config)
    config = resolve(config)
    begun = folder is not None and folder.is_study
    with stand_ins() if planning and not begun else nullcontext(list[str]()) as assumed:
        stream = build_stream(config)
    config, diagnosis = with_diagnosis(config, stream)
    require_probed(diagnosis, config.probes, "this")
    if config.probes:
        require_two_phases(stream, "probes", "compare the nets of T2 with those of T1")
    launcher = make_launcher(config.launcher)
    launcher.check(config)
    recorded = config if folder is None else folder.adopt(config)
    baseline = recorded.score["baseline"]
    if baseline is not None and baseline.lower() not in [method.lower() for method in recorded.methods]:
        raise InputError(
            f"score.baseline '{baseline}' is not among the methods: {suggestion(baseline, recorded.methods)}"
        )
    require_log_targets(config.logging)
    check_backbone(config, stream)
    check_groups(config, stream)
    rehearse(config, stream)
    names = [split.name for split in stream.splits]
    validation = f"{stream.phases[-1].name}_val"
    if config.evaluation.subsets == "end" and validation not in names:
        raise InputError(
            f"evaluation.subsets is 'end', but the stream '{stream.name}' has no {validation} to select an epoch by"
        )
    if about_to_run:
        ready_kernels(config)
        if folder is None or not _all_ended(config, stream, folder):
            launcher.warm_up(config)
    settings = diagnosis.Settings.model_validate(config.score)
    missing = diagnosis.missing_baseline(settings, recorded.methods, len(stream.phases))
    proof = Proof(stream.name, {}, ()) if assumed else prove(stream)
    return Prepared(config, recorded, stream, proof, diagnosis, (missing,) if missing else (), tuple(assumed))


def with_diagnosis(config: StudyConfig, stream: Stream) -> tuple[StudyConfig, Diagnosis[Any, Any]]:
    """The configuration with its diagnosis named and every setting of it; a wrong one is refused before training."""
    diagnosis = get_diagnosis(config.diagnosis or stream.diagnosis)
    _require_splits(diagnosis, stream, "diagnosis")
    settings = parse_settings(diagnosis.Settings, config.score, diagnosis.name)
    companions = {}
    for name, given in config.companions.items():
        other = get_diagnosis(name)
        if name == diagnosis.name:
            raise InputError(f"companions names '{name}', the study's own diagnosis: leave it out")
        _require_splits(other, stream, "companions")
        own = parse_settings(other.Settings, given, name, f"companions.{name}.{{}}".format)
        companions[name] = own.model_dump(mode="json")
    update = {"diagnosis": diagnosis.name, "score": settings.model_dump(mode="json"), "companions": companions}
    return config.model_copy(update=update), diagnosis


def _require_splits(diagnosis: Diagnosis[Any, Any], stream: Stream, key: str) -> None:
    names = [split.name for split in stream.splits]
    if not applies(diagnosis, names) or (diagnosis.needs_own_splits and not diagnosis.recognises(names)):
        raise InputError(
            f"{key} names '{diagnosis.name}', but the stream '{stream.name}' has no splits of {diagnosis.topic}: leave it out, "
            "or choose another stream"
        )


def ready_kernels(config: StudyConfig) -> None:
    """Compile our kernels if the study uses them and they are not compiled yet; otherwise every worker would do it."""
    if config.training.kernels == "own":
        preload_kernels()
        compile_kernels()


def _all_ended(config: StudyConfig, stream: Stream, folder: ResultsFolder) -> bool:
    """Whether every run left a status: then there is, most likely, nothing to start a launcher for."""
    runs = [job for job in plan(config, stream) if job.kind == "run"]
    return all((folder.path / job.folder / "status.json").exists() for job in runs)


def jobs_to_do(
    prepared: Prepared, folder: ResultsFolder, first_phases: str, log: Callable[[str], None] = lambda line: None
) -> tuple[list[Job], list[Job]]:
    """All jobs of a study, and those that are not finished. ``log`` is told of damaged files, whose jobs are to run again."""
    jobs = plan(prepared.config, prepared.stream, first_phases)
    missing = [job for job in jobs if not folder.finished(job.folder, job.key, log)]
    needed = {job.needs for job in missing if job.kind == "run"}
    return jobs, [job for job in missing if job.kind == "run" or job.folder in needed]


def _log(line: str) -> None:
    print(visible(line), file=sys.stderr, flush=True)


def run_study(
    prepared: Prepared,
    out: Path,
    workers: int,
    command: str,
    first_phases: str = "first_phases",
    make_display: Callable[[Sequence[Job]], Display] | None = None,
    closing: float = 0.0,
) -> Outcome:
    """Run the jobs that are not finished. The caller holds the folder (see :meth:`ResultsFolder.in_use`).

    ``closing``: how many seconds the caller needs afterwards, for the report; part of the time left that is shown.
    """
    folder = ResultsFolder(out)
    config, stream, proof = prepared.config, prepared.stream, prepared.proof
    proof.require()
    folder.check_usable()
    recorded = folder.adopt(config)  # again, now that nobody else can write here
    for line in damaged_lines(folder):
        _log(f"einstellung: {line}")
    jobs, todo = jobs_to_do(prepared, folder, first_phases, lambda line: _log(f"einstellung: {line}"))
    to_do = {job.folder for job in todo}
    for job in jobs:
        folder.tidy(job.folder, finished=job.folder not in to_do)
    digests = data_digests(stream)
    record = provenance(command, digests)
    earlier = folder.read_if_whole(folder.provenance_file)
    folder.write_config(recorded, **_study_files(stream, proof))
    failures: Sequence[Failure] = ()
    if todo:
        record["earlier"] = [*(earlier or {}).pop("earlier", []), *([earlier] if earlier else [])]
        write_sealed(folder.provenance_file, record)
        shown = display_for(todo, closing) if make_display is None else make_display(todo)
        with ProgressFile(folder.path, todo, shown, closing) as display:
            study = StudyRun(config, folder.path, digests, workers, display, stream)
            failures = make_launcher(config.launcher).run(todo, study)
        for failure in failures:
            folder.note_failure(failure.job.folder, failure.reason)
        write_sealed(folder.provenance_file, {**record, "finished": now()})
    timeline = merge_timelines(folder)
    if config.probes and timeline is not None:
        measure_probes(folder.path, recorded, stream, prepared.diagnosis, config.probes, folder.path, _log)
    runs = [job for job in jobs if job.kind == "run"]
    ran = sum(job.kind == "run" for job in todo)
    return Outcome(folder, recorded, timeline, tuple(failures), ran, len(runs) - ran)


def _study_files(stream: Stream, proof: Proof) -> dict[str, bytes]:
    """The files of a study that its report reads, by the name of their property in :class:`ResultsFolder`."""
    files = {"proof": f"{to_json(proof.to_dict())}\n".encode(), "samples": stream_samples(stream)}
    if stream.shared_sources:
        table = pd.DataFrame(stream.shared_sources).to_csv(index=False, lineterminator="\n")
        files["sources"] = table.encode()
    return {name: content for name, content in files.items() if content}
