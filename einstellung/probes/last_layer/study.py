"""Methods and seeds on the features of one model, and the record of what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.classifiers import Extractor
from einstellung.errors import InputError
from einstellung.learners.mitigation.characters import find_font
from einstellung.metrics.statistics import summarise
from einstellung.probes.last_layer.features import CLEAN, WATERMARK, Heard, features, random_characters
from einstellung.probes.last_layer.pictures import Pictures
from einstellung.probes.last_layer.training import WATERMARK_SHIFT, Known, Recipe, shifts_of, split, trained
from einstellung.randomness import seeded_globally

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


def study(extractor: Extractor, pictures: Pictures, question: Question, listening: Listening) -> dict[str, Any]:
    """The record of one model as plain values; accuracies and probabilities are fractions."""
    names = [WATERMARK_SHIFT, *pictures.train_shifts]
    for method in question.methods:
        shifts_of(method, names)
    if question.index is not None and not 0 <= question.index < pictures.classes:
        raise InputError(f"there is no class {question.index}: there are {pictures.classes}, from 0")
    known = _known(extractor, pictures, question, listening)
    tests = _tests(extractor, pictures, listening)
    methods = {}
    if pictures.own:
        methods[AS_IT_WAS] = _summary({0: measured(extractor.last_layer, tests, question.index)})
    for method in question.methods:
        per_seed = {}
        for seed in range(question.seeds):
            layer, facts = _chosen(method, _start(extractor, pictures, seed), known, question.recipe, seed)
            per_seed[seed] = measured(layer, tests, question.index) | facts
        methods[method] = _summary(per_seed)
    return {
        "model": extractor.name,
        "digest": extractor.digest,
        "n_train": len(pictures.train),
        "n_test": len(pictures.test),
        "classes": pictures.classes,
        "class": question.index,
        "shifts": names,
        "begins_as_it_was": pictures.own,
        "methods": methods,
    }


def _known(extractor: Extractor, pictures: Pictures, question: Question, listening: Listening) -> Known:
    labels = torch.from_numpy(pictures.train.labels)
    clean = features(extractor, pictures.train, CLEAN, listening(f"{extractor.name}, train"))
    shifted = {}
    if any(
        WATERMARK_SHIFT in shifts_of(method, [WATERMARK_SHIFT, *pictures.train_shifts]) for method in question.methods
    ):
        font: Path = find_font("wtm_aug", question.font)
        drawn = [
            features(
                extractor,
                pictures.train,
                random_characters(font, draw),
                listening(f"{extractor.name}, watermark {draw}"),
            )
            for draw in range(question.versions)
        ]
        shifted[WATERMARK_SHIFT] = torch.stack(drawn), labels
    for name, images in pictures.train_shifts.items():
        found = features(extractor, images, CLEAN, listening(f"{extractor.name}, {name}"))
        shifted[name] = found.unsqueeze(0), torch.from_numpy(images.labels)
    return Known((clean, labels), shifted)


def _tests(extractor: Extractor, pictures: Pictures, listening: Listening) -> dict[str, tuple[Tensor, Tensor]]:
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


def _chosen(
    method: str, start: nn.Linear, known: Known, recipe: Recipe, seed: int
) -> tuple[nn.Module, dict[str, float]]:
    """The layer of the learning rate that does best on held-out pictures, as they are and under the method's shifts.

    By accuracy; among equals by the loss, which a few pictures do not leave undecided.
    """
    learned, held = split(known, recipe.held_out, seed)
    sets = [held.clean]
    for name in shifts_of(method, list(held.shifted)):
        versions, labels = held.shifted[name]
        sets.append((versions[0], labels))
    tried = []
    for rate in recipe.rates:
        layer = trained(method, start, learned, recipe, rate, seed)
        accuracies, losses = zip(*((accuracy(layer, z, y), loss(layer, z, y)) for z, y in sets), strict=True)
        tried.append((sum(accuracies) / len(sets), -sum(losses), rate, layer))
    best, _, rate, layer = max(tried, key=lambda one: one[:2])
    return layer, {"rate": rate, "held_out_acc": best}


@torch.no_grad()
def measured(layer: nn.Module, tests: Mapping[str, tuple[Tensor, Tensor]], index: int | None) -> dict[str, float]:
    """Accuracy clean, watermarked and under every other shift, with the gaps, and P of the class asked about."""
    values = {f"{name}_acc": accuracy(layer, z, y) for name, (z, y) in tests.items()}
    gaps = {f"{name}_gap": values[f"{name}_acc"] - values["clean_acc"] for name in tests if name != CLEAN.name}
    if index is None:
        return values | gaps
    p = [float(layer(tests[view.name][0]).softmax(1)[:, index].double().mean()) for view in (CLEAN, WATERMARK)]
    return values | gaps | {"p_carton_clean": p[0], "p_carton_watermark": p[1], "dp_carton": p[1] - p[0]}


@torch.no_grad()
def accuracy(layer: nn.Module, z: Tensor, y: Tensor) -> float:
    """The share of features whose most likely class is right."""
    return float((layer(z).argmax(1) == y).double().mean())


@torch.no_grad()
def loss(layer: nn.Module, z: Tensor, y: Tensor) -> float:
    """The mean cross entropy."""
    return float(F.cross_entropy(layer(z), y))


def _summary(per_seed: Mapping[int, Mapping[str, float]]) -> dict[str, Any]:
    """Mean, deviation and interval over seeds of everything that was measured, and every seed's own figures."""
    keys = next(iter(per_seed.values()))
    summaries = {key: summarise([own[key] for own in per_seed.values()]).to_dict() for key in keys}
    return summaries | {"per_seed": {str(seed): dict(own) for seed, own in per_seed.items()}}


def average(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over models of the methods' means, of what every model has."""
    shared = [name for name in records[0]["methods"] if all(name in record["methods"] for record in records)]
    methods = {}
    for name in shared:
        own = [record["methods"][name] for record in records]
        keys = [key for key in own[0] if key != "per_seed" and all(key in one for one in own)]
        methods[name] = {key: sum(one[key]["mean"] for one in own) / len(own) for key in keys}
    return {"model": "average", "models": len(records), "methods": methods}
