"""Tables of a study of confounded tasks: the paper's columns, in its units, and what it has no table for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.diagnoses.confounding.verdict import SANITY_CHECK
from einstellung.report.notation import DASH, mean_sd, number
from einstellung.report.tables import Cell, Table

FACET_HEADS = {
    "AD": "AD",
    "PD": "PD",
    "delta": "Δ",
    "delta_S": "Δ_S",
    "SFR_rel": "SFR_rel",
    "pull": "pull",
    "pull_S": "pull_S",
}
UNCONFOUNDED = "unconfounded"
NO_OLD_TASKS = "all tasks were learned at once: there are no old ones"
NO_GAP = "no gap is taken where tasks were not learned or were not measured"
_NO_GAP = {SANITY_CHECK: "trained on the unconfounded set itself: its task is the unconfounded set"}


def columns_of(card: Mapping[str, Any]) -> list[str]:
    """The columns of the paper's Tables 1 and 4, for any number of tasks.

    >>> columns_of({"tasks": ["T1", "T2"]})
    ['T1', 'T2', 'T1@T2', 'unconfounded']
    """
    tasks = card["tasks"]
    return [*tasks, *(f"{task}@{tasks[-1]}" for task in tasks[:-1]), UNCONFOUNDED]


def column_value(record: Mapping[str, Any], column: str) -> Mapping[str, Any] | None:
    """A method's estimate of one of those columns; None where it has no such column."""
    estimates: Mapping[str, Mapping[str, Any]] = {
        **record["current"],
        **record["old"],
        UNCONFOUNDED: record["unconfounded"],
    }
    return estimates.get(column)


def per_cent(estimate: Mapping[str, Any] | None, *, spread: bool) -> str:
    """Mean, and deviation where asked for, in per cent as the paper prints them.

    >>> per_cent({"mean": 0.7264, "sd": 0.0578}, spread=True), per_cent({"mean": 0.7264, "sd": None}, spread=True)
    ('72.6 ± 5.78', '72.6')
    """
    if estimate is None or estimate["mean"] is None:
        return DASH
    mean = number(100 * estimate["mean"], digits=1)
    deviation = estimate.get("sd")
    return f"{mean} ± {number(100 * deviation, digits=2)}" if spread and deviation is not None else mean


def accuracy_table(card: Mapping[str, Any], *, spread: bool) -> Table:
    """The paper's Table 1 (means) or Table 4 (``spread``: with deviations): measured, and below it what is reported."""
    rows, values = [], []
    columns = columns_of(card)
    for method, record in card["methods"].items():
        reported = card["reported"]["methods"].get(method)
        sources = {"measured": {column: column_value(record, column) for column in columns}}
        if reported is not None:
            sources["reported"] = {column: reported.get(column) for column in columns}
        for source, estimates in sources.items():
            cells = [_accuracy_cell(estimates[column], column, record, spread) for column in columns]
            rows.append((Cell(method), Cell(source), *cells))
            numbers = {f"{column}_{part}": (estimates[column] or {}).get(part) for column in columns for part in _PARTS}
            values.append({"method": method, "source": source, "n_seeds": _seeds(card, record, source), **numbers})
    title = "Table 4: with standard deviations" if spread else "Table 1: current tasks, old tasks, unconfounded"
    return Table(title, _note(card, spread), ("method", "source", *columns), tuple(rows), tuple(values), words=2)


_PARTS = ("mean", "sd")


def _seeds(card: Mapping[str, Any], record: Mapping[str, Any], source: str) -> int:
    seeds: int = record["n_seeds"] if source == "measured" else card["reported"]["seeds"]
    return seeds


def _accuracy_cell(estimate: Mapping[str, Any] | None, column: str, record: Mapping[str, Any], spread: bool) -> Cell:
    text = per_cent(estimate, spread=spread)
    if text != DASH:
        return Cell(text)
    return Cell(text, NO_OLD_TASKS if "@" in column and record["at_once"] else "not measured")


def _note(card: Mapping[str, Any], spread: bool) -> str:
    last = card["tasks"][-1]
    words = [
        "Per cent, mean of positives and negatives" + (", mean ± standard deviation over seeds." if spread else ".")
    ]
    old = f" T1@{last}: at the end;" if len(card["tasks"]) > 1 else ""
    words.append(f"T1, T2, ...: right after the task was learned;{old} unconfounded: at the end.")
    if card["reported"]["methods"]:
        words.append(f"Reported: {card['reported']['source']}.")
        if differences := card["reported"]["differences"]:
            words.append(f"The protocols differ: {'; '.join(differences)}.")
    return " ".join(words)


def verdict_table(card: Mapping[str, Any]) -> Table:
    """The verdict on every method with the gap that it rests on."""
    rows, values = [], []
    for method, record in card["methods"].items():
        verdict = record["verdict"]
        bounds = verdict["gap_ci95"]
        gap = number(100 * verdict["gap"], digits=1, signed=True) if verdict["gap"] is not None else DASH
        within = f"[{number(100 * bounds[0], digits=1)}, {number(100 * bounds[1], digits=1)}]" if bounds else DASH
        why = None if verdict["gap"] is not None else _NO_GAP.get(verdict["name"], NO_GAP)
        rows.append(
            (
                Cell(method),
                Cell(verdict["name"]),
                Cell(per_cent(record["unconfounded"], spread=True)),
                Cell(per_cent(record["own_tasks"], spread=True)),
                Cell(gap, why),
                Cell(within, why),
                Cell(str(record["n_seeds"])),
            )
        )
        low, high = bounds or (None, None)
        numbers = {"gap": verdict["gap"], "low95": low, "high95": high, "interval": verdict["interval"]}
        values.append(
            {"method": method, "verdict": verdict["name"], "unconfounded": record["unconfounded"]["mean"]}
            | {"own_tasks": record["own_tasks"]["mean"], **numbers, "against": verdict["against"]}
            | {"n_seeds": record["n_seeds"], "images": verdict["images"], "sentence": verdict["sentence"]}
        )
    head = ("method", "verdict", "unconfounded", "own tasks", "gap", "95 % interval", "seeds")
    against = "the ceiling" if card["ceiling"] else "the method's own tasks, each right after it was learned"
    note = f"Per cent and points. Gap: {against}, minus unconfounded accuracy at the end."
    return Table("Verdicts in numbers", note, head, tuple(rows), tuple(values), words=2)


def facet_table(card: Mapping[str, Any]) -> Table:
    """The facets of every method and task; a dash says why."""
    rows, values = [], []
    for method, record in card["methods"].items():
        for task, facets in record["facets"].items():
            cells = [Cell(_facet(key, facets[key], record), facets["why"].get(key)) for key in FACET_HEADS]
            rows.append((Cell(method), Cell(task), *cells))
            for key in FACET_HEADS:
                low, high = facets[key]["ci95"] or (None, None)
                values.append(
                    {"method": method, "task": task, "facet": key, "mean": facets[key]["mean"], "sd": facets[key]["sd"]}
                    | {"low95": low, "high95": high, "n": facets[key]["n"]}
                    | {"undefined_because": facets["why"].get(key)}
                )
    note = (
        f"Mean ± standard deviation over seeds, those against {card['baseline']} (AD, PD, Δ_S, SFR_rel, pull_S) paired by "
        f"seed. AD: effective epochs until the task's accuracy is at τ = {number(card['tau'], digits=2)}, minus those of "
        f"{card['baseline']}; the rest at the end of the phase in which the task was learned. PD: accuracy of {card['baseline']} "
        "minus the method's. Δ: accuracy on positives with their confounder minus that on the same with it taken away; pull: on "
        f"negatives minus that on the same with it put in; Δ_S and pull_S: those of {card['baseline']}; SFR_rel: Δ minus Δ_S."
    )
    return Table("Facets of every task", note, ("method", "task", *FACET_HEADS.values()), tuple(rows), tuple(values), 2)


def _facet(key: str, estimate: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """Mean ± deviation, and the seeds that count where they are not all."""
    text = mean_sd("pull" if key == "pull_S" else key, estimate)
    return f"{text} (n {estimate['n']})" if 0 < estimate["n"] < record["n_seeds"] else text


def forgetting_table(card: Mapping[str, Any]) -> Table:
    """What later tasks cost earlier ones, and how much better training images are known than test images."""
    rows, values = [], []
    tasks = card["tasks"]
    for method, record in card["methods"].items():
        forgotten = record["forgetting"] or {}
        whole = (record["continual"] or {}).get("forgetting")
        lost = [
            _points(forgotten.get(task), NO_OLD_TASKS if record["at_once"] else "not measured") for task in tasks[:-1]
        ]
        gaps = record["generalisation_gap"]
        known = [_points(gaps[key], "no sample of training images was measured") for key in (*tasks, "end")]
        average = [_points(whole, NO_OLD_TASKS if record["at_once"] else "not measured")] if len(tasks) > 1 else []
        rows.append((Cell(method), *lost, *average, *known))
        numbers = {f"forgetting_{task}": (forgotten.get(task) or {}).get("mean") for task in tasks[:-1]}
        numbers |= {f"train_minus_test_{key}": gaps[key]["mean"] for key in (*tasks, "end")}
        values.append({"method": method, **numbers})
    heads = [f"{task} lost" for task in tasks[:-1]] + (["mean lost"] if len(tasks) > 1 else [])
    heads += [f"gap {task}" for task in tasks] + ["gap at the end"]
    note = (
        "Points of a per cent, mean ± standard deviation over seeds. Lost: the best accuracy on a task before the last "
        "phase minus what is left of it. Gap: accuracy on a sample of the training images minus that on the test images, right "
        "after the task was learned; at the end: over all tasks."
    )
    return Table("Forgetting and generalisation", note, ("method", *heads), tuple(rows), tuple(values))


def _points(estimate: Mapping[str, Any] | None, why: str) -> Cell:
    if estimate is None or estimate["mean"] is None:
        return Cell(DASH, why)
    mean = number(100 * estimate["mean"], digits=1, signed=True)
    return Cell(f"{mean} ± {number(100 * estimate['sd'], digits=2)}" if estimate["sd"] is not None else mean)


def matrix_table(card: Mapping[str, Any]) -> Table:
    """The accuracy matrices in numbers: after every phase, on every task and the unconfounded set, by label."""
    rows, values = [], []
    columns = [*card["tasks"], UNCONFOUNDED]
    for method, record in card["methods"].items():
        for phase, row in record["matrix"].items():
            for label in ("positive", "negative", "mean"):
                cells = [Cell(per_cent(row[column][label], spread=True)) for column in columns]
                rows.append((Cell(method), Cell(f"after {phase}"), Cell(label), *cells))
                numbers = {f"{column}_{part}": row[column][label][part] for column in columns for part in _PARTS}
                values.append({"method": method, "after": phase, "label": label, **numbers})
    note = "Per cent, mean ± standard deviation over seeds; mean: of positives and negatives."
    return Table("Accuracy matrices", note, ("method", "moment", "label", *columns), tuple(rows), tuple(values), 3)


def seed_table(card: Mapping[str, Any]) -> Table:
    """What every single seed gave."""
    rows, values = [], []
    columns = columns_of(card)
    for method, record in card["methods"].items():
        for seed, own in record["per_seed"].items():
            rows.append(
                (Cell(method), Cell(seed), *(Cell(per_cent({"mean": own.get(key)}, spread=False)) for key in columns))
            )
            values.append({"method": method, "seed": seed, **{key: own.get(key) for key in columns}})
    note = "Per cent; the columns of Table 1."
    return Table("Every seed", note, ("method", "seed", *columns), tuple(rows), tuple(values), 2)


def confounding_tables(card: Mapping[str, Any]) -> dict[str, Table]:
    """Every table by its file name."""
    return {
        "table1": accuracy_table(card, spread=False),
        "table4": accuracy_table(card, spread=True),
        "verdicts": verdict_table(card),
        "facets": facet_table(card),
        "forgetting": forgetting_table(card),
        "matrices": matrix_table(card),
        "seeds": seed_table(card),
    }
