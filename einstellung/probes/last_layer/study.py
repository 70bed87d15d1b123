"""Methods and seeds on the features of one model, and the record of what comes out."""

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
from einstellung.probes.last_layer.features import CLEAN, WATERMARK, Heard, View, features, random_characters
from einstellung.probes.last_layer.measuring import Tests, accuracy, loss, measured, tests_in_words
from einstellung.probes.last_layer.pictures import Pictures
from einstellung.probes.last_layer.training import ERM, WATERMARK_SHIFT, Known, Recipe, shifts_of, split, trained
from einstellung.randomness import seeded_globally
from einstellung.sources.reading import file_hash

AS_IT_WAS = "as it was"
Listening = Callable[[str], Heard]


@dataclass(frozen=True)
class Question:
    """What is compared: methods and seeds, how many drawn versions a picture has, which class is asked about."""

    methods: tuple[str, ...]
    seeds: int = 3
    versions: int = 3
    index: int | None = None
    font: str | None = None
    recipe: Recipe = field(default_factory=Recipe)

    def __post_init__(self) -> None:
        if self.seeds < 1 or self.versions < 1:
            raise InputError(f"--seeds is {self.seeds}, --versions {self.versions}: give at least 1")


@dataclass(frozen=True)
class Sources:
    """The features that methods learn from."""

    extractor: Extractor
    pictures: Pictures
    question: Question
    listening: Listening

    @property
    def shifts(self) -> list[str]:
        return [WATERMARK_SHIFT, *self.pictures.train_shifts]

    @cached_property
    def font(self) -> Path | None:
        """What characters are drawn with; none where no method learns from them."""
        drawing = any(WATERMARK_SHIFT in shifts_of(method, self.shifts) for method in self.question.methods)
        return find_font("wtm_aug", self.question.font) if drawing else None

    @cached_property
    def from_folders(self) -> Known:
        """The pictures as they are, and their versions in other folders."""
        clean = self._features(CLEAN, "train")
        shifted = {}
        for name, versions in self.pictures.train_shifts.items():
            heard = self.listening(f"{self.extractor.name}, {name}")
            found = features(self.extractor, versions.images, CLEAN, heard)
            shifted[name] = found.unsqueeze(0), torch.from_numpy(versions.rows)
        return Known((clean, torch.from_numpy(self.pictures.train.labels)), shifted)

    def known(self, seed: int) -> Known:
        """Everything, with watermarks drawn anew for every seed: an interval over seeds holds what that changes."""
        found = self.from_folders
        if self.font is None:
            return found
        drawn = [
            self._features(random_characters(self.font, seed, draw), f"seed {seed}, watermark {draw}")
            for draw in range(self.question.versions)
        ]
        rows = torch.arange(len(self.pictures.train))
        return Known(found.clean, {WATERMARK_SHIFT: (torch.stack(drawn), rows), **found.shifted})

    def _features(self, view: View, what: str) -> Tensor:
        return features(self.extractor, self.pictures.train, view, self.listening(f"{self.extractor.name}, {what}"))

    def facts(self) -> dict[str, Any]:
        """What the record says of them."""
        drawn = None if self.font is None else {"file": str(self.font), "sha256": file_hash(self.font, "sha256")}
        return {"data": self.pictures.facts(), "font": drawn, "versions": self.question.versions if drawn else 0}


def study(extractor: Extractor, pictures: Pictures, question: Question, listening: Listening) -> dict[str, Any]:
    """The record of one model as plain values; accuracies and probabilities are fractions."""
    sources = Sources(extractor, pictures, question, listening)
    for method in question.methods:
        shifts_of(method, sources.shifts)
    if question.index is not None and not 0 <= question.index < pictures.classes:
        raise InputError(f"there is no class {question.index}: there are {pictures.classes}, from 0")
    facts = sources.facts()  # a font that is not there is told before anything is computed
    tests = _tests(extractor, pictures, listening)
    per_seed: dict[str, list[dict[str, Any]]] = {method: [] for method in question.methods}
    for seed in range(question.seeds):
        known = sources.known(seed)
        for method, found in per_seed.items():
            layer, chosen = _chosen(method, _start(extractor, pictures, seed), known, question.recipe, seed)
            found.append({**measured(layer, tests, question.index), **chosen})
    methods = {}
    if pictures.own:
        methods[AS_IT_WAS] = _summary([measured(extractor.last_layer, tests, question.index)])
    for method, found in per_seed.items():
        methods[method] = _summary(found)
        if ERM in per_seed and method != ERM:
            methods[method]["amplification"] = against_erm(found, per_seed[ERM])
    return {
        "model": extractor.name,
        "digest": extractor.digest,
        "n_train": len(pictures.train),
        "n_test": len(pictures.test),
        "classes": pictures.classes,
        "class": question.index,
        "n_carton": None if question.index is None else int((pictures.test.labels == question.index).sum()),
        "shifts": sources.shifts,
        "begins_as_it_was": pictures.own,
        "seeds": list(range(question.seeds)),
        "training": question.recipe.facts(),
        **facts,
        "tests": tests_in_words(tests),
        "methods": methods,
    }


def _tests(extractor: Extractor, pictures: Pictures, listening: Listening) -> Tests:
    heard = listening(f"{extractor.name}, test")
    labels = torch.from_numpy(pictures.test.labels)
    tests = {view.name: (features(extractor, pictures.test, view, heard), labels) for view in (CLEAN, WATERMARK)}
    for name, images in pictures.test_shifts.items():
        tests[name] = features(extractor, images, CLEAN, heard), torch.from_numpy(images.labels)
    return tests


def _start(extractor: Extractor, pictures: Pictures, seed: int) -> nn.Linear:
    if pictures.own:
        return extractor.last_layer
    with seeded_globally(seed, "last layer"):
        return nn.Linear(extractor.width, pictures.classes)


def _chosen(method: str, start: nn.Linear, known: Known, recipe: Recipe, seed: int) -> tuple[nn.Module, dict[str, Any]]:
    """The layer of the learning rate that does best on held-out pictures, as they are and under the method's shifts.

    By accuracy; among equals by the loss, which a few pictures do not leave undecided.
    """
    learned, held = split(known, recipe.held_out, seed)
    sets = [held.clean]
    for name in shifts_of(method, list(held.shifted)):
        versions, rows = held.shifted[name]
        if len(rows):  # a shift that lacks some of the pictures may lack all that are held out
            sets.append((versions[0], held.clean[1][rows]))
    tried = []
    for rate in recipe.rates:
        layer = trained(method, start, learned, recipe, rate, seed)
        accuracies, losses = zip(*((accuracy(layer, z, y), loss(layer, z, y)) for z, y in sets), strict=True)
        tried.append((sum(accuracies) / len(sets), -sum(losses) / len(sets), rate, layer))
    best, _, rate, layer = max(tried, key=lambda one: one[:2])
    told = [{"rate": one, "held_out_acc": share, "held_out_loss": -worth} for share, worth, one, _ in tried]
    return layer, {"rate": rate, "held_out_acc": best, "held_out": len(held.clean[1]), "tried": told}


def _summary(per_seed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Mean, deviation and interval over seeds of everything that was measured, and every seed's own figures."""
    keys = [key for key in per_seed[0] if key not in ("rate", "held_out", "tried")]
    summaries = {key: summarise([own[key] for own in per_seed]).to_dict() for key in keys}
    return summaries | {"per_seed": {str(seed): dict(own) for seed, own in enumerate(per_seed)}}


def average(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over models of the methods' means, of what every model has, and the ratios of the mean gaps to ERM's."""
    shared = [name for name in records[0]["methods"] if all(name in record["methods"] for record in records)]
    methods: dict[str, dict[str, Any]] = {}
    for name in shared:
        own = [record["methods"][name] for record in records]
        keys = [key for key in own[0] if key not in ("per_seed", "amplification") and all(key in one for one in own)]
        methods[name] = {key: mean_of([one[key]["mean"] for one in own]) for key in keys}
    for name in methods.keys() - {ERM, AS_IT_WAS} if ERM in methods else ():
        methods[name]["amplification"] = {
            key: amplification(as_loss(key, gap), as_loss(key, methods[ERM].get(key)))
            for key, gap in methods[name].items()
            if key.endswith(GAP)
        }
    return {"model": "average", "models": len(records), "methods": methods}
