"""Checks of a timeline of confounded tasks; they run with every score and are shown with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from einstellung.checks import Check
from einstellung.diagnoses.checks import (
    same_budget_over_seeds,
    same_images,
    seeds_are_paired,
    seeds_differ,
    twins_are_paired,
    twins_change_something,
)
from einstellung.diagnoses.confounding.runs import task_curve
from einstellung.diagnoses.confounding.splits import LABELS, UNCONFOUNDED, describe_split
from einstellung.diagnoses.wording import counted, listed, run_name
from einstellung.metrics.curves import TOLERANCE, value_at
from einstellung.timeline import Timeline

SOLVED = 0.95  # a confounder is so simple that an untrained net may be right on most of a task, but hardly on all of it


def confounding_checks(timeline: Timeline, tasks: Sequence[str], baseline: str | None) -> list[Check]:
    """All checks; ``baseline`` is the name of the method that starts fresh in every phase, None if there is none."""
    checks: list[Callable[[], Check]] = [
        lambda: phases_are_there(timeline, tasks),
        lambda: both_labels_are_there(timeline, tasks),
        lambda: all_splits_at_the_end(timeline),
        lambda: same_images(timeline),
        lambda: twins_are_paired(timeline, twin_pairs(tasks)),
        lambda: twins_change_something(timeline, twin_pairs(tasks)),
        lambda: same_budget_over_seeds(timeline),
        lambda: starts_untrained(timeline, tasks),
        lambda: seeds_differ(timeline),
        lambda: seeds_are_paired(timeline, baseline),
        lambda: split_names_are_understood(timeline),
    ]
    return [check() for check in checks]


def phases_are_there(timeline: Timeline, tasks: Sequence[str]) -> Check:
    """A run has rows of every phase, or of the last alone: then it learned all tasks at once."""
    name = "every phase was recorded"
    at_once, lacking = [], []
    for run in timeline.runs:
        phases = timeline.phases(*run)
        if len(tasks) > 1 and phases == tuple(tasks[-1:]):
            at_once.append(run[0])
        elif absent := [task for task in tasks if task not in phases]:
            lacking.append(f"{run_name(run)} has no rows of {', '.join(absent)}")
    if lacking:
        return Check(name, False, listed(lacking))
    together = f"; {', '.join(dict.fromkeys(at_once))} in one phase, all tasks at once" if at_once else ""
    return Check(name, True, f"{counted(len(tasks), 'phase')} in {counted(len(timeline.runs), 'run')}{together}")


def both_labels_are_there(timeline: Timeline, tasks: Sequence[str]) -> Check:
    """Accuracy on a task is the mean over both labels: with one label, a constant prediction would look good."""
    name = "positives and negatives are both measured"
    lacking = []
    for run in timeline.runs:
        measured = {split for phase in timeline.phases(*run) for split in timeline.curves(*run, phase)}
        absent = [f"{what}_{label}" for what in (*tasks, UNCONFOUNDED) for label in LABELS]
        if absent := [split for split in absent if split not in measured]:
            lacking.append(f"{run_name(run)} lacks {', '.join(absent)}")
    of = f"{', '.join(tasks)} and the unconfounded set"
    return Check(name, not lacking, listed(lacking) or f"{of}, in {counted(len(timeline.runs), 'run')}")


def all_splits_at_the_end(timeline: Timeline) -> Check:
    """A split measured in any phase is measured at the end of every phase; otherwise the accuracy matrix has gaps."""
    name = "all splits are measured at the end of every phase"
    lacking, moments = [], 0
    for run in timeline.runs:
        known = {split for phase in timeline.phases(*run) for split in timeline.curves(*run, phase)}
        for phase in timeline.phases(*run):
            curves = timeline.curves(*run, phase)
            last = max(float(curve.epochs[-1]) for curve in curves.values())
            held = {split for split, curve in curves.items() if value_at(curve.epochs, curve.acc, last) is not None}
            moments += 1
            if absent := sorted(known - held):
                lacking.append(
                    f"{run_name(run)} after {phase}: {', '.join(absent[:4])}{', ...' if len(absent) > 4 else ''}"
                )
    return Check(name, not lacking, listed(lacking) or f"{counted(moments, 'end')} of phases, complete")


def twin_pairs(tasks: Sequence[str]) -> list[tuple[str, str]]:
    """The splits of images that have a twin, each with the split of its twins."""
    return [(f"{task}_{label}_paired", f"{task}_{label}_twin") for task in tasks for label in LABELS]


def starts_untrained(timeline: Timeline, tasks: Sequence[str]) -> Check:
    """Before the first step of the first phase, no task is solved already."""
    name = "no task is solved before training"
    found: dict[str, float] = {}
    for run in timeline.runs:
        phases = timeline.phases(*run)
        curves = timeline.curves(*run, phases[0])
        for task in tasks:
            curve = task_curve(curves, task)
            start = None if curve is None else value_at(*curve, 0.0)
            if start is not None:
                found[f"{run_name(run)}, {task}"] = start
    if not found:
        return Check(name, None, "nothing was measured before the first step")
    highest = max(found, key=lambda what: found[what])
    detail = (
        f"highest accuracy before the first step: {found[highest]:.3f} ({highest}); solved means at least {SOLVED:g}"
    )
    return Check(name, found[highest] < SOLVED - TOLERANCE, detail)


def split_names_are_understood(timeline: Timeline) -> Check:
    """Other splits are ignored; one that begins like a task's or an unconfounded one is taken for a typo."""
    name = "split names are recognised"
    strange = [split for split in timeline.splits if describe_split(split) is None]
    slips = [split for split in strange if split.partition("_")[0].lower().removeprefix("t").isdigit()]
    slips += [split for split in strange if split.lower().startswith(UNCONFOUNDED[:7])]
    if slips:
        return Check(name, False, f"unrecognised: {', '.join(slips)}")
    aside = f"; ignored: {', '.join(strange)}" if strange else ""
    return Check(name, True, f"{counted(len(timeline.splits) - len(strange), 'known split')}{aside}")
