"""An experiment as in the guide: its folder is named by a hash of all settings that affect results; every decision is logged.

A finished run is neither retrained nor reused unless requested; an interrupted one is resumed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from einstellung.arguments import workers_from
from einstellung.backbones.weights import weights_digest
from einstellung.diagnoses.reporting import Reported, report_study
from einstellung.errors import InputError
from einstellung.experiments.assembly import resolve
from einstellung.experiments.launcher import Failure
from einstellung.experiments.machine import Workers
from einstellung.experiments.plan import Job, methods_of, plan
from einstellung.experiments.progress import Display, display_for
from einstellung.experiments.remeasure import remeasure
from einstellung.experiments.study import Prepared, prepare_study, run_study
from einstellung.experiments.workers import arrange
from einstellung.files import digest, write_text
from einstellung.guide.comprehensive import STUDIES
from einstellung.guide.files import COMPREHENSIVE, MARK
from einstellung.guide.settings import Log
from einstellung.learners.methods import options_as_data
from einstellung.registry import suggestion
from einstellung.results.config import StudyConfig
from einstellung.results.folder import ResultsFolder

Checkpoints = Literal["stop", "auto_checkpoint", "force_retrain", "skip_training"]
_NOT_SHAPING = ("name", "methods", "combinations", "seeds", "diagnosis", "score", "companions", "launcher", "logging")


@dataclass(frozen=True)
class Request:
    """What to run, below which root, and how to treat existing runs."""

    config: StudyConfig
    root: Path
    checkpoints: Checkpoints = "stop"
    workers: Workers | None = None
    command: str = "einstellung.guide"
    display: Callable[[Path, Sequence[Job]], Display] = lambda folder, jobs: display_for(jobs)

    def __post_init__(self) -> None:
        if self.checkpoints not in (known := get_args(Checkpoints)):
            raise InputError(
                f"unknown value '{self.checkpoints}' of checkpoints: {suggestion(str(self.checkpoints), known)}"
            )
        object.__setattr__(self, "workers", workers_from("workers", self.workers))
        companions = {"guide": {}, **self.config.companions}  # writing its files is the point
        object.__setattr__(self, "config", self.config.model_copy(update={"companions": companions}))


@dataclass(frozen=True)
class Performed:
    """The outcome; ``reported`` is None if no run has finished."""

    results: ResultsFolder
    failures: tuple[Failure, ...]
    reported: Reported | None

    @property
    def comprehensive(self) -> Path:
        return self.results.path.parent.parent / COMPREHENSIVE


def study_folder(config: StudyConfig, root: Path) -> Path:
    """``studies/<backbone>-<hash>``: the hash of everything that affects results, except methods and seeds."""
    shape = resolve(config).model_dump(mode="json")
    shape = {key: value for key, value in shape.items() if key not in _NOT_SHAPING}
    # 'auto' keeps the value it had when the folder was made, on whatever machine.
    given = config.training.model_dump(mode="json")
    shape["training"] |= {key: "auto" for key, value in given.items() if value == "auto"}
    shape["plugins"] = sorted(plugin["sha256"] for plugin in shape["plugins"])
    if weights := config.backbone.options.get("weights"):
        shape["backbone"]["weights"] = weights_digest(weights)
    # Of learners only changed options, so that the selection of methods does not matter.
    methods = methods_of(config)
    chosen = {name: methods.options(name, options) for name, options in config.learners.items()}
    shape["learners"] = {
        name: options_as_data(options) for name, options in chosen.items() if options != methods.options(name, {})
    }
    return root / STUDIES / f"{config.backbone.name}-{digest(shape)[:8]}"


def perform(request: Request, log: Log) -> Performed:
    """Train, resume, reuse or re-evaluate the requested runs, then write the report and the guide's files."""
    results = ResultsFolder(study_folder(request.config, request.root))
    with results.in_use():
        to_train = request.checkpoints != "skip_training"
        prepared = prepare_study(request.config, results.path, about_to_run=to_train)
        prepared.proof.require()
        jobs = plan(prepared.config, prepared.stream)
        runs = [job for job in jobs if job.kind == "run"]
        if request.checkpoints == "skip_training":
            return _without_training(request, results, prepared, runs, log)
        if request.checkpoints != "force_retrain":
            _say_what_is_there(request, results, jobs, log)
        if request.checkpoints == "force_retrain":
            _delete(results, jobs, log)
        given, first_phases = {"": request.config}, "first_phases"
        ready, arrangements = arrange(given, {"": prepared}, results.path, first_phases, request.workers, log)
        outcome = run_study(
            ready[""],
            results.path,
            arrangements[""].workers,
            request.command,
            make_display=lambda todo: request.display(results.path, todo),
        )
        if outcome.timeline is None:
            return Performed(results, outcome.failures, None)
        reported = _report(results)
    return Performed(results, outcome.failures, reported)


def _report(results: ResultsFolder) -> Reported:
    """Write the report, and the guide's files in the root; the marker file identifies a root of the guide's command."""
    write_text(results.path.parent.parent / MARK, "")
    return report_study(results)


def _without_training(
    request: Request, results: ResultsFolder, prepared: Prepared, runs: Sequence[Job], log: Log
) -> Performed:
    missing = [job.label for job in runs if not results.finished(job.folder, job.key)]
    if missing:
        raise InputError(
            f"--skip_training: no finished run of {', '.join(missing)} with these settings below {request.root}; "
            "train first, without that flag"
        )
    for job in runs:
        log(remeasure(prepared, results.path, job).describe())
    results.write_config(prepared.recorded)  # scoring settings may have changed
    reported = _report(results)
    return Performed(results, (), reported)


def _say_what_is_there(request: Request, results: ResultsFolder, jobs: Sequence[Job], log: Log) -> None:
    done = {job.folder for job in jobs if results.finished(job.folder, job.key)}
    runs = [job for job in jobs if job.kind == "run"]
    finished = [job for job in runs if job.folder in done]
    if finished and request.checkpoints == "stop":
        are, them = ("is", "it") if len(finished) == 1 else ("are", "them")
        raise InputError(
            f"{', '.join(job.label for job in finished)} {are} already finished in {results.path}: --auto_checkpoint "
            f"reuses {them}, --force_retrain retrains {them}, --skip_training re-evaluates {them}"
        )
    for job in finished:
        log(f"{job.label}: already finished, reused ({results.path / job.folder})")
    to_do = [job for job in runs if job.folder not in done]
    needed = {job.needs for job in to_do}
    for job in (job for job in jobs if job.folder in needed or job in to_do):
        if job.folder in done:
            log(f"{job.label}: already trained, reused ({results.path / job.folder})")
        elif (results.path / job.folder / "checkpoint.safetensors").exists():
            log(f"{job.label}: resumed")


def _delete(results: ResultsFolder, jobs: Sequence[Job], log: Log) -> None:
    for job in jobs:
        if (folder := results.path / job.folder).exists():
            shutil.rmtree(folder)
            log(f"{job.label}: deleted for retraining")
