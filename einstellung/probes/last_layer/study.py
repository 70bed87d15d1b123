"""Train and measure last layers with several methods and seeds on the features of one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from einstellung.classifiers import Extractor
from einstellung.errors import InputError
from einstellung.learners.mitigation.characters import find_font
from einstellung.metrics.arithmetic import mean_of
from einstellung.metrics.ratios import amplification
from einstellung.metrics.statistics import summarise
from einstellung.probes.last_layer.amplification import GAP, against_erm, as_loss
from einstellung.probes.last_layer.data import LastLayerData
from einstellung.probes.last_layer.features import CLEAN, WATERMARK, OnProgress, View, features, random_characters
from einstellung.probes.last_layer.measuring import Tests, accuracy, describe_tests, loss, measure
from einstellung.probes.last_layer.training import (
    ERM,
    WATERMARK_SHIFT,
    LastLayerTraining,
    TrainingFeatures,
    shifts_of,
    split_held_out,
    train_layer,
)
from einstellung.randomness import seeded_globally
from einstellung.sources.reading import file_hash

ORIGINAL = "as it was"  # the trained last layer, as records and tables name it
ProgressFor = Callable[[str], OnProgress]  # name of a step -> its callback


@dataclass(frozen=True)
class StudyDesign:
    """Methods and number of seeds, drawn versions per picture, and the class of interest (``index``)."""

    methods: tuple[str, ...]
    seeds: int = 3
    versions: int = 3
    index: int | None = None
    font: str | None = None
    training: LastLayerTraining = field(default_factory=LastLayerTraining)

    def __post_init__(self) -> None:
        if self.seeds < 1 or self.versions < 1:
            raise InputError(f"--seeds is {self.seeds}, --versions {self.versions}: give at least 1")


@dataclass(frozen=True)
class FeatureSource:
    """Computes the features that methods are trained on."""

    extractor: Extractor
    data: LastLayerData
    design: StudyDesign
    progress_for: ProgressFor

    @property
    def shifts(self) -> list[str]:
        return [WATERMARK_SHIFT, *self.data.train_shifts]

    @cached_property
    def font(self) -> Path | None:
        """The font for drawn characters; None if no method is trained on them."""
        needed = any(WATERMARK_SHIFT in shifts_of(method, self.shifts) for method in self.design.methods)
        return find_font("wtm_aug", self.design.font) if needed else None

    @cached_property
    def from_folders(self) -> TrainingFeatures:
        """Features of the clean pictures and of their versions in other folders."""
        clean = self._features(CLEAN, "train")
        shifted = {}
        for name, versions in self.data.train_shifts.items():
            on_progress = self.progress_for(f"{self.extractor.name}, {name}")
            computed = features(self.extractor, versions.images, CLEAN, on_progress)
            shifted[name] = computed.unsqueeze(0), torch.from_numpy(versions.rows)
        return TrainingFeatures((clean, torch.from_numpy(self.data.train.labels)), shifted)

    def for_seed(self, seed: int) -> TrainingFeatures:
        """All features, with watermarks drawn for this seed, so that intervals over seeds include their variation."""
        from_folders = self.from_folders
        if self.font is None:
            return from_folders
        drawn = [
            self._features(random_characters(self.font, seed, draw), f"seed {seed}, watermark {draw}")
            for draw in range(self.design.versions)
        ]
        rows = torch.arange(len(self.data.train))
        shifted = {WATERMARK_SHIFT: (torch.stack(drawn), rows), **from_folders.shifted}
        return TrainingFeatures(from_folders.clean, shifted)

    def _features(self, view: View, step: str) -> Tensor:
        return features(self.extractor, self.data.train, view, self.progress_for(f"{self.extractor.name}, {step}"))

    def facts(self) -> dict[str, Any]:
        """Plain values for the record."""
        drawn = None if self.font is None else {"file": str(self.font), "sha256": file_hash(self.font, "sha256")}
        return {"data": self.data.facts(), "font": drawn, "versions": self.design.versions if drawn else 0}


def run_study(
    extractor: Extractor, data: LastLayerData, design: StudyDesign, progress_for: ProgressFor
) -> dict[str, Any]:
    """The record of one model as plain values; accuracies and probabilities are fractions."""
    source = FeatureSource(extractor, data, design, progress_for)
    for method in design.methods:
        shifts_of(method, source.shifts)
    if design.index is not None and not 0 <= design.index < data.classes:
        raise InputError(f"there is no class {design.index}: there are {data.classes}, from 0")
    facts = source.facts()  # reports a missing font before anything is computed
    tests = _tests(extractor, data, progress_for)
    per_seed: dict[str, list[dict[str, Any]]] = {method: [] for method in design.methods}
    for seed in range(design.seeds):
        train = source.for_seed(seed)
        for method, results in per_seed.items():
            layer, choice = _best_layer(method, _initial_layer(extractor, data, seed), train, design.training, seed)
            results.append({**measure(layer, tests, design.index), **choice})
    methods = {}
    if data.own:
        methods[ORIGINAL] = _summary([measure(extractor.last_layer, tests, design.index)])
    for method, results in per_seed.items():
        methods[method] = _summary(results)
        if ERM in per_seed and method != ERM:
            methods[method]["amplification"] = against_erm(results, per_seed[ERM])
    return {
        "model": extractor.name,
        "digest": extractor.digest,
        "n_train": len(data.train),
        "n_test": len(data.test),
        "classes": data.classes,
        "class": design.index,
        "n_carton": None if design.index is None else int((data.test.labels == design.index).sum()),
        "shifts": source.shifts,
        "begins_as_it_was": data.own,
        "seeds": list(range(design.seeds)),
        "training": design.training.facts(),
        **facts,
        "tests": describe_tests(tests),
        "methods": methods,
    }


def _tests(extractor: Extractor, data: LastLayerData, progress_for: ProgressFor) -> Tests:
    on_progress = progress_for(f"{extractor.name}, test")
    labels = torch.from_numpy(data.test.labels)
    tests = {view.name: (features(extractor, data.test, view, on_progress), labels) for view in (CLEAN, WATERMARK)}
    for name, images in data.test_shifts.items():
        tests[name] = features(extractor, images, CLEAN, on_progress), torch.from_numpy(images.labels)
    return tests


def _initial_layer(extractor: Extractor, data: LastLayerData, seed: int) -> nn.Linear:
    if data.own:
        return extractor.last_layer
    with seeded_globally(seed, "last layer"):
        return nn.Linear(extractor.width, data.classes)


def _best_layer(
    method: str, start: nn.Linear, features: TrainingFeatures, training: LastLayerTraining, seed: int
) -> tuple[nn.Module, dict[str, Any]]:
    """The layer whose learning rate does best on held-out pictures, clean and under the method's shifts.

    Ties in accuracy are broken by the loss, as few held-out pictures often tie.
    """
    train, held_out = split_held_out(features, training.held_out, seed)
    sets = [held_out.clean]
    for name in shifts_of(method, list(held_out.shifted)):
        versions, rows = held_out.shifted[name]
        if len(rows):  # a shift that lacks some images may lack all that are held out
            sets.append((versions[0], held_out.clean[1][rows]))
    trials = []
    for rate in training.rates:
        layer = train_layer(method, start, train, training, rate, seed)
        accuracies, losses = zip(*((accuracy(layer, z, y), loss(layer, z, y)) for z, y in sets), strict=True)
        trials.append((sum(accuracies) / len(sets), -sum(losses) / len(sets), rate, layer))
    best, _, rate, layer = max(trials, key=lambda trial: trial[:2])
    tried = [{"rate": rate, "held_out_acc": acc, "held_out_loss": -minus_loss} for acc, minus_loss, rate, _ in trials]
    return layer, {"rate": rate, "held_out_acc": best, "held_out": len(held_out.clean[1]), "tried": tried}


def _summary(per_seed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Mean, standard deviation and interval over seeds of every measured value, and the values of each seed."""
    keys = [key for key in per_seed[0] if key not in ("rate", "held_out", "tried")]
    summaries = {key: summarise([own[key] for own in per_seed]).to_dict() for key in keys}
    return summaries | {"per_seed": {str(seed): dict(own) for seed, own in enumerate(per_seed)}}


def average(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over models of the methods that all of them have, and the ratios of the mean gaps to ERM's."""
    shared = [name for name in records[0]["methods"] if all(name in record["methods"] for record in records)]
    methods: dict[str, dict[str, Any]] = {}
    for name in shared:
        own = [record["methods"][name] for record in records]
        keys = [key for key in own[0] if key not in ("per_seed", "amplification") and all(key in one for one in own)]
        methods[name] = {key: mean_of([one[key]["mean"] for one in own]) for key in keys}
    for name in methods.keys() - {ERM, ORIGINAL} if ERM in methods else ():
        methods[name]["amplification"] = {
            key: amplification(as_loss(key, gap), as_loss(key, methods[ERM].get(key)))
            for key, gap in methods[name].items()
            if key.endswith(GAP)
        }
    return {"model": "average", "models": len(records), "methods": methods}
