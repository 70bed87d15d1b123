"""What is audited: the stored nets of a study, classifiers on a folder of images, or a callable on arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
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
from einstellung.experiments.class_groups import ClassGroups, GroupedImages
from einstellung.experiments.execution import proved_stream
from einstellung.experiments.plugins import load_plugins
from einstellung.experiments.probing import require_study
from einstellung.experiments.stored_nets import NetLoader, StoredRun, stored_runs
from einstellung.probes.audit import AuditedModel
from einstellung.results.folder import ResultsFolder
from einstellung.results.merging import merge_timelines
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
    """Models to audit and how to load each (including baselines that are not audited themselves), and the images."""

    models: tuple[Audited, ...]
    loaders: Mapping[str, Callable[[], AuditedModel]]
    images: AuditedImages
    available: int
    digests: Mapping[str, str] = field(default_factory=dict)
    threads: Callable[[], AbstractContextManager[Any]] = nullcontext
    groups: Mapping[str, int] = field(
        default_factory=dict
    )  # the number of classes in each group, where classes are grouped


@dataclass(frozen=True)
class Chosen:
    """Which images are audited: of these classes (numbers or names; none: all), and at most how many.

    ``groups``: audit groups of classes; ``classes`` then names groups.
    """

    classes: tuple[str, ...] = ()
    most: int = MOST_IMAGES
    groups: ClassGroups | None = None

    def plan(
        self,
        models: Sequence[Audited],
        loaders: Mapping[str, Callable[[], AuditedModel]],
        images: AuditedImages,
        known: Mapping[str, int] | None = None,
        **settings: Any,
    ) -> AuditPlan:
        """The plan for some of the images; ``known``: further names of classes."""
        if self.groups is not None:
            grouped = self.groups.apply(images, known)
            images, loaders = grouped.images, {name: grouped.load(loader) for name, loader in loaders.items()}
            settings["groups"] = _sizes(grouped)
        return AuditPlan(tuple(models), loaders, self.of(images), len(images), **settings)

    def of(self, images: AuditedImages) -> AuditedImages:
        """Some of the images, in the classes that are audited."""
        if self.most < 2:
            raise InputError(f"--images is {self.most}: give 2 or more")
        images.check()
        found = (images.of_classes(self.classes) if self.classes else images).at_most(self.most)
        found.check()
        return found


def _sizes(grouped: GroupedImages) -> dict[str, int]:
    return {name: len(grouped.outputs[place]) for place, name in grouped.images.class_names.items()}


def plan_arrays(
    model: Any,
    baseline: Any,
    images: Any,
    labels: Any,
    names: Mapping[int, str] | Sequence[str] | None,
    mean: Sequence[float] | None,
    std: Sequence[float] | None,
    chosen: Chosen,
    objects: Any = None,
) -> AuditPlan:
    """A callable and optionally a baseline, on arrays; ``objects``: masks of the objects in the images."""
    every = images_of_arrays(images, labels, names, objects)
    pixels = every.images.shape[-2] * every.images.shape[-1]
    loaders = {"model": partial(of_callable, "model", model, mean, std, pixels)}
    models = [Audited("model", "model", 0, None if baseline is None else "baseline")]
    if baseline is not None:
        loaders["baseline"] = partial(of_callable, "baseline", baseline, mean, std, pixels)
        models.append(Audited("baseline", "baseline", 0))
    return chosen.plan(models, loaders, every)


def plan_files(
    files: LabelledFiles,
    models: Sequence[str],
    baseline: str | None,
    options: WeightsOptions,
    chosen: Chosen,
    objects: Path | None = None,
) -> AuditPlan:
    """Classifiers on a folder of labelled images; ``objects``: a folder of object masks."""
    named = dict.fromkeys([*models, *([baseline] if baseline is not None else [])])
    loaded = {name: load_by_name(name, options, files) for name in named}
    first = next(iter(loaded.values()))
    for name, classifier in loaded.items():
        files.check(classifier.classes, name)
        if classifier.size != first.size:
            raise InputError(
                f"{name} takes images of {classifier.size} x {classifier.size}, {first.name} of {first.size} x {first.size}: "
                "masks need one input size; audit the models separately"
            )
        if _geometry(classifier) != _geometry(first):
            raise InputError(
                f"{name} and {first.name} resize or crop images differently, so that the masks of one do not fit the other: "
                "audit the models separately"
            )
    every = images_of_files(files, first, objects)
    audited = [Audited(name, name, 0, baseline if baseline != name else None) for name in loaded]
    loaders = {name: partial(of_classifier, classifier) for name, classifier in loaded.items()}
    known = {wnid: label for label, wnid in files.wnids.items()}
    return chosen.plan(audited, loaders, every, known, digests={"pictures": files.digest})


def _geometry(classifier: Classifier) -> tuple[int, str, bool]:
    """How images are resized for a model; models normalise them."""
    how = classifier.preprocessing
    return how.resize, how.interpolation, how.squash


def plan_folder(
    results: ResultsFolder,
    chosen: Chosen,
    methods: Sequence[str] = (),
    seeds: Sequence[int] = (),
    splits: Sequence[str] = (),
) -> AuditPlan:
    """The stored nets of a study, each with the baseline of its seed, on the given splits or the last phase's test images."""
    require_study(results)
    config = results.config()
    load_plugins(config.plugins)
    timeline = merge_timelines(results)
    if timeline is None:
        raise InputError(f"{results.path} has no finished run yet")
    checkpoint: Checkpoint = "last" if config.score.get("final") == "last" else "chosen"
    runs = stored_runs(results.path, config, checkpoint)
    if not runs:
        raise InputError(
            f"{results.path} has no stored nets (runs/*/{CHOSEN_NET}) of finished runs, which an audit needs"
        )
    wanted = _wanted(runs, methods, seeds, results)
    digests = (results.read_optional(results.provenance_file) or {}).get("data") or {}
    stream = proved_stream(config, digests) if digests else build_stream(config)
    baseline = config.score.get("baseline") or diagnosis_of(config, timeline.splits).default_baseline
    references = {run.seed: _name(run) for run in runs if run.method == baseline}
    loader = NetLoader(config, stream, checkpoint)
    return chosen.plan(
        [
            Audited(_name(run), run.method, run.seed, references.get(run.seed) if run.method != baseline else None)
            for run in wanted
        ],
        {_name(run): partial(_stored, loader, run) for run in runs},
        images_of_stream(stream, splits),
        digests=digests,
        threads=partial(torch_threads, config.training.thread_count),
    )


def _wanted(
    runs: Sequence[StoredRun], methods: Sequence[str], seeds: Sequence[int], results: ResultsFolder
) -> list[StoredRun]:
    """The runs of the given methods and seeds; all if none are given."""
    for option, asked, known in (
        ("--methods", methods, {run.method for run in runs}),
        ("--seeds", seeds, {run.seed for run in runs}),
    ):
        if absent := [one for one in asked if one not in known]:
            there = ", ".join(map(str, sorted(known)))
            raise InputError(f"{option} names {absent[0]}, for which {results.path} has no net; there are {there}")
    return [run for run in runs if run.method in (methods or [run.method]) and run.seed in (seeds or [run.seed])]


def _name(run: StoredRun) -> str:
    return f"{run.method}-seed{run.seed}"


def _stored(loader: NetLoader, run: StoredRun) -> AuditedModel:
    return of_stored_net(_name(run), loader.final(run))
