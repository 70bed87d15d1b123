"""From a timeline of confounded tasks to a card: the accuracy matrix, the columns of the paper's tables, facets and verdicts.

Tasks T1, T2, ... ask the same question; in each, a confounder of its own goes with the answer. R[i][j] is the accuracy on
task j at the end of phase i, the mean of its positives and its negatives; a further column holds the unconfounded set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from einstellung.diagnoses.baseline import resolve_baseline
from einstellung.diagnoses.card import Card
from einstellung.diagnoses.confounding.card import (
    ConfoundingCard,
    ConfoundingMethod,
    ContinualMeasures,
    ImageCounts,
    LabelAccuracies,
    LabelCounts,
    MethodMeasurements,
    TaskTwins,
    TwinAccuracies,
)
from einstellung.diagnoses.confounding.checks import confounding_checks
from einstellung.diagnoses.confounding.facets import Runs, task_facets
from einstellung.diagnoses.confounding.order import order_effect
from einstellung.diagnoses.confounding.published import paper_results
from einstellung.diagnoses.confounding.runs import TaskRun, measure_run
from einstellung.diagnoses.confounding.settings import CHANCE, DEFAULT_BASELINE, ConfoundingSettings
from einstellung.diagnoses.confounding.splits import LABELS, UNCONFOUNDED, has_confounded_tasks, tasks_of
from einstellung.diagnoses.confounding.study import TaskDescription
from einstellung.diagnoses.confounding.verdict import Standard, ceiling_from, judge_methods
from einstellung.diagnoses.wording import listed_seeds
from einstellung.errors import InputError
from einstellung.metrics import continual
from einstellung.metrics.statistics import Summary, summarise, summarise_all
from einstellung.results.config import StudyConfig
from einstellung.timeline import Timeline


def score_tasks(
    timeline: Timeline,
    settings: ConfoundingSettings | None = None,
    study: TaskDescription | None = None,
    *,
    config: StudyConfig | None = None,
    siblings: Mapping[str, Card] | None = None,
    failures: Sequence[str] = (),
) -> ConfoundingCard:
    """Score a timeline whose splits are of confounded tasks.

    ``siblings``: cards of the other studies of a family, among which a ceiling is looked for. ``config``: what is compared with
    the paper's protocol.

    >>> import pandas as pd
    >>> acc = {"T1_positive": 1.0, "T1_negative": 0.9, "unconfounded_positive": 0.6, "unconfounded_negative": 0.5}
    >>> rows = [("naive", 1, "T1", 5, split, value, None, 100) for split, value in acc.items()]
    >>> columns = ["method", "seed", "phase", "epoch", "split", "acc", "loss", "n"]
    >>> naive = score_tasks(Timeline(pd.DataFrame(rows, columns=columns))).methods["naive"]
    >>> naive.current["T1"].mean, naive.unconfounded.mean, naive.verdict.name
    (0.95, 0.55, 'confounded')
    """
    settings, study = settings or ConfoundingSettings(), study or TaskDescription()
    if not has_confounded_tasks(timeline.splits):
        raise InputError("no confounded tasks in the timeline: it has neither T1_positive nor unconfounded_positive")
    tasks = tasks_of(timeline)
    baseline = resolve_baseline(timeline, settings.baseline, DEFAULT_BASELINE)
    runs = {
        method: {seed: measure_run(timeline, method, seed, tasks, settings) for seed in timeline.seeds(method)}
        for method in timeline.methods
    }
    measured = {method: _measurements(method, tasks, runs, baseline) for method in runs}
    named = baseline or DEFAULT_BASELINE
    ceiling = ceiling_from(siblings or {}, study)
    order = None if study.variant == UNCONFOUNDED else order_effect(measured, settings.margin)
    standard = Standard(settings.margin, settings.level, ceiling)
    verdicts = judge_methods(measured, standard, study, baseline=named, tasks=tasks, order=order)
    return ConfoundingCard(
        variant=study.variant,
        model=study.model,
        ceiling_key=study.ceiling_key,
        ground_truth=study.ground_truth,
        confounders=study.confounders,
        tasks=tasks,
        baseline=named,
        tau=settings.tau,
        window=settings.window,
        smoothing=settings.smoothing,
        margin=settings.margin,
        level=settings.level,
        chance=CHANCE,
        methods={
            method: ConfoundingMethod(**dict(record), verdict=verdicts[method]) for method, record in measured.items()
        },
        checks=tuple(confounding_checks(timeline, tasks, baseline)),
        warnings=(*failures, *_warnings(runs, baseline, tasks)),
        ceiling=ceiling,
        order=order,
        input_modality=study.input_modality,
        perceived=study.perceived,
        reported=paper_results(study, config),
    )


def _measurements(
    method: str, tasks: Sequence[str], runs: Mapping[str, Runs], baseline: str | None
) -> MethodMeasurements:
    own = list(runs[method].values())
    last = tasks[-1]
    at_once = all(run.at_once for run in own)
    current = {task: [run.accuracy(run.moment(task), task) for run in own] for task in tasks}
    unconfounded = [run.accuracy(last, UNCONFOUNDED) for run in own]
    matrices = [_matrix(run) for run in own]
    old = {f"{task}@{last}": [run.accuracy(last, task) for run in own] for task in tasks[:-1]} if not at_once else {}
    forgotten = {task: [_forgotten(matrix, j) for matrix in matrices] for j, task in enumerate(tasks[:-1])}
    learned = [_mean([values[place] for values in current.values()]) for place in range(len(own))]
    return MethodMeasurements(
        n_seeds=len(own),
        at_once=at_once,
        matrix={phase: _matrix_row(phase, tasks, own) for phase in (tasks[-1:] if at_once else tasks)},
        current=_shares(current),
        old=_shares(old),
        unconfounded=_share(unconfounded),
        own_tasks=_share(learned),
        own_gap=summarise([_minus(*pair) for pair in zip(learned, unconfounded, strict=True)]),
        images=ImageCounts(unconfounded=_images(own, [UNCONFOUNDED]), tasks=_images(own, tasks)),
        forgetting=None if at_once else summarise_all(forgotten),
        continual=None if at_once or len(tasks) < 2 else _continual(matrices),
        train=_shares({task: [run.value(run.moment(task), f"{task}_train") for run in own] for task in tasks}),
        generalisation_gap=_generalisation_gaps(tasks, own),
        facets={task: task_facets(method, task, runs, baseline) for task in tasks},
        twins={task: _twins(task, own) for task in tasks},
        per_seed={
            str(run.seed): {
                **{task: run.accuracy(run.moment(task), task) for task in tasks},
                **{name: values[place] for name, values in old.items()},
                UNCONFOUNDED: unconfounded[place],
                **{f"{UNCONFOUNDED}_{label}": run.value(last, f"{UNCONFOUNDED}_{label}") for label in LABELS},
            }
            for place, run in enumerate(own)
        },
    )


def _share(values: Sequence[float | None]) -> Summary:
    """Of accuracies, whose intervals lie between 0 and 1."""
    return summarise(values, bounds=(0.0, 1.0))


def _shares(values: Mapping[str, Sequence[float | None]]) -> dict[str, Summary]:
    return {name: _share(some) for name, some in values.items()}


def _matrix(run: TaskRun) -> list[list[float | None]]:
    return [[run.accuracy(phase, task) for task in run.tasks] for phase in run.tasks]


def _matrix_row(phase: str, tasks: Sequence[str], own: Sequence[TaskRun]) -> dict[str, LabelAccuracies]:
    """After one phase: positives, negatives and their mean, of every task and of the unconfounded set."""
    row = {}
    for what in (*tasks, UNCONFOUNDED):
        parts = {label: [run.value(phase, f"{what}_{label}") for run in own] for label in LABELS}
        row[what] = LabelAccuracies(**_shares({**parts, "mean": [run.accuracy(phase, what) for run in own]}))
    return row


def _forgotten(R: Sequence[Sequence[float | None]], j: int) -> float | None:
    """The best accuracy that task j had before the last phase, from when it was learned on, minus what is left of it."""
    before, left = [row[j] for row in R[j:-1]], R[-1][j]
    known = [value for value in before if value is not None]
    return None if left is None or len(known) < len(before) else max(known) - left


def _continual(matrices: Sequence[Sequence[Sequence[float | None]]]) -> ContinualMeasures:
    measures = {
        "average_accuracy": continual.average_accuracy,
        "BWT": continual.backward_transfer,
        "forgetting": continual.forgetting,
    }
    values = {name: [measure(matrix) for matrix in matrices] for name, measure in measures.items()}
    return ContinualMeasures(**summarise_all(values))


def _generalisation_gaps(tasks: Sequence[str], own: Sequence[TaskRun]) -> dict[str, Summary]:
    """Accuracy on training images minus that on test images: of every task when just learned, and over all at the end."""
    values = {task: [_train_minus_test(run, run.moment(task), task) for run in own] for task in tasks}
    values["end"] = [_mean([_train_minus_test(run, tasks[-1], task) for task in tasks]) for run in own]
    return summarise_all(values)


def _train_minus_test(run: TaskRun, phase: str, task: str) -> float | None:
    return _minus(run.value(phase, f"{task}_train"), run.accuracy(phase, task))


def _twins(task: str, own: Sequence[TaskRun]) -> TaskTwins:
    """Accuracies on images that have a twin and on the twins: right after the task was learned, and at the very end."""
    kinds = [f"{label}_{kind}" for label in LABELS for kind in ("paired", "twin")]
    learned = {kind: [run.value(run.moment(task), f"{task}_{kind}") for run in own] for kind in kinds}
    end = {kind: [run.value(run.tasks[-1], f"{task}_{kind}") for run in own] for kind in kinds}
    counts = {label: _common([run.images.get(f"{task}_{label}_twin") for run in own]) for label in LABELS}
    return TaskTwins(
        learned=TwinAccuracies(**_shares(learned)),
        end=TwinAccuracies(**_shares(end)),
        images=LabelCounts(**counts),
    )


def _images(own: Sequence[TaskRun], parts: Sequence[str]) -> int | None:
    """Test images of all ``parts`` together; None where they were not recorded or differ from run to run."""
    counts = [[run.images_of(part) for part in parts] for run in own]
    return _common([None if None in row else sum(count for count in row if count is not None) for row in counts])


def _common(counts: Sequence[int | None]) -> int | None:
    return counts[0] if len(set(counts)) == 1 else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def _minus(minuend: float | None, subtrahend: float | None) -> float | None:
    return None if minuend is None or subtrahend is None else minuend - subtrahend


def _warnings(runs: Mapping[str, Runs], baseline: str | None, tasks: Sequence[str]) -> list[str]:
    found = []
    if baseline is None and len(tasks) > 1:
        found.append(
            f"no method '{DEFAULT_BASELINE}' in the timeline: AD, PD and SFR_rel are undefined for all tasks after the first"
        )
    for method, own in runs.items():
        lacking = [seed for seed, run in own.items() if run.accuracy(tasks[-1], UNCONFOUNDED) is None]
        if lacking:
            found.append(
                f"{method}: no unconfounded accuracy at the end for {listed_seeds(lacking)}; no verdict without it"
            )
        if baseline is not None and method != baseline and (alone := sorted(own.keys() - runs[baseline].keys())):
            found.append(f"no {baseline} run for {listed_seeds(alone)} of {method}: excluded from paired facets")
    return found
