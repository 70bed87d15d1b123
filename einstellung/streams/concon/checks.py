"""What a ConCon stream proves before anybody trains on it.

Truths are computed anew from the scenes' attributes, by the formulas of the protocol rather than by the code that drew them.
Of pictures without a record of their scenes, only what pictures show can be checked, and the proof says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np

from einstellung.scenes.attributes import COLUMNS
from einstellung.scenes.audit import AuditedScenes, audit
from einstellung.scenes.rules import RuleBook
from einstellung.scenes.store import SceneSet
from einstellung.streams.check import Check
from einstellung.streams.stream import Stream

SceneSets = Mapping[str, SceneSet]
Checker = Callable[[Stream], Check]
_UNKNOWN = "not checked: no record tells what is in the pictures"
_RECUR = "not checked: scenes without pictures are alike by chance, and each was drawn by a generator of its own"
_OF_OTHERS = ("_train", "_paired", "_twin")  # sets whose scenes are those of another set, or made from them


def scenes_obey_rules(book: RuleBook, variant: str, scenes: SceneSets) -> Checker:
    """Every scene belongs where it is: p_t for positives, n_t for negatives."""

    def check(stream: Stream) -> Check:
        name = "every scene obeys the rule of its task and label"
        if _nothing_known(scenes):
            return Check(name, True, _UNKNOWN)
        own = {where: lot for where, lot in scenes.items() if not where.endswith(_OF_OTHERS)}
        amiss = []
        for where, lot in own.items():
            wrong = int((~_allowed(book, variant, where, lot)).sum())
            if wrong:
                amiss.append(f"{wrong} of {len(lot.labels)} scenes of {where} break their rule")
        seen = sum(len(lot.labels) for lot in own.values())
        return Check(name, not amiss, "; ".join(amiss) or f"{seen:,} scenes of {len(own)} sets, variant {variant}")

    return check


def confounders_go_with_labels(book: RuleBook, variant: str, scenes: SceneSets) -> Checker:
    """What the confounder alone would get: all of its own task, about half of the unconfounded set."""

    def check(stream: Stream) -> Check:
        name = "each confounder alone solves its task and not the unconfounded set"
        if variant == "unconfounded":
            return Check(name, True, "there is no confounder: the sanity check")
        if _nothing_known(scenes):
            return Check(name, True, _UNKNOWN)
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
    """A twin is the same scene but for the confounder, and what should be said of it is the same."""

    def check(stream: Stream) -> Check:
        name = "a twin is the same scene but for its task's confounder"
        problems, words = [], []
        for task, phase in enumerate(stream.phases):
            for word, insert in (("positive", False), ("negative", True)):
                key = f"{phase.name}_{word}"
                if f"{key}_twin" not in scenes:
                    if variant != "unconfounded" and not _nothing_known(scenes):
                        words.append(f"{key} none of {len(scenes[key].labels)}")
                    continue
                one, twin = scenes[f"{key}_paired"], scenes[f"{key}_twin"]
                problems += [f"{key}: {problem}" for problem in _differences(book, task, one, twin, insert)]
                words.append(f"{key} {len(twin.labels)} of {len(scenes[key].labels)}{_others(book, task, one, twin)}")
        return Check(name, not problems, "; ".join(problems) or "; ".join(words) or "no twins in this study")

    return check


def nothing_shared(book: RuleBook, variant: str, scenes: SceneSets) -> Checker:
    """No image is in two phases, and none that was trained on is held out or tested on.

    Of tables, the pictures that they were read off are compared: tables themselves recur.
    """

    def check(stream: Stream) -> Check:
        name = "no image is shared by phases, training and test"
        pixels = stream.phases[0].train.images.shape[1] == 3
        shown = {phase.name: phase.train for phase in stream.phases}
        shown |= {split.name: split.images for split in stream.splits if not split.name.endswith(_OF_OTHERS)}
        looks = {where: _looks(one.images.numpy() if pixels else scenes[where].images) for where, one in shown.items()}
        told = {where: look for where, look in looks.items() if look is not None}
        sizes = ", ".join(f"{phase.name} {len(phase.train):,} training images" for phase in stream.phases)
        if len(told) < len(looks):
            return Check(name, True, f"{_RECUR}; {sizes}")
        found = []
        phases = {phase.name: set(told.pop(phase.name)) for phase in stream.phases}
        for one, other in combinations(phases, 2):
            if count := len(phases[one] & phases[other]):
                found.append(f"{one} and {other} share {count} training images")
        for phase, known in phases.items():
            for split, look in told.items():
                if count := sum(picture in known for picture in look):
                    found.append(f"{split} holds {count} training images of {phase}")
        return Check(name, not found, "; ".join(found) or sizes)

    return check


def classes_weigh_the_same(book: RuleBook, variant: str, scenes: SceneSets) -> Checker:
    """As many positives as negatives wherever both are, so that chance is one half."""

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
            "positives and negatives weigh the same, so chance is one half",
            not uneven,
            "; ".join(uneven) or f"{len(sets)} sets, half of each positive",
        )

    return check


def no_unintended_rule(book: RuleBook, variant: str, scenes: SceneSets) -> Checker:
    """Nothing in the scenes separates the classes that the rules do not ask for."""

    def check(stream: Stream) -> Check:
        name = "no unintended rule separates the classes"
        if _nothing_known(scenes):
            return Check(name, True, _UNKNOWN)
        lots = [scenes[phase.name] for phase in stream.phases]
        places = [lot.places for lot in lots if lot.places is not None]
        result = audit(
            book,
            AuditedScenes(
                np.concatenate([np.asarray(lot.attributes) for lot in lots]),
                np.concatenate([lot.labels for lot in lots]),
                np.repeat(np.arange(len(lots)), [len(lot) for lot in lots]),
                np.concatenate(places) if places else None,
            ),
            variant,
        )
        found = [f"T{one.task + 1}: {one.words}" for one in result.unintended[:3]]
        looked = f"none among {result.predicates} small predicates over {result.scenes:,} training scenes"
        return Check(name, not result.unintended, "; ".join(found) or looked)

    return check


def _nothing_known(scenes: SceneSets) -> bool:
    return any(lot.attributes is None for lot in scenes.values())


def _truths(book: RuleBook, lot: SceneSet) -> np.ndarray:
    assert lot.attributes is not None
    return book.truths(np.asarray(lot.attributes), lot.places)


def _allowed(book: RuleBook, variant: str, where: str, lot: SceneSet) -> np.ndarray:
    truths = _truths(book, lot)
    g, c = truths[:, 0], truths[:, 1:]
    positive = np.asarray(lot.labels) == 1
    if variant == "unconfounded" or where.startswith("unconfounded"):
        return np.asarray(g == positive)
    task = int(where.partition("_")[0].removeprefix("T")) - 1
    right = np.where(positive, g & c[:, task], ~g & ~c[:, task])
    if variant == "disjoint":
        right &= ~np.delete(c, task, axis=1).any(axis=1)
    return np.asarray(right)


def _balanced(book: RuleBook, task: int, positives: SceneSet, negatives: SceneSet) -> float:
    """The mean over both classes of how often 'positive where c_t holds' is right."""
    return float((_truths(book, positives)[:, 1 + task].mean() + (~_truths(book, negatives)[:, 1 + task]).mean()) / 2)


def _differences(book: RuleBook, task: int, one: SceneSet, twin: SceneSet, insert: bool) -> list[str]:
    before, after = _truths(book, one), _truths(book, twin)
    problems = []
    if not np.array_equal(before[:, 0], after[:, 0]):
        problems.append("the ground truth changed in some twins")
    if not (after[:, 1 + task] == insert).all() or not (before[:, 1 + task] != insert).all():
        problems.append("the confounder is not what changed in some twins")
    assert one.attributes is not None
    assert twin.attributes is not None
    changed = np.asarray(one.attributes) != np.asarray(twin.attributes)
    if not changed.any(axis=(1, 2)).all():
        problems.append("some twins are the scene itself")
    rule = book.confounders[task]
    named = [column for column, name in enumerate(COLUMNS) if any(getattr(pattern, name) for pattern in rule)]
    if np.delete(changed, named, axis=2).any():
        problems.append("something else than what the confounder is about changed in some twins")
    bearing = twin if insert else one
    bears = np.any([pattern.matches(np.asarray(bearing.attributes), bearing.places) for pattern in rule], axis=0)
    if (changed.any(axis=2) & ~bears).any():
        problems.append("objects without the confounder changed in some twins")
    if one.scenes is not None and twin.scenes is not None:
        kept = ("position", "rotation", "camera", "lamps")
        same = all(np.array_equal(getattr(one.scenes, name), getattr(twin.scenes, name)) for name in kept)
        if not same:
            problems.append("objects, camera or lamps were moved in some twins")
    return problems


def _others(book: RuleBook, task: int, one: SceneSet, twin: SceneSet) -> str:
    """How many twins could not but change another task's confounder along with their own."""
    changed = np.delete(_truths(book, one) != _truths(book, twin), [0, 1 + task], axis=1).any(axis=1)
    return f" ({int(changed.sum())} change another confounder, too)" if changed.any() else ""


def _looks(images: np.ndarray | None) -> list[bytes] | None:
    """A short hash of every picture: many large ones fit into memory once, not twice."""
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
