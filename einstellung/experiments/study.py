"""A whole study: prove the stream, plan the jobs, run what is missing, merge the timelines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from einstellung.experiments.launchers import launchers
from einstellung.experiments.plan import Job, plan
from einstellung.experiments.probing import measure_probes, require_probed
from einstellung.experiments.processes import preload_kernels
from einstellung.experiments.progress import Display, display_for
from einstellung.experiments.progress_file import ProgressFile
from einstellung.experiments.rehearsal import rehearse
from einstellung.experiments.run_log import require_tensorboard
from einstellung.experiments.samples import stream_samples
from einstellung.files import write_bytes, write_json, write_text
from einstellung.registry import suggestion
from einstellung.results.config import StudyConfig
from einstellung.results.folder import ResultsFolder
from einstellung.results.provenance import now, provenance
from einstellung.streams import Proof, Stream, prove
from einstellung.timeline import Timeline
from einstellung.training.acceleration import compile_kernels
from einstellung.training.checkpoint import check_whole


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

    ``config`` has the methods and seeds to run now; ``recorded`` also those that the folder already holds. ``warnings`` is
    about what the study will not be able to say.
    """

    config: StudyConfig
    recorded: StudyConfig
    stream: Stream
    proof: Proof
    diagnosis: Diagnosis[Any, Any]
    warnings: tuple[str, ...] = ()


def prepare_study(config: StudyConfig, out: Path | None = None, about_to_run: bool = False) -> Prepared:
    """Check names, options, the results folder (where there is one) and the stream's proof, without writing anything.

    With ``about_to_run``, kernels are compiled if this machine never did, and the launcher warms up while the stream is proved.
    """
    folder = ResultsFolder(out) if out is not None else None
    if folder is not None:
        folder.check_usable()
        config = folder.with_recorded_choices(config)
    config = resolve(config)
    stream = build_stream(config)
    config, diagnosis = with_diagnosis(config, stream)
    require_probed(diagnosis, config.probes, "this")
    launcher = launchers[config.launcher]()
    recorded = config if folder is None else folder.adopt(config)
    baseline = recorded.score["baseline"]
    if baseline is not None and baseline.lower() not in [method.lower() for method in recorded.methods]:
        raise InputError(
            f"score.baseline '{baseline}' is not among the methods: {suggestion(baseline, recorded.methods)}"
        )
    if "tensorboard" in config.logging:
        require_tensorboard()
    check_backbone(config, stream)
    check_groups(config, stream)
    rehearse(config, stream)
    names = [split.name for split in stream.splits]
    validation = f"{stream.phases[-1].name}_val"
    if config.evaluation.subsets == "end" and validation not in names:
        raise InputError(f"evaluation.subsets is 'end', but the stream '{stream.name}' has no {validation} to go by")
    if about_to_run:
        ready_kernels(config)
        launcher.warm_up()
    settings = diagnosis.Settings.model_validate(config.score)
    missing = diagnosis.missing_baseline(settings, recorded.methods, len(stream.phases))
    return Prepared(config, recorded, stream, prove(stream), diagnosis, (missing,) if missing else ())


def with_diagnosis(config: StudyConfig, stream: Stream) -> tuple[StudyConfig, Diagnosis[Any, Any]]:
    """The configuration with its diagnosis named and every setting of it; a wrong one is refused before hours of training."""
    diagnosis = get_diagnosis(config.diagnosis or stream.diagnosis)
    _require_splits(diagnosis, stream, "diagnosis")
    settings = parse_settings(diagnosis.Settings, config.score, diagnosis.name)
    companions = {}
    for name, given in config.companions.items():
        other = get_diagnosis(name)
        if name == diagnosis.name:
            raise InputError(f"companions names '{name}', which is the study's own diagnosis: leave it out")
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
    """Compile kernels of our own where a study uses them and this machine never did; every worker would begin with it."""
    if config.training.kernels == "own":
        preload_kernels()
        compile_kernels()


def jobs_to_do(prepared: Prepared, folder: ResultsFolder, first_phases: str) -> tuple[list[Job], list[Job]]:
    """All jobs of a study, and those that are not finished."""
    jobs = plan(prepared.config, prepared.stream, first_phases)
    missing = [job for job in jobs if not folder.finished(job.folder, job.key)]
    needed = {job.needs for job in missing if job.kind == "run"}
    return jobs, [job for job in missing if job.kind == "run" or job.folder in needed]


def run_study(
    prepared: Prepared,
    out: Path,
    workers: int,
    command: str,
    first_phases: str = "first_phases",
    make_display: Callable[[Sequence[Job]], Display] = display_for,
) -> Outcome:
    """Run the jobs that are not finished. The caller holds the folder (see :meth:`ResultsFolder.in_use`)."""
    folder = ResultsFolder(out)
    config, stream, proof = prepared.config, prepared.stream, prepared.proof
    proof.require()
    jobs, todo = jobs_to_do(prepared, folder, first_phases)
    for job in todo:
        if (checkpoint := folder.path / job.folder / "checkpoint.safetensors").exists():
            check_whole(checkpoint)

    digests = data_digests(stream)
    record = provenance(command, digests)
    earlier = folder.read_optional(folder.provenance_file)
    folder.write_config(prepared.recorded)
    write_json(folder.proof_file, proof.to_dict())
    if not folder.samples_file.exists() and (samples := stream_samples(stream)):
        write_bytes(folder.samples_file, samples)
    if stream.shared_sources:
        write_text(folder.sources_file, pd.DataFrame(stream.shared_sources).to_csv(index=False, lineterminator="\n"))
    failures: Sequence[Failure] = ()
    if todo:
        record["earlier"] = [*(earlier or {}).pop("earlier", []), *([earlier] if earlier else [])]
        write_json(folder.provenance_file, record)
        with ProgressFile(folder.path, todo, make_display(todo)) as display:
            study = StudyRun(config, folder.path, digests, workers, display)
            failures = launchers[config.launcher]().run(todo, study)
        for failure in failures:
            folder.note_failure(failure.job.folder, failure.reason, failure.trace)
        write_json(folder.provenance_file, {**record, "finished": now()})
    timeline = folder.merge_timelines()
    if config.probes and timeline is not None:
        measure_probes(folder.path, prepared.recorded, stream, prepared.diagnosis, config.probes, folder.path)
    runs = [job for job in jobs if job.kind == "run"]
    ran = sum(job.kind == "run" for job in todo)
    return Outcome(folder, prepared.recorded, timeline, tuple(failures), ran, len(runs) - ran)
