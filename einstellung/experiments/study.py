"""A whole study: prove the stream, plan, run what is missing, gather the timelines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from einstellung.errors import InputError
from einstellung.experiments.assembly import (
    build_stream,
    check_backbone,
    check_groups,
    check_learners,
    data_digests,
    resolve,
)
from einstellung.experiments.image_archive import image_archive
from einstellung.experiments.local import Failure, run_jobs
from einstellung.experiments.plan import Job, plan
from einstellung.experiments.processes import preload_kernels, warm_up
from einstellung.experiments.progress import Display, display_for
from einstellung.experiments.run_log import require_tensorboard
from einstellung.files import write_bytes, write_json
from einstellung.metrics.confounding_settings import ConfoundingSettings
from einstellung.metrics.confounding_splits import are_confounding
from einstellung.metrics.shortcuts_settings import ShortcutSettings
from einstellung.metrics.shortcuts_splits import are_shortcuts
from einstellung.randomness import generator
from einstellung.registry import suggestion
from einstellung.results.config import StudyConfig
from einstellung.results.folder import ResultsFolder
from einstellung.results.provenance import now, provenance
from einstellung.streams import Presentation, Proof, Stream, prove
from einstellung.timeline import Timeline
from einstellung.training.acceleration import compile_kernels
from einstellung.training.checkpoint import check_whole


@dataclass(frozen=True)
class Outcome:
    """What a study left behind."""

    folder: ResultsFolder
    config: StudyConfig
    timeline: Timeline | None
    failures: tuple[Failure, ...]
    ran: int
    reused: int


@dataclass(frozen=True)
class Prepared:
    """A study that may start: everything checked, nothing written.

    ``config`` asks for the methods and seeds to run now; ``recorded`` names those that the folder already holds as well.
    """

    config: StudyConfig
    recorded: StudyConfig
    stream: Stream
    proof: Proof


def prepare_study(config: StudyConfig, out: Path | None = None, about_to_run: bool = False) -> Prepared:
    """Check names, options, the results folder (where there is one) and the stream's proof, without writing anything.

    With ``about_to_run``, kernels are compiled if they never were, and torch is imported for the workers while the stream is
    being proved here.
    """
    folder = ResultsFolder(out) if out is not None else None
    if folder is not None:
        folder.check_usable()
        config = folder.with_its_choices(config)
    config = resolve(config)
    recorded = config if folder is None else folder.adopt(config)
    baseline = recorded.score.settings().baseline
    if baseline is not None and baseline not in recorded.methods:
        raise InputError(
            f"score.baseline '{baseline}' is not among the methods: {suggestion(baseline, recorded.methods)}"
        )
    if "tensorboard" in config.logging:
        require_tensorboard()
    stream = build_stream(config)
    check_backbone(config, stream)
    check_learners(config, stream)
    check_groups(config, stream)
    names = [split.name for split in stream.splits]
    # what these refuse, they refuse before hours of training
    if are_confounding(names):
        ConfoundingSettings.of_score(recorded.score.settings())
    elif are_shortcuts(names):
        ShortcutSettings.of_score(recorded.score.settings())
    validation = f"{stream.phases[-1].name}_val"
    if config.evaluation.subsets == "end" and validation not in names:
        raise InputError(f"evaluation.subsets is 'end', but the stream '{stream.name}' has no {validation} to go by")
    if about_to_run:
        ready_kernels(config)
        warm_up()
    return Prepared(config, recorded, stream, prove(stream))


def ready_kernels(config: StudyConfig) -> None:
    """Compile kernels of our own where a study uses them and this machine never did; every worker would begin with it."""
    if config.training.kernels == "own":
        preload_kernels()
        compile_kernels()


def jobs_to_do(prepared: Prepared, folder: ResultsFolder, first_phases: str) -> tuple[list[Job], list[Job]]:
    """All jobs of a study, and those of them that are not finished yet."""
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
    """Run what is not there yet. The caller holds the folder (see :meth:`ResultsFolder.in_use`)."""
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
    if not folder.samples_file.exists() and (samples := _samples(stream)):
        write_bytes(folder.samples_file, samples)
    failures: Sequence[Failure] = ()
    if todo:
        record["earlier"] = [*(earlier or {}).pop("earlier", []), *([earlier] if earlier else [])]
        write_json(folder.provenance_file, record)
        with make_display(todo) as display:
            failures = run_jobs(todo, config, folder.path, digests, workers, display)
        for failure in failures:
            folder.note_failure(failure.job.folder, failure.reason, failure.trace)
        write_json(folder.provenance_file, {**record, "finished": now()})
    timeline = folder.merge_timelines()
    runs = [job for job in jobs if job.kind == "run"]
    ran = sum(job.kind == "run" for job in todo)
    return Outcome(folder, prepared.recorded, timeline, tuple(failures), ran, len(runs) - ran)


def _samples(stream: Stream, count: int = 8) -> bytes:
    """A few images original / patched / masked and raw / augmented, for the report; a cue that was there has no original.

    Where a stream plants no cue, those that it chose itself; nothing where it has none.
    """
    if stream.cue is None:
        return image_archive(stream.samples) if stream.samples else b""
    pair = next(pair for pair in stream.pairs if pair.masked)
    assert pair.masked is not None
    total = len(stream.split(pair.clean).images)
    rows = torch.linspace(0, total - 1, min(count, total)).long()
    sets = {
        "original": stream.split(pair.clean).images.take(rows),
        "patched": stream.split(pair.patched).images.take(rows),
        "masked": stream.split(pair.masked).images.take(rows),
    }
    captions = np.array([stream.class_names[label] for label in sets["original"].labels.tolist()])
    if pair.clean == pair.patched:
        del sets["original"]
    images = {name: some.images for name, some in sets.items()}
    train = stream.phases[-1].train
    some = train.take(torch.linspace(0, len(train) - 1, min(count, len(train))).long())
    images["raw"] = some.images
    images["augmented"] = Presentation(stream).training_pixels(
        some, generator(0, "sample-sheet"), generator(0, "sample-cue")
    )
    return image_archive(images, captions=captions)
