"""The facets of one task: how the history changes the way a task is learned, and how much its confounder is worth.

A_M is the accuracy of model M on the task's test images, S the model that starts fresh in every phase. All but AD are of the
model at the end of the phase in which the task was learned; the twins are the same scenes with the confounder changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from einstellung.diagnoses.confounding.card import SeedFacets, TaskFacets
from einstellung.diagnoses.confounding.runs import TaskRun
from einstellung.metrics.eri import (
    adaptation_delay,
    censored_side,
    cue_delta,
    performance_deficit,
    relative_reliance,
)
from einstellung.metrics.statistics import summarise_all

FACETS = ("AD", "PD", "delta", "delta_S", "SFR_rel", "pull", "pull_S")
RELATIVE = ("AD", "PD", "delta_S", "SFR_rel", "pull_S")
OF_TWINS = ("delta", "delta_S", "SFR_rel", "pull", "pull_S")
Runs = Mapping[int, TaskRun]


def task_delta(run: TaskRun, task: str, phase: str | None = None) -> float | None:
    r"""What the confounder is worth on positives, after ``phase`` or, without one, right after the task was learned.

    .. math:: \Delta_t = Acc(positive\_paired) - Acc(positive\_twin)
    """
    phase = phase or run.moment(task)
    return cue_delta(run.value(phase, f"{task}_positive_paired"), run.value(phase, f"{task}_positive_twin"))


def task_pull(run: TaskRun, task: str, phase: str | None = None) -> float | None:
    r"""How much putting the confounder into negatives lowers their accuracy.

    .. math:: pull_t = Acc(negative\_paired) - Acc(negative\_twin)
    """
    phase = phase or run.moment(task)
    return cue_delta(run.value(phase, f"{task}_negative_paired"), run.value(phase, f"{task}_negative_twin"))


def task_facets(method: str, task: str, runs: Mapping[str, Runs], baseline: str | None) -> TaskFacets:
    """Every facet of a task over the seeds of a method, those against the baseline paired by seed; why one is undefined."""
    own = runs[method]
    first = next(iter(own.values())).tasks[0] == task
    compared = baseline is not None and method != baseline and not first
    base = runs[baseline] if compared and baseline is not None else {}
    pairs = [(run, base[seed]) for seed, run in own.items() if seed in base]
    values = _values(task, list(own.values()), pairs)
    summaries = summarise_all(values)
    censored = {
        str(run.seed): side
        for run, other in pairs
        if not run.at_once
        and task in run.watched & other.watched
        and (side := censored_side(run.reached[task], other.reached[task], method, other.method)) is not None
    }
    why = {
        name: _why(name, method, task, own, pairs, baseline, first, bool(censored))
        for name in FACETS
        if summaries[name].mean is None
    }
    delays = {run.seed: delay for (run, _), delay in zip(pairs, values["AD"], strict=True)}
    per_seed = {
        str(seed): SeedFacets(
            AD=delays.get(seed), E=run.reached.get(task), delta=task_delta(run, task), pull=task_pull(run, task)
        )
        for seed, run in own.items()
    }
    return TaskFacets(**summaries, censored=censored, why=why, per_seed=per_seed)


def _values(
    task: str, own: Sequence[TaskRun], pairs: Sequence[tuple[TaskRun, TaskRun]]
) -> dict[str, list[float | None]]:
    def of_pairs(facet: Callable[[TaskRun, TaskRun], float | None]) -> list[float | None]:
        return [facet(run, base) for run, base in pairs]

    def delay(run: TaskRun, base: TaskRun) -> float | None:
        if run.at_once or task not in run.watched & base.watched:
            return None
        return adaptation_delay(run.reached[task], base.reached[task])

    return {
        "AD": of_pairs(delay),
        "PD": of_pairs(
            lambda run, base: performance_deficit(
                base.accuracy(base.moment(task), task), run.accuracy(run.moment(task), task)
            )
        ),
        "delta": [task_delta(run, task) for run in own],
        "delta_S": of_pairs(lambda _, base: task_delta(base, task)),
        "SFR_rel": of_pairs(lambda run, base: relative_reliance(task_delta(run, task), task_delta(base, task))),
        "pull": [task_pull(run, task) for run in own],
        "pull_S": of_pairs(lambda _, base: task_pull(base, task)),
    }


def _why(
    facet: str,
    method: str,
    task: str,
    own: Runs,
    pairs: Sequence[tuple[TaskRun, TaskRun]],
    baseline: str | None,
    first: bool,
    censored: bool,
) -> str:
    if facet in RELATIVE:
        if baseline is None:
            return "no baseline that is retrained from scratch in every phase"
        if method == baseline:
            return "this is the baseline"
        if first:
            return "the first task has no training history"
        if not pairs:
            return f"no seed in common with {baseline}"
    if facet == "AD":
        if any(run.at_once for run in own.values()):
            return "all tasks were learned jointly, so the task has no phase of its own"
        return "the threshold was not reached" if censored else f"accuracy on {task} was not tracked over its phase"
    if facet in OF_TWINS:
        return f"no twins of {task} were measured"
    return f"{task} was not measured at the end of the phase in which it was learned"
