"""The verdict on confounding: a word for every method, the sentence behind it, and what both rest on.

The gap is the ceiling minus the accuracy on unconfounded images at the end. The ceiling is what this kind of model reaches when
it is trained on the unconfounded set, where that was measured; else the method's own mean accuracy over its tasks, each taken
right after it was learned. A 95 % interval of the gap above the margin: confounded; below it: not; across it: undecided.
Confounded becomes insidious where joint training on the same data is not confounded and cumulative training, which ends with
all of it too, is certainly below it (:mod:`.order`): then the order of the tasks is the cause, not forgotten or discarded data.
A study on the unconfounded set is judged by nothing: there its task's own test images are unconfounded, and any gap is zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from einstellung.diagnoses.card import Card
from einstellung.diagnoses.confounding.card import (
    Ceiling,
    ConfoundingCard,
    ConfoundingVerdict,
    MethodMeasurements,
    OrderEffect,
    TwinAccuracies,
    VerdictName,
)
from einstellung.diagnoses.confounding.order import CUMULATIVE, JOINT, describe_order
from einstellung.diagnoses.confounding.settings import CHANCE, DEFAULT_BASELINE
from einstellung.diagnoses.confounding.splits import UNCONFOUNDED
from einstellung.diagnoses.confounding.study import TaskDescription
from einstellung.diagnoses.wording import percent, points
from einstellung.metrics.proportions import Interval, difference_interval, wilson_interval
from einstellung.metrics.statistics import Summary

CONFOUNDED: VerdictName = "confounded"
INSIDIOUS: VerdictName = "insidiously confounded"
NOT_CONFOUNDED: VerdictName = "not confounded"
NOT_LEARNED: VerdictName = "tasks not learned"
UNDECIDED: VerdictName = "undecided"
SANITY_CHECK: VerdictName = "sanity check"
VERDICTS = (INSIDIOUS, CONFOUNDED, NOT_CONFOUNDED, NOT_LEARNED, UNDECIDED, SANITY_CHECK)
NO_INTERVAL = "no interval: one seed, and the image count was not recorded"


@dataclass(frozen=True)
class Standard:
    """What methods are judged by; without a ``ceiling``, each by its own tasks."""

    margin: float
    level: float
    ceiling: Ceiling | None = None


class Gap(NamedTuple):
    """How far unconfounded accuracy stays below the ceiling, its interval, and how that was found."""

    value: float
    ci95: Interval | None
    how: str


def judge_methods(
    methods: Mapping[str, MethodMeasurements],
    standard: Standard,
    study: TaskDescription,
    *,
    baseline: str,
    tasks: Sequence[str],
    order: OrderEffect | None,
) -> dict[str, ConfoundingVerdict]:
    """The verdict on every method."""
    judge_one = sanity_check if study.variant == UNCONFOUNDED else judge
    alone = {method: judge_one(measured, standard) for method, measured in methods.items()}
    verdicts = {}
    for method, measured in methods.items():
        verdict = _compare_with_all_data(alone[method], method, baseline, alone, order)
        sentence = " ".join(part for part in (verdict.sentence, describe_twins(study, tasks, measured)) if part)
        verdicts[method] = verdict.model_copy(update={"sentence": sentence})
    return verdicts


def ceiling_from(siblings: Mapping[str, Card], study: TaskDescription) -> Ceiling | None:
    """The ceiling of a study: a sibling that was trained on the unconfounded set with a comparable model."""
    if study.ceiling_key is None or study.variant == UNCONFOUNDED:
        return None
    found = None
    for name, card in siblings.items():
        if isinstance(card, ConfoundingCard) and card.ceiling_key == study.ceiling_key:
            found = ceiling_of(card, f"study {name}") or found
    return found


def ceiling_of(card: ConfoundingCard, source: str) -> Ceiling | None:
    """What a study trained on the unconfounded set says about its kind of model: its best method; None if it is no such study.

    ``source`` names the study on pages.
    """
    if card.variant != UNCONFOUNDED:
        return None
    known: dict[str, tuple[float, Summary, int | None]] = {}
    for method, record in card.methods.items():
        # The test images of its only task are unconfounded too.
        estimate = record.unconfounded if record.unconfounded.mean is not None else record.current[card.tasks[0]]
        if estimate.mean is not None:
            known[method] = (estimate.mean, estimate, record.images.unconfounded or record.images.tasks)
    if not known:
        return None
    best = max(known, key=lambda method: known[method][0])
    mean, estimate, images = known[best]
    return Ceiling(
        mean=mean,
        sd=estimate.sd,
        n=estimate.n,
        ci95=estimate.ci95,
        interval=estimate.interval,
        images=images,
        method=best,
        source=source,
    )


def judge(measured: MethodMeasurements, standard: Standard) -> ConfoundingVerdict:
    """The verdict on one method by itself, whatever joint training does."""
    ceiling, margin = standard.ceiling, standard.margin
    unconfounded = measured.unconfounded.mean
    tasks = {task: estimate.mean for task, estimate in measured.current.items() if estimate.mean is not None}
    if unconfounded is None or len(tasks) < len(measured.current):
        what = "unconfounded accuracy" if unconfounded is None else "accuracy on every task it learned"
        return _verdict(UNDECIDED, f"Undecided: {what} was not measured.", measured, standard)
    lowest = min(tasks, key=lambda task: tasks[task])
    if tasks[lowest] < standard.level:
        return _verdict(
            NOT_LEARNED,
            f"Tasks not learned: {percent(tasks[lowest])} on {lowest} right after learning it, below the level of "
            f"{percent(standard.level)}, so {percent(unconfounded)} on unconfounded images is uninformative about confounding.",
            measured,
            standard,
        )
    if ceiling is not None and ceiling.mean < CHANCE + 2 * margin:
        return _verdict(
            UNDECIDED,
            f"Undecided: even trained on the unconfounded set, this kind of model reaches only {percent(ceiling.mean)}, "
            f"too close to chance ({percent(CHANCE)}) for a margin of {points(margin)}.",
            measured,
            standard,
        )
    gap = _gap_to(ceiling, measured) if ceiling is not None else _gap_to_own_tasks(measured)
    low, high = gap.ci95 or (gap.value, gap.value)
    name = CONFOUNDED if low > margin else NOT_CONFOUNDED if high < margin else UNDECIDED
    return _verdict(name, _sentence(name, gap, measured, standard), measured, standard, gap)


def sanity_check(measured: MethodMeasurements, standard: Standard) -> ConfoundingVerdict:
    """What replaces the verdict of a model trained on the unconfounded set: how much of the set can be learned."""
    estimate = measured.unconfounded
    if estimate.mean is None:
        sentence = "Sanity check: unconfounded accuracy was not measured."
        return _verdict(SANITY_CHECK, sentence, measured, standard)
    images = measured.images.unconfounded
    interval, how = interval_of(estimate, images)
    bounds = f", 95 % [{percent(max(interval[0], 0))}, {percent(min(interval[1], 1))}] ({how})" if interval else ""
    on = f"{images:,} unconfounded test images" if images else "unconfounded test images"
    sentence = (
        f"Sanity check: trained on unconfounded images, {percent(estimate.mean)} on {on}{bounds}; chance is "
        f"{percent(CHANCE)}. This training set has no confounder."
    )
    return _verdict(SANITY_CHECK, sentence, measured, standard)


def _verdict(
    name: VerdictName, sentence: str, measured: MethodMeasurements, standard: Standard, gap: Gap | None = None
) -> ConfoundingVerdict:
    return ConfoundingVerdict(
        name=name,
        sentence=sentence,
        gap=gap.value if gap else None,
        gap_ci95=gap.ci95 if gap else None,
        interval=gap.how if gap else None,
        against="ceiling" if standard.ceiling is not None else "own tasks",
        seeds=measured.unconfounded.n,
        images=measured.images.unconfounded,
    )


def _gap_to(ceiling: Ceiling, measured: MethodMeasurements) -> Gap:
    """Two studies, so two independent estimates, each with an interval over its seeds or, for one seed, over its images."""
    own, how_own = interval_of(measured.unconfounded, measured.images.unconfounded)
    other, how_other = interval_of(ceiling.summary, ceiling.images)
    reached = _known(measured.unconfounded)
    if own is None or other is None:
        return Gap(ceiling.mean - reached, None, NO_INTERVAL)
    how = how_own if how_own == how_other else f"{how_own}; of the ceiling {how_other}"
    return Gap(ceiling.mean - reached, difference_interval(ceiling.mean, other, reached, own), how)


def _gap_to_own_tasks(measured: MethodMeasurements) -> Gap:
    """The same nets on both sides: paired by seed; for one seed, two independent sets of images."""
    gap = measured.own_gap
    if gap.ci95 is not None:
        return Gap(_known(gap), gap.ci95, f"t interval over {gap.n} seeds")
    tasks, how = interval_of(measured.own_tasks, measured.images.tasks)
    unconfounded, _ = interval_of(measured.unconfounded, measured.images.unconfounded)
    if tasks is None or unconfounded is None:
        return Gap(_known(gap), None, NO_INTERVAL)
    bounds = difference_interval(_known(measured.own_tasks), tasks, _known(measured.unconfounded), unconfounded)
    return Gap(_known(gap), bounds, how)


def _known(estimate: Summary) -> float:
    assert estimate.mean is not None, "only measured values are compared"
    return estimate.mean


def interval_of(estimate: Summary, images: int | None) -> tuple[Interval | None, str]:
    """The interval over seeds; of a single seed Wilson's over images, which says nothing about other seeds.

    >>> interval_of(Summary(0.9, None, 1, None, "n = 1: no interval"), 100)[1]
    'Wilson interval over images of a single seed'
    """
    if estimate.ci95 is not None:
        return estimate.ci95, f"t interval over {estimate.n} seeds"
    if estimate.mean is None or images is None:
        return None, "none"
    return wilson_interval(estimate.mean, images), "Wilson interval over images of a single seed"


def _sentence(name: VerdictName, gap: Gap, measured: MethodMeasurements, standard: Standard) -> str:
    reference = (
        f"where this kind of model reaches {percent(standard.ceiling.mean)} when trained on such images"
        if standard.ceiling is not None
        else f"after {percent(_known(measured.own_tasks))} on its own tasks when they had just been learned"
    )
    bounds = f", 95 % [{points(gap.ci95[0])}, {points(gap.ci95[1])}]" if gap.ci95 else ""
    relation = {CONFOUNDED: "above", NOT_CONFOUNDED: "below", UNDECIDED: "not clear of"}[name]
    images = measured.images.unconfounded
    on = f"{images:,} unconfounded images" if images else "unconfounded images"
    return (
        f"{name[0].upper()}{name[1:]}: {percent(_known(measured.unconfounded))} on {on}, {reference}: a gap of "
        f"{points(gap.value)} points{bounds} ({gap.how}), {relation} the margin of {points(standard.margin)}."
    )


_TOO = {
    CONFOUNDED: "is confounded too",
    NOT_CONFOUNDED: "is not confounded either",
    NOT_LEARNED: "did not learn the tasks",
    UNDECIDED: "is undecided",
}


def _compare_with_all_data(
    verdict: ConfoundingVerdict,
    method: str,
    baseline: str,
    alone: Mapping[str, ConfoundingVerdict],
    order: OrderEffect | None,
) -> ConfoundingVerdict:
    """What training on all data shows: ``joint`` training and, if that succeeds, how far ``cumulative`` training is below it."""
    joint, cumulative = alone.get(JOINT), alone.get(CUMULATIVE)
    if verdict.name != CONFOUNDED or method in (JOINT, baseline, DEFAULT_BASELINE) or joint is None:
        return verdict
    if joint.name != NOT_CONFOUNDED:
        return verdict.model_copy(update={"sentence": f"{verdict.sentence} Joint training {_TOO[joint.name]}."})
    said, name = "", verdict.name
    if cumulative is None:
        said = "; cumulative training was not run, so whether task order is the cause is unknown"
    elif cumulative.name == NOT_LEARNED:
        said = f"; cumulative training {_TOO[NOT_LEARNED]}"
    elif order is None:
        said = "; cumulative training has no seed in common with it, so whether task order is the cause is unknown"
    else:
        itself = (
            ""
            if method == CUMULATIVE or order.evidence == "certain"
            else f"; cumulative training {_TOO[cumulative.name]}"
        )
        said = f"{itself}; {describe_order(order)}"
        name = INSIDIOUS if order.evidence == "certain" else name
    sentence = f"{verdict.sentence} Joint training on the same data is not confounded{said}."
    if name == INSIDIOUS:
        sentence = sentence.replace("Confounded:", "Insidiously confounded:", 1)
    return verdict.model_copy(update={"name": name, "sentence": sentence})


def describe_twins(study: TaskDescription, tasks: Sequence[str], measured: MethodMeasurements) -> str:
    """What the twins of the task whose confounder is worth most to the final model show; empty where there are none."""
    drops: dict[str, tuple[float, TwinAccuracies]] = {}
    for task, twins in measured.twins.items():
        before, after = (estimate.mean for estimate in twins.end.pair("positive"))
        if before is not None and after is not None:
            drops[task] = (before - after, twins.end)
    if not drops:
        return ""
    task = max(drops, key=lambda name: drops[name][0])
    end = drops[task][1]
    place = tasks.index(task)
    named = f"'{study.confounders[place]}'" if place < len(study.confounders) else "the confounder"
    words = (
        f"At the end, removing {named} from positives of {task}: {percent(_known(end.positive_paired))} -> "
        f"{percent(_known(end.positive_twin))} right"
    )
    before, after = (estimate.mean for estimate in end.pair("negative"))
    if before is None or after is None:
        return f"{words}."
    return f"{words}; adding it to negatives: {percent(before)} -> {percent(after)}."
