"""A dry run: the runs of a study, the first phases they share, what is finished, and how long the rest takes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from einstellung.diagnoses.contract import Diagnosis
from einstellung.experiments.estimate import Estimate, estimate
from einstellung.experiments.launchers import make_launcher
from einstellung.experiments.machine import Workers
from einstellung.experiments.plan import Job
from einstellung.experiments.progress import describe_duration
from einstellung.experiments.study import Prepared, jobs_to_do, prepare_study, ready_kernels
from einstellung.experiments.workers import Arrangement, Candidate, Log, arrange
from einstellung.results.config import StudyConfig
from einstellung.results.folder import ResultsFolder
from einstellung.results.sweep import SHARED_FIRST_PHASES, with_choices_of_existing


def dry_run(
    root: Path,
    studies: Mapping[str, StudyConfig],
    workers: Workers | None,
    log: Log = lambda line: None,
    check_diagnoses: Callable[[Mapping[str, Diagnosis[Any, Any]]], None] | None = None,
) -> dict[str, Any]:
    """The plan as data, the studies by the name of their folder below ``root`` (a study without a name is the root itself).

    Nothing is written, and nothing is trained but the few steps that are timed. ``check_diagnoses`` may refuse studies
    that have no page together.
    """
    studies = with_choices_of_existing(root, studies)
    ready = {}
    for name, config in studies.items():
        log(f"{name or config.name}: checking the data and one training step of {len(config.methods)} methods")
        ready[name] = prepare_study(config, root / name, planning=True)
    if check_diagnoses is not None:
        check_diagnoses({name: study.diagnosis for name, study in ready.items()})
    for study in ready.values():
        study.proof.require()
        ready_kernels(study.config)
    first_phases = "first_phases" if list(studies) == [""] else SHARED_FIRST_PHASES
    ready, arrangements = arrange(studies, ready, root, first_phases, workers, log)
    planned: dict[str, Any] = {**_arrangement(next(iter(arrangements.values()))), "studies": {}}
    counted: set[str] = set()
    measured = next(iter(arrangements))
    for name, prepared in ready.items():
        arrangement, folder = arrangements[name], ResultsFolder(root / name)
        jobs, todo = jobs_to_do(prepared, folder, first_phases)
        todo = [job for job in todo if job.kind == "run" or job.key not in counted]
        counted |= {job.key for job in todo}
        # The studies of a sweep may differ in the cost of a step: the measurement of the first does not hold for the others.
        throughput = arrangement.throughput if name == measured else None
        estimated = estimate(prepared.config, prepared.stream, todo, arrangement.workers, throughput)
        missing, shared_by = {job.folder for job in todo}, dict[str | None, list[str]]()
        for job in jobs:
            shared_by.setdefault(job.needs, []).append(job.method)
        planned["studies"][name or prepared.config.name] = {
            "first_phases": [
                {**_facts(job, missing, estimated), "shared_by": shared_by.get(job.folder, [])}
                for job in jobs
                if job.kind == "first_phase"
            ],
            "runs": [
                {**_facts(job, missing, estimated), "first_phase": job.needs} for job in jobs if job.kind == "run"
            ],
            "inputs": prepared.stream.modality.words.many,
            "images_per_second": {
                "training": estimated.throughput.training,
                "evaluation": estimated.throughput.evaluation,
            },
            "seconds": estimated.total,
            "warnings": list(prepared.warnings),
            "assumed": list(prepared.assumed),
            **_batch_scripts(prepared, todo, folder, arrangement),
        }
    planned["seconds"] = sum(study["seconds"] for study in planned["studies"].values())
    return planned


def _batch_scripts(
    prepared: Prepared, todo: Sequence[Job], folder: ResultsFolder, arrangement: Arrangement
) -> dict[str, list[str]]:
    """What the launcher would submit, if it submits anything."""
    scripts = make_launcher(prepared.config.launcher).scripts(todo, prepared.config, folder.path, arrangement.workers)
    return {"scripts": scripts} if scripts else {}


def _arrangement(arrangement: Arrangement) -> dict[str, Any]:
    """How the first study would run, and the trials behind that choice."""
    tried = [
        {
            "workers": trial.candidate.workers,
            "threads": trial.candidate.threads,
            "images_per_second": trial.images_per_second,
            "seconds": trial.seconds,
        }
        for trial in arrangement.trials
    ]
    facts = {"workers": arrangement.workers, "threads": arrangement.threads}
    return {**facts, "tried": tried, "memory_limit": arrangement.limit} if tried else facts


def _facts(job: Job, missing: Collection[str], estimated: Estimate) -> dict[str, Any]:
    to_do = job.folder in missing
    seconds = estimated.seconds[job.folder] if to_do else 0.0
    return {"method": job.method, "seed": job.seed, "folder": job.folder, "to_do": to_do, "seconds": seconds}


def describe(planned: Mapping[str, Any]) -> Iterator[str]:
    """The plan in lines of text."""
    for name, study in planned["studies"].items():
        jobs = [*study["first_phases"], *study["runs"]]
        yield f"{name}: {len(study['runs'])} runs, {len(study['first_phases'])} first phases"
        by_seed: dict[int, list[Mapping[str, Any]]] = {}
        for job in jobs:
            by_seed.setdefault(job["seed"], []).append(job)
        for seed, own in by_seed.items():
            yield f"  seed {seed}"
            for job in own:
                what = f"T1 by {job['method']}" if "shared_by" in job else job["method"]
                yield f"    {what:<20} {_when(job):<18} {_history(job)}".rstrip()
        for assumption in study["assumed"]:
            yield f"  assumed: {assumption}"
        rate, inputs = study["images_per_second"], "on synthetic inputs of that shape" if study["assumed"] else "here"
        yield (
            f"  measured {inputs}: {rate['training']:.0f} training and {rate['evaluation']:.0f} evaluation "
            f"{study['inputs']} per second and worker"
        )
        for number, script in enumerate(scripts := study.get("scripts", []), start=1):
            yield f"  batch script {number} of {len(scripts)}:"
            yield from (f"    {line}".rstrip() for line in script.splitlines())
    left = describe_duration(planned["seconds"])
    yield f"about {left} on {Candidate(planned['workers'], planned['threads'])} at the current load; nothing was run"


def _when(job: Mapping[str, Any]) -> str:
    return f"about {describe_duration(job['seconds'])}" if job["to_do"] else "not needed or done"


def _history(job: Mapping[str, Any]) -> str:
    if "shared_by" in job:
        return f"once for {', '.join(job['shared_by'])}"
    if job["first_phase"] is None:
        return "from random weights"
    trainer = job["first_phase"].rpartition("/")[2].rpartition("-seed")[0]
    return f"after T1 by {trainer}"
