"""What is audited: the stored nets of a study, classifiers on a folder of pictures, or a callable on arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from einstellung.classifiers import Classifier
from einstellung.classifiers.labelled import LabelledFiles
from einstellung.diagnoses.reporting import diagnosis_of
from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream
from einstellung.experiments.audited_images import AuditedImages, images_of_arrays, images_of_files, images_of_stream
from einstellung.experiments.audited_models import (
    WeightsOptions,
    load_by_name,
    of_callable,
    of_classifier,
    of_stored_net,
)
from einstellung.experiments.execution import proved_stream
from einstellung.experiments.plugins import load_plugins
from einstellung.experiments.probing import require_study
from einstellung.experiments.stored_nets import NetLoader, StoredRun, stored_runs
from einstellung.probes.audit import AuditedModel
from einstellung.results.folder import ResultsFolder
from einstellung.results.probe_files import Checkpoint
from einstellung.results.run_files import CHOSEN_NET
from einstellung.training.devices import torch_threads

MOST_IMAGES = 1000


@dataclass(frozen=True)
class Audited:
    """A model to audit: its name, its row in the timeline, and the name of the model that it is compared with."""

    name: str
    method: str
    seed: int
    baseline: str | None = None


@dataclass(frozen=True)
class AuditPlan:
    """Models to audit and how each is loaded (baselines that are not audited themselves too), and the images."""

    models: tuple[Audited, ...]
    loaders: Mapping[str, Callable[[], AuditedModel]]
    images: AuditedImages
    available: int
    cropped: bool = False  # whether the model sees a part of every picture only
    digests: Mapping[str, str] = field(default_factory=dict)
    threads: Callable[[], AbstractContextManager[Any]] = nullcontext


@dataclass(frozen=True)
class Chosen:
    """Which images are audited: those of some classes (numbers or names; all where none is named), at most so many."""

    classes: tuple[str, ...] = ()
    most: int = MOST_IMAGES

    def of(self, images: AuditedImages) -> AuditedImages:
        if self.most < 2:
            raise InputError(f"--images is {self.most}: give 2 or more")
        images.check()
        found = (images.of_classes(self.classes) if self.classes else images).at_most(self.most)
        found.check()
        return found


def plan_arrays(
    model: Any,
    baseline: Any,
    images: Any,
    labels: Any,
    names: Mapping[int, str] | Sequence[str] | None,
    mean: Sequence[float] | None,
    std: Sequence[float] | None,
    chosen: Chosen,
) -> AuditPlan:
    """A callable, beside a second one where it is given, on arrays."""
    every = images_of_arrays(images, labels, names)
    loaders = {"model": partial(of_callable, "model", model, mean, std)}
    models = [Audited("model", "model", 0, None if baseline is None else "baseline")]
    if baseline is not None:
        loaders["baseline"] = partial(of_callable, "baseline", baseline, mean, std)
        models.append(Audited("baseline", "baseline", 0))
    return AuditPlan(tuple(models), loaders, chosen.of(every), len(every))


def plan_files(
    files: LabelledFiles, models: Sequence[str], baseline: str | None, options: WeightsOptions, chosen: Chosen
) -> AuditPlan:
    """Classifiers on a folder of labelled pictures."""
    named = dict.fromkeys([*models, *([baseline] if baseline is not None else [])])
    loaded = {name: load_by_name(name, options, files) for name in named}
    first = next(iter(loaded.values()))
    for name, classifier in loaded.items():
        files.check(classifier.classes, name)
        if classifier.size != first.size:
            raise InputError(
                f"{name} takes images of {classifier.size} x {classifier.size}, {first.name} of {first.size} x {first.size}: "
                "masks fit models of one size only; audit them one by one"
            )
        if _geometry(classifier) != _geometry(first):
            raise InputError(
                f"{name} and {first.name} resize or crop pictures differently, so that masks of one do not fit the other: "
                "audit them one by one"
            )
    every = images_of_files(files, first)
    cropped = not (first.preprocessing.squash and first.preprocessing.resize == first.size)
    audited = (Audited(name, name, 0, baseline if baseline != name else None) for name in loaded)
    loaders = {name: partial(of_classifier, classifier) for name, classifier in loaded.items()}
    return AuditPlan(tuple(audited), loaders, chosen.of(every), len(every), cropped, {"pictures": files.digest})


def _geometry(classifier: Classifier) -> tuple[int, str, bool]:
    """How pictures come to a model's size; models normalise for themselves."""
    how = classifier.preprocessing
    return how.resize, how.interpolation, how.squash


def plan_folder(
    results: ResultsFolder, chosen: Chosen, methods: Sequence[str] = (), seeds: Sequence[int] = ()
) -> AuditPlan:
    """The stored nets of a study, each beside the baseline's of its seed, on the test images of its last phase."""
    require_study(results)
    config = results.config()
    load_plugins(config.plugins)
    timeline = results.merge_timelines()
    if timeline is None:
        raise InputError(f"{results.path} holds no finished run yet")
    checkpoint: Checkpoint = "last" if config.score.get("final") == "last" else "chosen"
    runs = stored_runs(results.path, config, checkpoint)
    if not runs:
        raise InputError(f"{results.path} holds no nets (runs/*/{CHOSEN_NET}) of a finished run: an audit needs them")
    wanted = _wanted(runs, methods, seeds, results)
    digests = (results.read_optional(results.provenance_file) or {}).get("data") or {}
    stream = proved_stream(config, digests) if digests else build_stream(config)
    baseline = config.score.get("baseline") or diagnosis_of(config, timeline.splits).default_baseline
    references = {run.seed: _name(run) for run in runs if run.method == baseline}
    loader = NetLoader(config, stream, checkpoint)
    every = images_of_stream(stream)
    return AuditPlan(
        tuple(
            Audited(_name(run), run.method, run.seed, references.get(run.seed) if run.method != baseline else None)
            for run in wanted
        ),
        {_name(run): partial(_stored, loader, run) for run in runs},
        chosen.of(every),
        len(every),
        digests=digests,
        threads=partial(torch_threads, config.training.thread_count),
    )


def _wanted(
    runs: Sequence[StoredRun], methods: Sequence[str], seeds: Sequence[int], results: ResultsFolder
) -> list[StoredRun]:
    """The runs of the named methods and seeds; all where none is named."""
    for option, asked, known in (
        ("--methods", methods, {run.method for run in runs}),
        ("--seeds", seeds, {run.seed for run in runs}),
    ):
        if absent := [one for one in asked if one not in known]:
            there = ", ".join(map(str, sorted(known)))
            raise InputError(f"{option} names {absent[0]}, of which {results.path} has no net; there are {there}")
    return [run for run in runs if run.method in (methods or [run.method]) and run.seed in (seeds or [run.seed])]


def _name(run: StoredRun) -> str:
    return f"{run.method}-seed{run.seed}"


def _stored(loader: NetLoader, run: StoredRun) -> AuditedModel:
    return of_stored_net(_name(run), loader.final(run))
