"""The verdict on confounding: a word for every method, the sentence behind it, and what both rest on.

The gap is the ceiling minus the accuracy on unconfounded images at the end. The ceiling is what this kind of model reaches when
it is trained on the unconfounded set, where that was measured; else the method's own mean accuracy over its tasks, each taken
right after it was learned. A 95 % interval of the gap above the margin: confounded; below it: not; across it: undecided.
Confounded becomes insidious where joint training on the same data is not confounded and cumulative training, which ends with all
of it too, is: then the order of the tasks does it, and not what was forgotten or never kept.
A study on the unconfounded set is judged by nothing: there its task's own test images are unconfounded, and any gap is zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from einstellung.diagnoses.confounding.settings import DEFAULT_BASELINE
from einstellung.diagnoses.confounding.splits import UNCONFOUNDED
from einstellung.diagnoses.wording import percent, points
from einstellung.metrics.proportions import Interval, difference_interval, wilson_interval

CONFOUNDED = "confounded"
INSIDIOUS = "insidiously confounded"
NOT_CONFOUNDED = "not confounded"
NOT_LEARNED = "tasks not learned"
UNDECIDED = "undecided"
SANITY_CHECK = "sanity check"
VERDICTS = (INSIDIOUS, CONFOUNDED, NOT_CONFOUNDED, NOT_LEARNED, UNDECIDED, SANITY_CHECK)
JOINT, CUMULATIVE = "joint", "cumulative"


class Gap(NamedTuple):
    """How far unconfounded accuracy stays below the ceiling, its interval, and how that was found."""

    value: float
    ci95: Interval | None
    how: str


def with_verdicts(card: Mapping[str, Any], ceiling: Mapping[str, Any] | None) -> dict[str, Any]:
    """The card with a verdict for every method, against ``ceiling`` or, without one, against each method's own tasks."""
    verdict_on = sanity_check if card.get("variant") == UNCONFOUNDED else judge
    plain = {method: verdict_on(record, card, ceiling) for method, record in card["methods"].items()}
    methods = {}
    for method, record in card["methods"].items():
        verdict = _beside_all_data(plain[method], method, card["baseline"], plain)
        sentence = " ".join(part for part in (verdict["sentence"], twins_in_words(card, record)) if part)
        methods[method] = {**record, "verdict": {**verdict, "sentence": sentence}}
    return {**card, "ceiling": dict(ceiling) if ceiling else None, "methods": methods}


def ceiling_of(card: Mapping[str, Any], source: str) -> dict[str, Any] | None:
    """What a study trained on the unconfounded set says about its kind of model: its best method; None if it is no such study.

    ``source`` names the study on pages.
    """
    if card.get("variant") != UNCONFOUNDED:
        return None
    task = card["tasks"][0]
    known = {}
    for method, record in card["methods"].items():
        # The test images of its only task are unconfounded too.
        estimate = record["unconfounded"] if record["unconfounded"]["mean"] is not None else record["current"][task]
        if estimate["mean"] is not None:
            known[method] = (estimate, record["images"])
    if not known:
        return None
    best = max(known, key=lambda method: known[method][0]["mean"])
    estimate, images = known[best]
    return {**estimate, "images": images["unconfounded"] or images["tasks"], "method": best, "source": source}


def judge(
    record: Mapping[str, Any], settings: Mapping[str, Any], ceiling: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The verdict on one method by itself, whatever joint training does.

    ``record`` holds the summaries ``current`` (by task), ``own_tasks``, ``own_gap`` and ``unconfounded``, and the numbers of
    ``images``; ``settings`` the numbers ``chance``, ``margin`` and ``level``.

    >>> seeds = lambda mean, half: {"mean": mean, "sd": half / 2, "n": 5, "ci95": [mean - half, mean + half]}
    >>> record = {"current": {"T1": seeds(1.0, 0.0), "T2": seeds(0.87, 0.02)}, "own_tasks": seeds(0.935, 0.01)}
    >>> record |= {"unconfounded": seeds(0.726, 0.07), "own_gap": seeds(0.209, 0.07), "images": {"unconfounded": 1500}}
    >>> judge(record, {"chance": 0.5, "margin": 0.1, "level": 0.75}, seeds(0.97, 0.005))["name"]
    'confounded'
    """
    unconfounded, tasks = record["unconfounded"], record["current"]
    chance, margin, level = settings["chance"], settings["margin"], settings["level"]
    measured = {task: estimate["mean"] for task, estimate in tasks.items()}
    if unconfounded["mean"] is None or None in measured.values():
        what = "unconfounded accuracy" if unconfounded["mean"] is None else "accuracy on every task it learned"
        return _verdict(UNDECIDED, f"Undecided: {what} was not measured.", record, None, ceiling)
    lowest = min(measured, key=lambda task: measured[task])
    if measured[lowest] < level:
        return _verdict(
            NOT_LEARNED,
            f"Tasks not learned: {percent(measured[lowest])} on {lowest} right after learning it, below the level of "
            f"{percent(level)}, so {percent(unconfounded['mean'])} on unconfounded images says nothing about confounding.",
            record,
            None,
            ceiling,
        )
    if ceiling is not None and ceiling["mean"] < chance + 2 * margin:
        return _verdict(
            UNDECIDED,
            f"Undecided: trained on the unconfounded set itself, this kind of model reaches {percent(ceiling['mean'])} only, "
            f"too close to chance ({percent(chance)}) to tell by a margin of {points(margin)}.",
            record,
            None,
            ceiling,
        )
    gap = _gap_to(ceiling, record) if ceiling is not None else _gap_to_own_tasks(record)
    low, high = gap.ci95 or (gap.value, gap.value)
    name = CONFOUNDED if low > margin else NOT_CONFOUNDED if high < margin else UNDECIDED
    return _verdict(name, _sentence(name, gap, margin, record, ceiling), record, gap, ceiling)


def sanity_check(
    record: Mapping[str, Any], settings: Mapping[str, Any], ceiling: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What is said instead of a verdict where a model was trained on the unconfounded set: how much of it can be learned."""
    estimate = record["unconfounded"]
    if estimate["mean"] is None:
        sentence = "Sanity check: unconfounded accuracy was not measured."
        return _verdict(SANITY_CHECK, sentence, record, None, ceiling)
    images = record["images"].get("unconfounded")
    interval, how = interval_of(estimate, images)
    bounds = f", 95 % [{percent(max(interval[0], 0))}, {percent(min(interval[1], 1))}] ({how})" if interval else ""
    on = f"{images:,} unconfounded test images" if images else "unconfounded test images"
    sentence = (
        f"Sanity check: trained on unconfounded images, {percent(estimate['mean'])} on {on}{bounds}; chance is "
        f"{percent(settings['chance'])}. There is nothing to be confounded by."
    )
    return _verdict(SANITY_CHECK, sentence, record, None, ceiling)


def _verdict(
    name: str, sentence: str, record: Mapping[str, Any], gap: Gap | None, ceiling: Mapping[str, Any] | None
) -> dict[str, Any]:
    return {
        "name": name,
        "sentence": sentence,
        "gap": gap.value if gap else None,
        "gap_ci95": list(gap.ci95) if gap and gap.ci95 else None,
        "interval": gap.how if gap else None,
        "against": "ceiling" if ceiling is not None else "own tasks",
        "seeds": record["unconfounded"]["n"],
        "images": record["images"].get("unconfounded"),
    }


def _gap_to(ceiling: Mapping[str, Any], record: Mapping[str, Any]) -> Gap:
    """Two studies, so two independent estimates, each with an interval over its seeds or, for one seed, over its images."""
    own, how_own = interval_of(record["unconfounded"], record["images"].get("unconfounded"))
    other, how_other = interval_of(ceiling, ceiling.get("images"))
    value = ceiling["mean"] - record["unconfounded"]["mean"]
    if own is None or other is None:
        return Gap(value, None, "no interval: one seed, and the number of images is not recorded")
    how = how_own if how_own == how_other else f"{how_own}; of the ceiling {how_other}"
    return Gap(value, difference_interval(ceiling["mean"], other, record["unconfounded"]["mean"], own), how)


def _gap_to_own_tasks(record: Mapping[str, Any]) -> Gap:
    """The same nets on both sides: paired by seed; for one seed, two independent sets of images."""
    gap = record["own_gap"]
    if gap["ci95"] is not None:
        return Gap(gap["mean"], tuple(gap["ci95"]), f"{_kind(gap)} over {gap['n']} seeds")
    tasks, how = interval_of(record["own_tasks"], record["images"].get("tasks"))
    unconfounded, _ = interval_of(record["unconfounded"], record["images"].get("unconfounded"))
    if tasks is None or unconfounded is None:
        return Gap(gap["mean"], None, "no interval: one seed, and the number of images is not recorded")
    bounds = difference_interval(record["own_tasks"]["mean"], tasks, record["unconfounded"]["mean"], unconfounded)
    return Gap(gap["mean"], bounds, how)


def interval_of(estimate: Mapping[str, Any], images: int | None) -> tuple[Interval | None, str]:
    """The interval over seeds; of a single seed Wilson's over images, which says nothing about other seeds.

    >>> interval_of({"mean": 0.9, "n": 1, "ci95": None}, 100)[1]
    'Wilson interval over images of a single seed'
    """
    if estimate["ci95"] is not None:
        low, high = estimate["ci95"]
        return (low, high), f"{_kind(estimate)} over {estimate['n']} seeds"
    if estimate["mean"] is None or images is None:
        return None, "none"
    return wilson_interval(estimate["mean"], images), "Wilson interval over images of a single seed"


def _kind(estimate: Mapping[str, Any]) -> str:
    return "bootstrap interval" if estimate.get("interval") == "bootstrap" else "t interval"


def _sentence(name: str, gap: Gap, margin: float, record: Mapping[str, Any], ceiling: Mapping[str, Any] | None) -> str:
    reference = (
        f"where this kind of model reaches {percent(ceiling['mean'])} when trained on such images"
        if ceiling is not None
        else f"after {percent(record['own_tasks']['mean'])} on its own tasks when they had just been learned"
    )
    bounds = f", 95 % [{points(gap.ci95[0])}, {points(gap.ci95[1])}]" if gap.ci95 else ""
    relation = {CONFOUNDED: "above", NOT_CONFOUNDED: "below", UNDECIDED: "not clear of"}[name]
    images = record["images"].get("unconfounded")
    on = f"{images:,} unconfounded images" if images else "unconfounded images"
    return (
        f"{name[0].upper()}{name[1:]}: {percent(record['unconfounded']['mean'])} on {on}, {reference}: a gap of "
        f"{points(gap.value)} points{bounds} ({gap.how}), {relation} the margin of {points(margin)}."
    )


_TOO = {CONFOUNDED: "is confounded too", NOT_LEARNED: "did not learn the tasks", UNDECIDED: "is undecided"}
_OPEN = "was not run: whether the order of the tasks does it is open"


def _beside_all_data(
    verdict: Mapping[str, Any], method: str, baseline: str, plain: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """What those say that end with all data: ``joint`` training and, where that succeeds, ``cumulative`` training."""
    joint, cumulative = plain.get(JOINT), plain.get(CUMULATIVE)
    if verdict["name"] != CONFOUNDED or method in (JOINT, baseline, DEFAULT_BASELINE) or joint is None:
        return dict(verdict)
    sentence = verdict["sentence"]
    if joint["name"] != NOT_CONFOUNDED:
        return {**verdict, "sentence": f"{sentence} Joint training {_TOO[joint['name']]}."}
    sentence += " Joint training on the same data is not confounded"
    if cumulative is not None and cumulative["name"] == CONFOUNDED:
        others = "." if method == CUMULATIVE else ", cumulative training is."
        sentence = sentence.replace("Confounded:", "Insidiously confounded:", 1)
        return {**verdict, "name": INSIDIOUS, "sentence": sentence + others}
    if cumulative is None:
        said = _OPEN
    else:
        said = "is not confounded either" if cumulative["name"] == NOT_CONFOUNDED else _TOO[cumulative["name"]]
    return {**verdict, "sentence": f"{sentence}; cumulative training {said}."}


def twins_in_words(card: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """What the twins of the task whose confounder is worth most to the final model show; empty where there are none."""
    drops = {}
    for task, twins in record["twins"].items():
        ends = {kind: estimate["mean"] for kind, estimate in twins["end"].items()}
        if ends["positive_paired"] is not None and ends["positive_twin"] is not None:
            drops[task] = (ends["positive_paired"] - ends["positive_twin"], ends)
    if not drops:
        return ""
    task = max(drops, key=lambda name: drops[name][0])
    ends = drops[task][1]
    place = card["tasks"].index(task)
    named = f"'{card['confounders'][place]}'" if place < len(card["confounders"]) else "the confounder"
    words = (
        f"At the end, taking {named} away from positives of {task}: {percent(ends['positive_paired'])} -> "
        f"{percent(ends['positive_twin'])} right"
    )
    if ends["negative_paired"] is None or ends["negative_twin"] is None:
        return f"{words}."
    return (
        f"{words}; putting it into negatives: {percent(ends['negative_paired'])} -> {percent(ends['negative_twin'])}."
    )
