"""Tables of a study of confounded tasks: the paper's columns, in its units, and what it has no table for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from einstellung.diagnoses.confounding.card import ConfoundingCard, ConfoundingMethod, MethodMeasurements, OrderEffect
from einstellung.diagnoses.confounding.facets import FACETS
from einstellung.diagnoses.confounding.splits import UNCONFOUNDED
from einstellung.diagnoses.confounding.verdict import SANITY_CHECK
from einstellung.metrics.statistics import Summary
from einstellung.report.notation import DASH, Spread, mean_sd, number, per_cent
from einstellung.report.tables import Cell, Table

_FACET_HEADS = {"delta": "Δ", "delta_S": "Δ_S"}
NO_OLD_TASKS = "all tasks were learned jointly, so there are no old ones"
NOT_MEASURED = "not measured"
NO_GAP = "no gap for tasks that were not learned or not measured"
_NO_GAP = {SANITY_CHECK: "trained on the unconfounded set itself: its task is the unconfounded set"}


def accuracy_columns(tasks: Sequence[str]) -> list[str]:
    """The columns of the paper's Tables 1 and 4, for any number of tasks.

    >>> accuracy_columns(["T1", "T2"])
    ['T1', 'T2', 'T1@T2', 'unconfounded']
    """
    return [*tasks, *(f"{task}@{tasks[-1]}" for task in tasks[:-1]), UNCONFOUNDED]


def accuracies(record: MethodMeasurements) -> dict[str, Summary]:
    """A method's estimates of those columns; one that learned all tasks at once has no old ones."""
    return {**record.current, **record.old, UNCONFOUNDED: record.unconfounded}


def means_and_deviations(estimates: Mapping[str, Spread], columns: Sequence[str]) -> dict[str, float | None]:
    """The same as columns of a CSV file."""
    numbers: dict[str, float | None] = {}
    for column in columns:
        estimate = estimates.get(column)
        numbers[f"{column}_mean"] = None if estimate is None else estimate.mean
        numbers[f"{column}_sd"] = None if estimate is None else estimate.sd
    return numbers


def accuracy_table(card: ConfoundingCard, *, spread: bool) -> Table:
    """The paper's Table 1 (means) or Table 4 (``spread``: with deviations): measured, and below it what is reported."""
    rows, values = [], []
    columns = accuracy_columns(card.tasks)
    for method, record in card.methods.items():
        sources: dict[str, tuple[int, Mapping[str, Spread]]] = {"measured": (record.n_seeds, accuracies(record))}
        if (reported := card.reported.methods.get(method)) is not None:
            sources["reported"] = (card.reported.seeds, reported)
        for source, (seeds, estimates) in sources.items():
            cells = [_accuracy_cell(estimates.get(column), column, record, spread) for column in columns]
            rows.append((Cell(method), Cell(source), *cells))
            numbers = means_and_deviations(estimates, columns)
            values.append({"method": method, "source": source, "n_seeds": seeds, **numbers})
    return Table(
        accuracy_title(spread=spread),
        _note(card, spread),
        ("method", "source", *columns),
        tuple(rows),
        tuple(values),
        2,
    )


def accuracy_title(*, spread: bool) -> str:
    return "Table 4: with standard deviations" if spread else "Table 1: current tasks, old tasks, unconfounded"


def _accuracy_cell(estimate: Spread | None, column: str, record: MethodMeasurements, spread: bool) -> Cell:
    text = per_cent(estimate, spread=spread)
    if text != DASH:
        return Cell(text)
    return Cell(text, NO_OLD_TASKS if "@" in column and record.at_once else NOT_MEASURED)


def _note(card: ConfoundingCard, spread: bool) -> str:
    words = [
        "Per cent, mean of positives and negatives" + (", mean ± standard deviation over seeds." if spread else ".")
    ]
    old = f" T1@{card.last_task}: at the end;" if len(card.tasks) > 1 else ""
    words.append(f"T1, T2, ...: right after the task was learned;{old} unconfounded: at the end.")
    if card.reported.methods:
        words.append(f"Reported: {card.reported.source}.")
        if card.reported.differences:
            words.append(f"The protocols differ: {'; '.join(card.reported.differences)}.")
    return " ".join(words)


def verdict_table(card: ConfoundingCard) -> Table:
    """The verdict on every method with the gap that it rests on."""
    rows, values = [], []
    for method, record in card.methods.items():
        verdict = record.verdict
        bounds = verdict.gap_ci95
        gap = number(100 * verdict.gap, digits=1, signed=True) if verdict.gap is not None else DASH
        within = f"[{number(100 * bounds[0], digits=1)}, {number(100 * bounds[1], digits=1)}]" if bounds else DASH
        why = None if verdict.gap is not None else _NO_GAP.get(verdict.name, NO_GAP)
        rows.append(
            (
                Cell(method),
                Cell(verdict.name),
                Cell(per_cent(record.unconfounded, spread=True)),
                Cell(per_cent(record.own_tasks, spread=True)),
                Cell(gap, why),
                Cell(within, why),
                Cell(str(record.n_seeds)),
            )
        )
        low, high = bounds or (None, None)
        values.append(
            {
                "method": method,
                "verdict": verdict.name,
                "unconfounded": record.unconfounded.mean,
                "own_tasks": record.own_tasks.mean,
                "gap": verdict.gap,
                "low95": low,
                "high95": high,
                "interval": verdict.interval,
                "against": verdict.against,
                "n_seeds": record.n_seeds,
                "images": verdict.images,
                "sentence": verdict.sentence,
            }
        )
    head = ("method", "verdict", "unconfounded", "own tasks", "gap", "95 % interval", "seeds")
    against = "the ceiling" if card.ceiling else "the method's own tasks, each right after it was learned"
    note = f"Per cent and points. Gap: {against}, minus unconfounded accuracy at the end."
    return Table("Verdicts in numbers", note, head, tuple(rows), tuple(values), words=2)


def order_table(card: ConfoundingCard, order: OrderEffect) -> Table:
    """Cumulative minus joint training on unconfounded images."""
    difference = order.difference
    within, p = DASH, DASH
    low, high = difference.ci95 or (None, None)
    if low is not None and high is not None:
        within = f"[{number(100 * low, digits=1)}, {number(100 * high, digits=1)}]"
    if order.p_below_margin is not None:
        p = number(order.p_below_margin, digits=3)
    why = difference.interval if difference.ci95 is None else None
    row = (
        _points(difference, NOT_MEASURED),
        Cell(within, why),
        Cell(p, why),
        Cell(str(difference.n)),
        Cell(order.evidence),
    )
    values = {
        "mean": difference.mean,
        "sd": difference.sd,
        "low95": low,
        "high95": high,
        "n_seeds": difference.n,
        "p_below_margin": order.p_below_margin,
        "margin": order.margin,
        "evidence": order.evidence,
    }
    note = (
        "Points, paired by seed, mean ± standard deviation. p: one-sided t test that the mean is below "
        f"{number(-100 * card.margin, digits=1)} points. Conclusive: at least three seeds, the interval below that "
        "value, and p at most .05."
    )
    head = ("cumulative - joint", "95 % interval", "p", "seeds", "insidious confounding")
    return Table("Cost of the task order", note, head, (row,), (values,))


def facet_table(card: ConfoundingCard) -> Table:
    """The facets of every method and task; a dash says why."""
    rows, values = [], []
    for method, record in card.methods.items():
        for task, facets in record.facets.items():
            cells = [Cell(_facet(key, facets.summary(key), record), facets.why.get(key)) for key in FACETS]
            rows.append((Cell(method), Cell(task), *cells))
            for key in FACETS:
                estimate = facets.summary(key)
                low, high = estimate.ci95 or (None, None)
                values.append(
                    {"method": method, "task": task, "facet": key, "mean": estimate.mean, "sd": estimate.sd}
                    | {"low95": low, "high95": high, "n": estimate.n, "undefined_because": facets.why.get(key)}
                )
    note = (
        f"Mean ± standard deviation over seeds, comparisons with {card.baseline} (AD, PD, Δ_S, SFR_rel, pull_S) paired by seed. "
        f"AD: effective epochs until accuracy on the task reaches τ = {number(card.tau, digits=2)}, minus those of "
        f"{card.baseline}; other facets at the end of the phase in which the task was learned. PD: accuracy of "
        f"{card.baseline} minus the method's. Δ: accuracy on positives with their confounder minus "
        f"accuracy with it removed; pull: accuracy on negatives minus accuracy with the confounder added; "
        f"Δ_S and pull_S: those of {card.baseline}; SFR_rel: Δ minus Δ_S."
    )
    heads = (_FACET_HEADS.get(key, key) for key in FACETS)
    return Table("Facets of every task", note, ("method", "task", *heads), tuple(rows), tuple(values), 2)


def _facet(key: str, estimate: Summary, record: ConfoundingMethod) -> str:
    """Mean ± deviation, and the seeds that count where they are not all."""
    text = mean_sd("pull" if key == "pull_S" else key, estimate)
    return f"{text} (n {estimate.n})" if 0 < estimate.n < record.n_seeds else text


def forgetting_table(card: ConfoundingCard) -> Table:
    """What later tasks cost earlier ones, and how much better training images are known than test images."""
    rows, values = [], []
    tasks = card.tasks
    for method, record in card.methods.items():
        forgotten = record.forgetting or {}
        whole = record.continual.forgetting if record.continual else None
        why = NO_OLD_TASKS if record.at_once else NOT_MEASURED
        lost = [_points(forgotten.get(task), why) for task in tasks[:-1]]
        average = [_points(whole, why)] if len(tasks) > 1 else []
        gaps = record.generalisation_gap
        known = [_points(gaps[key], "no sample of training images was measured") for key in (*tasks, "end")]
        rows.append((Cell(method), *lost, *average, *known))
        numbers = {f"forgetting_{task}": forgotten[task].mean if task in forgotten else None for task in tasks[:-1]} | {
            f"train_minus_test_{key}": gaps[key].mean for key in (*tasks, "end")
        }
        values.append({"method": method, **numbers})
    heads = [f"{task} lost" for task in tasks[:-1]] + (["mean lost"] if len(tasks) > 1 else [])
    heads += [f"gap {task}" for task in tasks] + ["gap at the end"]
    note = (
        "Percentage points, mean ± standard deviation over seeds. Lost: the best accuracy on a task before the last "
        "phase minus its final accuracy. Gap: accuracy on a sample of the training images minus that on the test "
        "images, right after the task was learned; at the end: over all tasks."
    )
    return Table("Forgetting and generalisation", note, ("method", *heads), tuple(rows), tuple(values))


def _points(estimate: Summary | None, why: str) -> Cell:
    if estimate is None or estimate.mean is None:
        return Cell(DASH, why)
    mean = number(100 * estimate.mean, digits=1, signed=True)
    return Cell(f"{mean} ± {number(100 * estimate.sd, digits=2)}" if estimate.sd is not None else mean)


def matrix_table(card: ConfoundingCard) -> Table:
    """The accuracy matrices in numbers: after every phase, on every task and the unconfounded set, by label."""
    rows, values = [], []
    columns = [*card.tasks, UNCONFOUNDED]
    for method, record in card.methods.items():
        for phase, row in record.matrix.items():
            for label in ("positive", "negative", "mean"):
                estimates: dict[str, Summary] = {column: getattr(row[column], label) for column in columns}
                cells = [Cell(per_cent(estimate, spread=True)) for estimate in estimates.values()]
                rows.append((Cell(method), Cell(f"after {phase}"), Cell(label), *cells))
                numbers = means_and_deviations(estimates, columns)
                values.append({"method": method, "after": phase, "label": label, **numbers})
    note = "Per cent, mean ± standard deviation over seeds; mean: of positives and negatives."
    return Table("Accuracy matrices", note, ("method", "moment", "label", *columns), tuple(rows), tuple(values), 3)


def seed_table(card: ConfoundingCard) -> Table:
    """The values of every seed."""
    rows, values = [], []
    columns = accuracy_columns(card.tasks)
    for method, record in card.methods.items():
        for seed, own in record.per_seed.items():
            shown = [own.get(column) for column in columns]
            cells = [Cell(DASH if value is None else number(100 * value, digits=1)) for value in shown]
            rows.append((Cell(method), Cell(seed), *cells))
            values.append({"method": method, "seed": seed, **dict(zip(columns, shown, strict=True))})
    note = "Per cent; the columns of Table 1."
    return Table("Every seed", note, ("method", "seed", *columns), tuple(rows), tuple(values), 2)


def study_tables(card: ConfoundingCard) -> dict[str, Table]:
    """Every table by its file name."""
    return {
        "table1": accuracy_table(card, spread=False),
        "table4": accuracy_table(card, spread=True),
        "verdicts": verdict_table(card),
        **({"order": order_table(card, card.order)} if card.order is not None else {}),
        "facets": facet_table(card),
        "forgetting": forgetting_table(card),
        "matrices": matrix_table(card),
        "seeds": seed_table(card),
    }
