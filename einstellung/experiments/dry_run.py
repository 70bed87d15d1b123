"""A dry run: the runs of a study, the first phases they share, what is finished, and how long the rest takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from einstellung.diagnoses.contract import Diagnosis
from einstellung.experiments.estimate import Estimate, estimate
from einstellung.experiments.machine import Workers
from einstellung.experiments.plan import Job
from einstellung.experiments.progress import describe_duration
from einstellung.experiments.study import jobs_to_do, prepare_study, ready_kernels
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
    ready = {name: prepare_study(config, root / name) for name, config in studies.items()}
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
        planned["studies"][name or prepared.config.name] = {
            "first_phases": [
                {**_facts(job, todo, estimated), "shared_by": [run.method for run in jobs if run.needs == job.folder]}
                for job in jobs
                if job.kind == "first_phase"
            ],
            "runs": [{**_facts(job, todo, estimated), "first_phase": job.needs} for job in jobs if job.kind == "run"],
            "images_per_second": {
                "training": estimated.throughput.training,
                "evaluation": estimated.throughput.evaluation,
            },
            "seconds": estimated.total,
            "warnings": list(prepared.warnings),
        }
    planned["seconds"] = sum(study["seconds"] for study in planned["studies"].values())
    return planned


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


def _facts(job: Job, todo: list[Job], estimated: Estimate) -> dict[str, Any]:
    seconds = estimated.seconds[job.folder] if job in todo else 0.0
    return {"method": job.method, "seed": job.seed, "folder": job.folder, "to_do": job in todo, "seconds": seconds}


def describe(planned: Mapping[str, Any]) -> Iterator[str]:
    """The plan in lines of text."""
    for name, study in planned["studies"].items():
        jobs = [*study["first_phases"], *study["runs"]]
        yield f"{name}: {len(study['runs'])} runs, {len(study['first_phases'])} first phases"
        for seed in dict.fromkeys(job["seed"] for job in jobs):
            yield f"  seed {seed}"
            for job in jobs:
                if job["seed"] == seed:
                    what = f"T1 by {job['method']}" if "shared_by" in job else job["method"]
                    yield f"    {what:<20} {_when(job):<18} {_history(job)}".rstrip()
        rate = study["images_per_second"]
        yield (
            f"  measured here: {rate['training']:.0f} training and {rate['evaluation']:.0f} evaluation images a second "
            "and worker"
        )
    left = describe_duration(planned["seconds"])
    yield f"about {left} on {Candidate(planned['workers'], planned['threads'])}, if the machine stays as it is; nothing was run"


def _when(job: Mapping[str, Any]) -> str:
    return f"about {describe_duration(job['seconds'])}" if job["to_do"] else "not needed or done"


def _history(job: Mapping[str, Any]) -> str:
    if "shared_by" in job:
        return f"once for {', '.join(job['shared_by'])}"
    if job["first_phase"] is None:
        return "from random weights"
    trainer = job["first_phase"].rpartition("/")[2].rpartition("-seed")[0]
    return f"after T1 by {trainer}"
