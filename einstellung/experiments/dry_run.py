"""What a study would do: its runs, which first phases they share, what is there already, how long the rest takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from einstellung.experiments.config import StudyConfig
from einstellung.experiments.estimate import Estimate, estimate
from einstellung.experiments.folder import ResultsFolder
from einstellung.experiments.plan import Job
from einstellung.experiments.progress import in_words as duration
from einstellung.experiments.study import jobs_to_do, prepare_study
from einstellung.experiments.sweep import SHARED_FIRST_PHASES


def look_ahead(root: Path, studies: Mapping[str, StudyConfig], workers: int) -> dict[str, Any]:
    """Everything as data, the studies by the name of their folder below ``root`` (one without a name is the root itself).

    Nothing is written and nothing trained but the few steps that are timed.
    """
    seen: dict[str, Any] = {"workers": workers, "studies": {}}
    counted: set[str] = set()
    for name, config in studies.items():
        prepared = prepare_study(config, root / name)
        prepared.proof.require()
        folder = ResultsFolder(root / name)
        jobs, todo = jobs_to_do(prepared, folder, SHARED_FIRST_PHASES if name else "first_phases")
        todo = [job for job in todo if job.kind == "run" or job.key not in counted]
        counted |= {job.key for job in todo}
        foreseen = estimate(prepared.config, prepared.stream, todo, workers)
        seen["studies"][name or config.name] = {
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
    workers = f"{seen['workers']} worker{'s' if seen['workers'] > 1 else ''}"
    yield f"about {left} on {workers}, if the machine stays as it is; nothing was run"


def _when(job: Mapping[str, Any]) -> str:
    return f"about {duration(job['seconds'])}" if job["to_do"] else "not needed or done"


def _history(job: Mapping[str, Any]) -> str:
    if "shared_by" in job:
        return f"once for {', '.join(job['shared_by'])}"
    if job["first_phase"] is None:
        return "from random weights"
    trainer = job["first_phase"].rpartition("/")[2].rpartition("-seed")[0]
    return f"after T1 by {trainer}"
