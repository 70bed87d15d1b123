"""The same accuracies for a model that chooses among all classes, and among those of the image's own phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.report.measured import rule_in_words
from einstellung.report.notation import FACETS, mean_sd, number
from einstellung.report.tables import Cell, Table
from einstellung.report.undefined import why_undefined

COLUMNS = ("SC_patch", "SC_mask", "NSC", "T1_after_T1", "T1")
_NO_TASK = "no acc_task in the timeline"


def incremental_table(card: Mapping[str, Any], facts: Mapping[str, Any]) -> Table:
    """Two rows per method: class-incremental and task-incremental. ``facts`` are those of the stream's proof."""
    rows, values = [], []
    for method, record in card["methods"].items():
        task = record["task_incremental"]
        plain = [_cell(card, method, key, record[key]) for key in COLUMNS]
        limited = [_cell(card, method, key, task[key]) if task else Cell("–", _NO_TASK) for key in COLUMNS]
        rows += [(Cell(method), Cell("class-incremental"), *plain), (Cell(method), Cell("task-incremental"), *limited)]
        for name, estimates in (("acc", record), ("acc_task", task)):
            numbers = {
                f"{key}_{part}": estimates[key][part] if estimates else None
                for key in COLUMNS
                for part in ("mean", "sd", "n")
            }
            values.append({"method": method, "accuracy": name, **numbers})
    return Table(
        "Class-incremental and task-incremental accuracy",
        "Mean ± standard deviation over seeds. Class-incremental: the largest output of the whole head (what the index is "
        "made of). Task-incremental: the largest among the classes of the image's own phase. SC and NSC at "
        f"{rule_in_words(card)}; T1 at the end of each phase.{_chance(facts)}",
        ("method", "choice", *(FACETS[key].head for key in COLUMNS)),
        tuple(rows),
        tuple(values),
    )


def _cell(card: Mapping[str, Any], method: str, key: str, estimate: Mapping[str, Any]) -> Cell:
    if estimate["mean"] is not None:
        return Cell(mean_sd(key, estimate))
    unmeasured = card["methods"][method][key]["mean"] is None
    return Cell("–", why_undefined(card, method, key) if unmeasured else _NO_TASK)


def _chance(facts: Mapping[str, Any]) -> str:
    """What guessing would give, as far as the stream's proof knows it.

    >>> _chance({"chance": 1 / 60, "chance_task": 1 / 20, "cue_alone": 1 / 10, "training_images": {"T1": 1, "T2": 1}})
    ' Chance: 0.017 among all 60 classes, 0.025 among the 40 of T1, 0.050 among the 20 of T2; the cue alone can give 0.100.'
    """
    if not all(isinstance(facts.get(key), float) and facts[key] > 0 for key in ("chance", "chance_task")):
        return ""
    total, last = round(1 / facts["chance"]), round(1 / facts["chance_task"])
    parts = [f"{number(1 / total)} among all {total} classes"]
    # The proof speaks of the whole head and of the last phase; with two phases the rest of the head is T1's.
    if set(facts.get("training_images") or ()) == {"T1", "T2"} and total > last:
        parts.append(f"{number(1 / (total - last))} among the {total - last} of T1")
    parts.append(f"{number(1 / last)} among the {last} of T2")
    alone = facts.get("cue_alone")
    cue = f"; the cue alone can give {number(alone)}" if isinstance(alone, float) else ""
    return f" Chance: {', '.join(parts)}{cue}."
