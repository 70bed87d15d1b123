"""What a timeline of confounded tasks says about its own trustworthiness. These run with every score and are shown with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from einstellung.checks import Check
from einstellung.metrics.confounding_runs import task_curve
from einstellung.metrics.confounding_splits import LABELS, UNCONFOUNDED, split_meaning
from einstellung.metrics.curves import TOLERANCE, value_at
from einstellung.metrics.log_checks import Run, seeds_are_paired
from einstellung.metrics.twin_checks import listed, run_name, twins_are_paired, twins_change_something
from einstellung.metrics.verdict import counted
from einstellung.timeline import Timeline

MUCH = 0.4  # of the longer one of two budgets
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
    """Accuracy on a task is the mean over both labels: with one of them, a net that always says the same would look good."""
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
    """What any phase of a run measures is measured at the end of all of them, or a matrix would have holes."""
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
    return Check(name, not lacking, listed(lacking) or f"{counted(moments, 'end')} of phases, no hole")


def same_images(timeline: Timeline) -> Check:
    """Every split holds as many images in every run; both labels of a task may differ."""
    name = "every run was measured on as many images"
    counts: dict[str, set[int]] = {}
    for run in timeline.runs:
        for phase in timeline.phases(*run):
            for split, curve in timeline.curves(*run, phase).items():
                counts.setdefault(split, set()).update(int(n) for n in curve.n if not np.isnan(n))
    known = {split: found for split, found in counts.items() if found}
    if not known:
        return Check(name, None, "the numbers of images were not recorded")
    odd = [f"{split}: {' or '.join(map(str, sorted(found)))}" for split, found in known.items() if len(found) > 1]
    return Check(name, not odd, listed(odd) or f"{counted(len(known), 'split')} compared")


def twin_pairs(tasks: Sequence[str]) -> list[tuple[str, str]]:
    """The splits of images that have a twin, each with the split of its twins."""
    return [(f"{task}_{label}_paired", f"{task}_{label}_twin") for task in tasks for label in LABELS]


def same_budget_over_seeds(timeline: Timeline) -> Check:
    """Seeds of a method compare only if they were trained as long; methods may differ, and the detail says how.

    What a random buffer holds of a phase differs by a few images from seed to seed, and so do effective epochs; such seeds were
    measured as often, and none is much shorter than another.
    """
    name = "all seeds of a method had the same budget"
    uneven: list[str] = []
    groups: dict[str, list[str]] = {}
    for method in timeline.methods:
        lengths: dict[str, list[float]] = {}
        looks: dict[str, set[int]] = {}
        for seed in timeline.seeds(method):
            for phase in timeline.phases(method, seed):
                moments = np.concatenate([curve.epochs for curve in timeline.curves(method, seed, phase).values()])
                lengths.setdefault(phase, []).append(float(moments.max()))
                looks.setdefault(phase, set()).add(len(np.unique(np.round(moments, 9))))
        words = ", ".join(f"{phase} {_between(found)}" for phase, found in lengths.items())
        odd = [phase for phase in lengths if _is_uneven(lengths[phase], len(looks[phase]) > 1)]
        if odd or len({len(found) for found in lengths.values()}) > 1:
            uneven.append(f"{method}: {words} effective epochs")
        groups.setdefault(words, []).append(method)
    described = [f"{', '.join(methods)}: {budget} effective epochs" for budget, methods in groups.items()]
    return Check(name, not uneven, listed(uneven) or listed(described))


def _is_uneven(lengths: Sequence[float], looks_vary: bool) -> bool:
    short, long = min(lengths), max(lengths)
    return long - short > TOLERANCE and (looks_vary or long - short > MUCH * long)


def _between(lengths: Sequence[float]) -> str:
    short, long = f"{min(lengths):g}", f"{max(lengths):g}"
    return short if short == long else f"{short} to {long}"


def starts_untrained(timeline: Timeline, tasks: Sequence[str]) -> Check:
    """Before the first step of the first phase, no task is solved already."""
    name = "before training no task is solved"
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
    detail = f"highest accuracy before the first step: {found[highest]:.3f} ({highest}); solved: from {SOLVED:g}"
    return Check(name, found[highest] < SOLVED - TOLERANCE, detail)


def seeds_differ(timeline: Timeline) -> Check:
    """Two seeds of a method with the same curves throughout are one run under two names."""
    name = "no two seeds of a method are the same run"
    seen: dict[tuple[object, ...], list[Run]] = {}
    for method, seed in timeline.runs:
        parts: list[object] = [method]
        for phase in timeline.phases(method, seed):
            for split, curve in sorted(timeline.curves(method, seed, phase).items()):
                losses = b"" if curve.loss is None else curve.loss.tobytes()
                parts += [phase, split, curve.epochs.tobytes(), curve.acc.tobytes(), losses]
        seen.setdefault(tuple(parts), []).append((method, seed))
    if all(len(timeline.seeds(method)) < 2 for method in timeline.methods):
        return Check(name, None, "no method has two seeds")
    twice = [" and ".join(map(run_name, runs)) for runs in seen.values() if len(runs) > 1]
    return Check(name, not twice, listed(twice) or f"{counted(len(timeline.runs), 'run')} compared")


def split_names_are_understood(timeline: Timeline) -> Check:
    """Other splits stay aside; one that begins like a task's or like the unconfounded ones is a slip of the pen."""
    name = "split names are understood"
    strange = [split for split in timeline.splits if split_meaning(split) is None]
    slips = [split for split in strange if split.partition("_")[0].lower().removeprefix("t").isdigit()]
    slips += [split for split in strange if split.lower().startswith(UNCONFOUNDED[:7])]
    if slips:
        return Check(name, False, f"not used: {', '.join(slips)}")
    aside = f"; kept but not used: {', '.join(strange)}" if strange else ""
    return Check(name, True, f"{counted(len(timeline.splits) - len(strange), 'known split')}{aside}")
