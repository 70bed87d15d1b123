"""The checks in the proof of a ConCon stream.

Truth values are recomputed from the scenes' attributes with the protocol's formulas, independently of the sampling code. Images
without scene records can only be checked by their pixels, and the proof says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np

from einstellung.checks import Check
from einstellung.scenes.attributes import COLUMNS
from einstellung.scenes.audit import AuditedScenes, audit
from einstellung.scenes.rules import RuleBook
from einstellung.scenes.store import SceneSet
from einstellung.streams.stream import Stream

SceneSets = Mapping[str, SceneSet]
Checker = Callable[[Stream], Check]
_NO_RECORDS = "not checked: the images have no scene records"
_NO_IMAGES = "not checked: without images, scenes coincide by chance; each set has its own generator"
_DERIVED = ("_train", "_paired", "_twin")  # sets derived from the scenes of another set


def scenes_obey_rules(book: RuleBook, variant: str, scenes: SceneSets) -> Checker:
    """Every scene satisfies the predicate of its class: p_t for positives, n_t for negatives."""

    def check(stream: Stream) -> Check:
        name = "every scene satisfies the rule of its task and label"
        if _no_records(scenes):
            return Check(name, None, _NO_RECORDS)
        own = {where: data for where, data in scenes.items() if not where.endswith(_DERIVED)}
        problems = []
        for where, data in own.items():
            wrong = int((~_allowed(book, variant, where, data)).sum())
            if wrong:
                problems.append(f"{wrong} of {len(data.labels)} scenes of {where} violate their rule")
        seen = sum(len(data.labels) for data in own.values())
        return Check(
            name, not problems, "; ".join(problems) or f"{seen:,} scenes of {len(own)} sets, variant {variant}"
        )

    return check


def confounders_go_with_labels(book: RuleBook, variant: str, scenes: SceneSets) -> Checker:
    """The confounder alone solves its own task, and about half of the unconfounded set."""

    def check(stream: Stream) -> Check:
        name = "each confounder alone solves its task and not the unconfounded set"
        if variant == "unconfounded":
            return Check(name, None, "not checked: the unconfounded variant has no confounder")
        if _no_records(scenes):
            return Check(name, None, _NO_RECORDS)
        words, passed = [], True
        for task, phase in enumerate(stream.phases):
            own = _balanced(book, task, scenes[f"{phase.name}_positive"], scenes[f"{phase.name}_negative"])
            free = _balanced(book, task, scenes["unconfounded_positive"], scenes["unconfounded_negative"])
            passed &= own == 1 and free < 0.9
            words.append(
                f"'{book.confounder_words(task)}' is right on {own:.1%} of {phase.name}, {free:.1%} of unconfounded"
            )
        return Check(name, passed, "; ".join(words))

    return check


def twins_differ_by_confounder(book: RuleBook, variant: str, scenes: SceneSets) -> Checker:
    """A twin differs from its original only in the confounder, and has the same label."""

    def check(stream: Stream) -> Check:
        name = "twins differ only in their task's confounder"
        problems, words = [], []
        for task, phase in enumerate(stream.phases):
            for word, insert in (("positive", False), ("negative", True)):
                key = f"{phase.name}_{word}"
                if f"{key}_twin" not in scenes:
                    if variant != "unconfounded" and not _no_records(scenes):
                        words.append(f"{key} none of {len(scenes[key].labels)}")
                    continue
                one, twin = scenes[f"{key}_paired"], scenes[f"{key}_twin"]
                problems += [f"{key}: {problem}" for problem in _differences(book, task, one, twin, insert)]
                words.append(
                    f"{key} {len(twin.labels)} of {len(scenes[key].labels)}{_side_effects(book, task, one, twin)}"
                )
        if not any(key.endswith("_twin") for key in scenes):
            return Check(name, None, "; ".join(("not checked: no twins in this study", *words)))
        return Check(name, not problems, "; ".join(problems or words))

    return check


def nothing_shared(book: RuleBook, variant: str, scenes: SceneSets) -> Checker:
    """No image is in two phases, and no training image is evaluated on.

    For tables, the images they were read from are compared: equal tables occur by chance.
    """

    def check(stream: Stream) -> Check:
        name = "no image is shared by phases, training and test"
        pixels = stream.phases[0].train.images.shape[1] == 3
        shown = {phase.name: phase.train for phase in stream.phases}
        shown |= {split.name: split.images for split in stream.splits if not split.name.endswith(_DERIVED)}
        hashes = {
            where: _image_hashes(one.images.numpy() if pixels else scenes[where].images) for where, one in shown.items()
        }
        known_hashes = {where: own_hashes for where, own_hashes in hashes.items() if own_hashes is not None}
        sizes = ", ".join(f"{phase.name} {len(phase.train):,} training images" for phase in stream.phases)
        if len(known_hashes) < len(hashes):
            return Check(name, None, f"{_NO_IMAGES}; {sizes}")
        found = []
        phases = {phase.name: set(known_hashes.pop(phase.name)) for phase in stream.phases}
        for one, other in combinations(phases, 2):
            if count := len(phases[one] & phases[other]):
                found.append(f"{one} and {other} share {count} training images")
        for phase, known in phases.items():
            for split, own_hashes in known_hashes.items():
                if count := sum(picture in known for picture in own_hashes):
                    found.append(f"{split} holds {count} training images of {phase}")
        return Check(name, not found, "; ".join(found) or sizes)

    return check


def classes_weigh_the_same(book: RuleBook, variant: str, scenes: SceneSets) -> Checker:
    """Sets with both classes have as many positives as negatives, so that chance is one half."""

    def check(stream: Stream) -> Check:
        sets = {phase.name: phase.train for phase in stream.phases}
        sets |= {split.name: split.images for split in stream.splits if split.name.endswith(("_train", "_val"))}
        uneven = []
        for name, images in sets.items():
            positives = int(images.labels.sum())
            if 2 * positives != len(images):
                uneven.append(f"{name} has {positives} positives among {len(images)}")
        for split in stream.splits:
            if len(split.images) == 0:
                uneven.append(f"{split.name} is empty")
        return Check(
            "positives and negatives are balanced, so chance is one half",
            not uneven,
            "; ".join(uneven) or f"{len(sets)} sets, half of each positive",
        )

    return check


def no_unintended_rule(book: RuleBook, variant: str, scenes: SceneSets) -> Checker:
    """No predicate separates the classes better than the rules explain."""

    def check(stream: Stream) -> Check:
        name = "no unintended rule separates the classes"
        if _no_records(scenes):
            return Check(name, None, _NO_RECORDS)
        training = [scenes[phase.name] for phase in stream.phases]
        places = [data.places for data in training if data.places is not None]
        result = audit(
            book,
            AuditedScenes(
                np.concatenate([np.asarray(data.attributes) for data in training]),
                np.concatenate([data.labels for data in training]),
                np.repeat(np.arange(len(training)), [len(data) for data in training]),
                np.concatenate(places) if places else None,
            ),
            variant,
        )
        found = [f"T{one.task + 1}: {one.words}" for one in result.unintended[:3]]
        searched = f"none among {result.predicates} small predicates over {result.scenes:,} training scenes"
        return Check(name, not result.unintended, "; ".join(found) or searched)

    return check


def _no_records(scenes: SceneSets) -> bool:
    return any(data.attributes is None for data in scenes.values())


def _truths(book: RuleBook, data: SceneSet) -> np.ndarray:
    assert data.attributes is not None
    return book.truths(np.asarray(data.attributes), data.places)


def _allowed(book: RuleBook, variant: str, where: str, data: SceneSet) -> np.ndarray:
    truths = _truths(book, data)
    g, c = truths[:, 0], truths[:, 1:]
    positive = np.asarray(data.labels) == 1
    if variant == "unconfounded" or where.startswith("unconfounded"):
        return np.asarray(g == positive)
    task = int(where.partition("_")[0].removeprefix("T")) - 1
    right = np.where(positive, g & c[:, task], ~g & ~c[:, task])
    if variant == "disjoint":
        right &= ~np.delete(c, task, axis=1).any(axis=1)
    return np.asarray(right)


def _balanced(book: RuleBook, task: int, positives: SceneSet, negatives: SceneSet) -> float:
    """The balanced accuracy of predicting c_t."""
    return float((_truths(book, positives)[:, 1 + task].mean() + (~_truths(book, negatives)[:, 1 + task]).mean()) / 2)


def _differences(book: RuleBook, task: int, one: SceneSet, twin: SceneSet, insert: bool) -> list[str]:
    before, after = _truths(book, one), _truths(book, twin)
    problems = []
    if not np.array_equal(before[:, 0], after[:, 0]):
        problems.append("the ground truth changed in some twins")
    if not (after[:, 1 + task] == insert).all() or not (before[:, 1 + task] != insert).all():
        problems.append("the confounder did not change in some twins")
    assert one.attributes is not None
    assert twin.attributes is not None
    changed = np.asarray(one.attributes) != np.asarray(twin.attributes)
    if not changed.any(axis=(1, 2)).all():
        problems.append("some twins are identical to their original")
    rule = book.confounders[task]
    named = [column for column, name in enumerate(COLUMNS) if any(getattr(pattern, name) for pattern in rule)]
    if np.delete(changed, named, axis=2).any():
        problems.append("attributes other than the confounder's changed in some twins")
    with_confounder = twin if insert else one
    has_confounder = np.any(
        [pattern.matches(np.asarray(with_confounder.attributes), with_confounder.places) for pattern in rule], axis=0
    )
    if (changed.any(axis=2) & ~has_confounder).any():
        problems.append("objects without the confounder changed in some twins")
    if one.scenes is not None and twin.scenes is not None:
        kept = ("position", "rotation", "camera", "lamps")
        same = all(np.array_equal(getattr(one.scenes, name), getattr(twin.scenes, name)) for name in kept)
        if not same:
            problems.append("objects, camera or lamps were moved in some twins")
    return problems


def _side_effects(book: RuleBook, task: int, one: SceneSet, twin: SceneSet) -> str:
    """How many twins also change another task's confounder."""
    changed = np.delete(_truths(book, one) != _truths(book, twin), [0, 1 + task], axis=1).any(axis=1)
    return f" ({int(changed.sum())} also change another confounder)" if changed.any() else ""


def _image_hashes(images: np.ndarray | None) -> list[bytes] | None:
    """A short hash per image, so that a second copy of all images is not needed in memory."""
    if images is None:
        return None
    return [hashlib.blake2b(np.ascontiguousarray(image).data, digest_size=16).digest() for image in images]


CHECKS = (
    scenes_obey_rules,
    confounders_go_with_labels,
    twins_differ_by_confounder,
    nothing_shared,
    classes_weigh_the_same,
    no_unintended_rule,
)
