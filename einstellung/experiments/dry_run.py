"""What a study would do: its runs, which first phases they share, what is there already, how long the rest takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from einstellung.diagnoses.contract import Diagnosis
from einstellung.experiments.estimate import Estimate, estimate
from einstellung.experiments.machine import Workers
from einstellung.experiments.plan import Job
from einstellung.experiments.progress import in_words as duration
from einstellung.experiments.study import jobs_to_do, prepare_study, ready_kernels
from einstellung.experiments.workers import Arrangement, Candidate, Tell, arrange
from einstellung.results.config import StudyConfig
from einstellung.results.folder import ResultsFolder
from einstellung.results.sweep import SHARED_FIRST_PHASES, as_begun


def look_ahead(
    root: Path,
    studies: Mapping[str, StudyConfig],
    workers: Workers | None,
    tell: Tell = lambda line: None,
    check_diagnoses: Callable[[Mapping[str, Diagnosis[Any, Any]]], None] | None = None,
) -> dict[str, Any]:
    """Everything as data, the studies by the name of their folder below ``root`` (one without a name is the root itself).

    Nothing is written and nothing trained but the few steps that are timed. ``check_diagnoses`` may refuse studies that
    have no page together.
    """
    studies = as_begun(root, studies)
    ready = {name: prepare_study(config, root / name) for name, config in studies.items()}
    if check_diagnoses is not None:
        check_diagnoses({name: study.diagnosis for name, study in ready.items()})
    for study in ready.values():
        study.proof.require()
        ready_kernels(study.config)
    first_phases = "first_phases" if list(studies) == [""] else SHARED_FIRST_PHASES
    ready, arrangements = arrange(studies, ready, root, first_phases, workers, tell)
    seen: dict[str, Any] = {**_arrangement(next(iter(arrangements.values()))), "studies": {}}
    counted: set[str] = set()
    estimated = next(iter(arrangements))
    for name, prepared in ready.items():
        arrangement, folder = arrangements[name], ResultsFolder(root / name)
        jobs, todo = jobs_to_do(prepared, folder, first_phases)
        todo = [job for job in todo if job.kind == "run" or job.key not in counted]
        counted |= {job.key for job in todo}
        # The studies of a sweep may differ in what a step costs: what was measured for the first is not the others' pace.
        pace = arrangement.pace if name == estimated else None
        foreseen = estimate(prepared.config, prepared.stream, todo, arrangement.workers, pace)
        seen["studies"][name or prepared.config.name] = {
            "first_phases": [
                {**_facts(job, todo, foreseen), "shared_by": [run.method for run in jobs if run.needs == job.folder]}
                for job in jobs
                if job.kind == "first_phase"
            ],
            "runs": [{**_facts(job, todo, foreseen), "first_phase": job.needs} for job in jobs if job.kind == "run"],
            "images_per_second": {
                "training": 1 / foreseen.pace.training,
                "evaluation": 1 / foreseen.pace.evaluation,
            },
            "seconds": foreseen.total,
        }
    seen["seconds"] = sum(study["seconds"] for study in seen["studies"].values())
    return seen


def _arrangement(arrangement: Arrangement) -> dict[str, Any]:
    """How the first study would be run, and what was tried to find that out."""
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


def _facts(job: Job, todo: list[Job], foreseen: Estimate) -> dict[str, Any]:
    seconds = foreseen.seconds[job.folder] if job in todo else 0.0
    return {"method": job.method, "seed": job.seed, "folder": job.folder, "to_do": job in todo, "seconds": seconds}


def in_words(seen: Mapping[str, Any]) -> Iterator[str]:
    """The same, line by line, for a person."""
    for name, study in seen["studies"].items():
        jobs = [*study["first_phases"], *study["runs"]]
        yield f"{name}: {len(study['runs'])} runs, {len(study['first_phases'])} first phases"
        for seed in dict.fromkeys(job["seed"] for job in jobs):
            yield f"  seed {seed}"
            for job in jobs:
                if job["seed"] == seed:
                    what = f"T1 by {job['method']}" if "shared_by" in job else job["method"]
                    yield f"    {what:<20} {_when(job):<18} {_history(job)}".rstrip()
        pace = study["images_per_second"]
        yield (
            f"  measured here: {pace['training']:.0f} training and {pace['evaluation']:.0f} evaluation images a second "
            "and worker"
        )
    left = duration(seen["seconds"])
    yield f"about {left} on {Candidate(seen['workers'], seen['threads'])}, if the machine stays as it is; nothing was run"


def _when(job: Mapping[str, Any]) -> str:
    return f"about {duration(job['seconds'])}" if job["to_do"] else "not needed or done"


def _history(job: Mapping[str, Any]) -> str:
    if "shared_by" in job:
        return f"once for {', '.join(job['shared_by'])}"
    if job["first_phase"] is None:
        return "from random weights"
    trainer = job["first_phase"].rpartition("/")[2].rpartition("-seed")[0]
    return f"after T1 by {trainer}"
