"""The tables of a card by file name, and why one that is missing could not be made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from einstellung.diagnoses.rigidity.attention_tables import attention_head_table, attention_table
from einstellung.diagnoses.rigidity.card import RigidityCard, RigidityMethod, StreamFacts
from einstellung.diagnoses.rigidity.image_tables import cue_effect_seed_table, cue_effect_table, masking_table
from einstellung.diagnoses.rigidity.probe_tables import probe_tables
from einstellung.diagnoses.rigidity.wording import describe_censored, describe_rule, why_dash, why_undefined
from einstellung.metrics.statistics import Summary
from einstellung.report.notation import DASH, FACETS, epochs, interval, mean_sd, number, write
from einstellung.report.tables import Cell, Missing, Table
from einstellung.results.probe_names import PROBES

TABLE_ONE = ("PD", "SFR_rel", "SC_patch", "SC_mask", "T1", "T1_after_T1", "NSC")
FACET_COLUMNS = (
    *("AD", "PD", "SFR_rel", "CSR_rel", "delta", "delta_paired", "delta_S", "delta_S_paired"),
    *("SFR_rel_within", "delta_within", "PD_NSC", "PD_specific", "share_lost"),
)
FLOOR_COLUMNS = ("SC_mask", "share_lost", "SC_patch_within", "SC_mask_within", "SFR_rel_within", "PD_specific")
SEED_COLUMNS = (
    "PD",
    "SFR_rel",
    "CSR_rel",
    "PD_specific",
    "delta",
    "share_lost",
    "SC_patch",
    "SC_mask",
    "NSC",
    "T1",
    "T1_after_T1",
)
INCREMENTAL_COLUMNS = ("SC_patch", "SC_mask", "NSC", "T1_after_T1", "T1")
#: The paper's column -> what was measured for it. It does not say when A_T1 was taken, so both moments stand there.
REPORTED_COLUMNS = {
    "PD": ("PD",),
    "SFR_rel": ("SFR_rel",),
    "SC_patch": ("SC_patch",),
    "SC_mask": ("SC_mask",),
    "T1": ("T1_after_T1", "T1"),
    "NSC": ("NSC",),
}

_NO_PREDICTIONS = "these results have no stored per-image predictions"
_BY_IMAGE = {
    "mcnemar": ("Masked against patched, per image", masking_table, "T2_shortcut_normal and T2_shortcut_masked"),
    "cue_effect": ("Effects of the cue", cue_effect_table, "T2_shortcut_normal"),
    "cue_effect_seeds": ("Effects of the cue, per seed", cue_effect_seed_table, "T2_shortcut_normal"),
}
_INCREMENTAL = "Class-incremental and task-incremental accuracy"
_NO_TASK = "no acc_task in the timeline"


def make_tables(card: RigidityCard) -> dict[str, Table | Missing]:
    """Every table, or why it is not there. What is reported elsewhere stands there only where the protocol is the same."""
    tables: dict[str, Table | Missing] = {
        "table1": table_one(card),
        "facets": facet_table(card),
        "floor": floor_table(card),
        "delays": delay_table(card),
        "seeds": seed_table(card),
    }
    if any(record.task_incremental is not None for record in card.methods.values()):
        tables["incremental"] = incremental_table(card)
    else:
        tables["incremental"] = Missing("incremental", _INCREMENTAL, "the timeline has no column acc_task")
    if any(record.groups for record in card.methods.values()):
        tables["groups"] = group_table(card)
    for name, (title, make, splits) in _BY_IMAGE.items():
        table = make(card, card.per_image) if card.per_image is not None else None
        if table is not None and table.rows:
            tables[name] = table
        else:
            why = _NO_PREDICTIONS if table is None else f"no run has matching predictions for {splits}"
            tables[name] = Missing(name, title, why)
    if card.corroboration is not None:
        tables |= probe_tables(card.corroboration)
    if card.attention is not None:
        tables["attention"] = attention_table(card, card.attention)
        tables["attention_heads"] = attention_head_table(card, card.attention)
    if card.reported is not None and card.reported.methods:
        tables["reported"] = reported_table(card)
    return tables


#: Every name that :func:`make_tables` may use.
NAMES = (
    *("table1", "facets", "floor", "delays", "seeds", "incremental", "groups"),
    *_BY_IMAGE,
    *("corroboration", *(f"probe_{probe}" for probe in PROBES)),
    *("attention", "attention_heads", "reported"),
    *("phases", "phase_habit", "phase_metrics", "phase_matrix"),
)


def table_one(card: RigidityCard) -> Table:
    """The paper's Table I: mean and standard deviation of every method."""
    rows, values = [], []
    for method, record in card.methods.items():
        rows.append((Cell(method), *(_estimate(card, method, key) for key in TABLE_ONE)))
        values.append({"method": method, "n_seeds": record.n_seeds, **_numbers(record, TABLE_ONE)})
    return Table(
        "Table I",
        "Mean ± standard deviation (ddof 1) over seeds; undefined for a single seed.",
        ("method", *(FACETS[key].head for key in TABLE_ONE)),
        tuple(rows),
        tuple(values),
    )


def facet_table(card: RigidityCard) -> Table:
    """Every facet with its 95 % interval and the number of seeds behind it, one row per method and facet."""
    rows, values = [], []
    for method in card.compared:
        record = card.methods[method]
        for key in FACET_COLUMNS:
            if key.endswith("_paired") and getattr(record, key) is None:
                continue
            estimate = record.facet(key)
            why = why_dash(card, method, key)
            text = (mean_sd(key, estimate), interval(key, estimate), str(estimate.n))
            kind = estimate.interval if estimate.interval in ("t", "resolution") else DASH
            rows.append((Cell(method), Cell(FACETS[key].head), Cell(text[0], why), *map(Cell, (*text[1:], kind))))
            low, high = estimate.ci95 or (None, None)
            values.append(
                {
                    "method": method,
                    "facet": key,
                    "mean": estimate.mean,
                    "sd": estimate.sd,
                    "low95": low,
                    "high95": high,
                    "n": estimate.n,
                    "interval": estimate.interval,
                    "undefined_because": why,
                }
            )
    return Table(
        "Facets with intervals",
        "Mean ± standard deviation over seeds paired with the baseline (Δ: over all seeds of the method), and the 95 % "
        "interval of the mean.",
        ("method", "facet", "mean ± sd", "95 % interval", "n", "interval by"),
        tuple(rows),
        tuple(values),
    )


def floor_table(card: RigidityCard) -> Table:
    """What is left with the cue covered, over the whole head and among the shortcut classes only."""
    rows, values = [], []
    for method, record in card.methods.items():
        state = (
            "at the floor" if card.floor.holds(record.SC_mask) else "above" if record.SC_mask.mean is not None else DASH
        )
        cells = [Cell(mean_sd(key, record.facet(key)), why_dash(card, method, key)) for key in FLOOR_COLUMNS]
        rows.append((Cell(method), *cells, Cell(state)))
        values.append({"method": method, "saturated": record.saturated, **_numbers(record, FLOOR_COLUMNS)})
    return Table(
        "With the cue covered",
        "Mean ± standard deviation over seeds. Within: predictions restricted to the shortcut classes. At the floor: "
        f"the upper end of the 95 % interval of masked accuracy is at most {card.floor.describe()}. PD − PD NSC: the "
        "part specific to the shortcut classes.",
        ("method", *(FACETS[key].head for key in FLOOR_COLUMNS), "masked"),
        tuple(rows),
        tuple(values),
    )


def group_table(card: RigidityCard) -> Table:
    """Accuracy on the groups that a folder's table names."""
    names = sorted({group for record in card.methods.values() for group in record.groups})
    rows, values = [], []
    for method, record in card.methods.items():
        rows.append(
            (
                Cell(method),
                *(
                    Cell(mean_sd("SC_patch", record.groups[one])) if one in record.groups else Cell(DASH)
                    for one in names
                ),
            )
        )
        values.append({"method": method, **_parts({one: record.groups[one] for one in names if one in record.groups})})
    return Table(
        "Accuracy by group",
        f"Mean ± standard deviation over seeds, on phase 2 test images with their cue, at {describe_rule(card)}.",
        ("method", *names),
        tuple(rows),
        tuple(values),
    )


def delay_table(card: RigidityCard) -> Table:
    """AD with the seeds that count, and who did not reach the threshold in the others."""
    rows, values = [], []
    for method in card.compared:
        record = card.methods[method]
        censored = record.AD.censored
        words = describe_censored(censored, card.tau) if censored else "all seeds included"
        if not censored and record.AD.mean is None:
            words = why_undefined(card, method, "AD")
        count = Cell(f"{record.AD.n} of {record.n_seeds}")
        rows.append((Cell(method), _estimate(card, method, "AD"), Cell(interval("AD", record.AD)), count, Cell(words)))
        for seed, own in record.per_seed.items():
            values.append({"method": method, "seed": seed, "E": own.E, "AD": own.AD, "censored": censored.get(seed)})
    return Table(
        f"Adaptation delay at τ = {number(card.tau, digits=2)}",
        "Effective epochs; mean ± standard deviation over the seeds in which both models reach the threshold.",
        ("method", "AD", "95 % interval", "seeds", "censoring"),
        tuple(rows),
        tuple(values),
    )


def seed_table(card: RigidityCard) -> Table:
    """The values of every seed."""
    rows, values = [], []
    for method, record in card.methods.items():
        for seed, own in record.per_seed.items():
            times = (epochs(own.E), write("AD", own.AD), epochs(own.checkpoint_epoch))
            rest = (Cell(write(key, own.value(key))) for key in SEED_COLUMNS)
            rows.append((Cell(method), Cell(str(seed)), *(Cell(text) for text in times), *rest))
            keys = ("E", "AD", "checkpoint_epoch", *SEED_COLUMNS)
            values.append({"method": method, "seed": seed, **{key: own.value(key) for key in keys}})
    return Table(
        "Every seed",
        "E: effective epochs until τ; a dash: never reached, not measured, or no baseline to compare with.",
        ("method", "seed", "E", "AD", "checkpoint", *(FACETS[key].head for key in SEED_COLUMNS)),
        tuple(rows),
        tuple(values),
    )


def incremental_table(card: RigidityCard) -> Table:
    """Two rows per method: class-incremental and task-incremental."""
    rows, values = [], []
    for method, record in card.methods.items():
        task = record.task_incremental
        plain = [_estimate(card, method, key) for key in INCREMENTAL_COLUMNS]
        limited = [_task_cell(card, method, key) for key in INCREMENTAL_COLUMNS]
        rows += [(Cell(method), Cell("class-incremental"), *plain), (Cell(method), Cell("task-incremental"), *limited)]
        values.append({"method": method, "accuracy": "acc", **_numbers(record, INCREMENTAL_COLUMNS)})
        undefined = {f"{key}_{part}": None for key in INCREMENTAL_COLUMNS for part in ("mean", "sd", "n")}
        known = undefined if task is None else _parts({key: task.accuracy(key) for key in INCREMENTAL_COLUMNS})
        values.append({"method": method, "accuracy": "acc_task", **known})
    return Table(
        _INCREMENTAL,
        "Mean ± standard deviation over seeds. Class-incremental: the largest output of the whole head (used by the "
        "index). Task-incremental: the largest output among the classes of the image's own phase. SC and NSC at "
        f"{describe_rule(card)}; T1 at the end of each phase.{_chance(card.stream_facts or StreamFacts())}",
        ("method", "choice", *(FACETS[key].head for key in INCREMENTAL_COLUMNS)),
        tuple(rows),
        tuple(values),
    )


def _task_cell(card: RigidityCard, method: str, key: str) -> Cell:
    task = card.methods[method].task_incremental
    if task is None:
        return Cell(DASH, _NO_TASK)
    if task.accuracy(key).mean is not None:
        return Cell(mean_sd(key, task.accuracy(key)))
    return Cell(DASH, why_dash(card, method, key) or _NO_TASK)


def _chance(facts: StreamFacts) -> str:
    """What guessing would give, as far as the stream's proof knows it.

    >>> _chance(StreamFacts(chance=1 / 60, chance_task=1 / 20, cue_alone=1 / 10, phases=("T1", "T2")))
    ' Chance: 0.017 among all 60 classes, 0.025 among the 40 of T1, 0.050 among the 20 of T2; the cue alone can reach 0.100.'
    """
    if not facts.chance or not facts.chance_task:
        return ""
    total, last = round(1 / facts.chance), round(1 / facts.chance_task)
    parts = [f"{number(1 / total)} among all {total} classes"]
    # The proof speaks of the whole head and of the last phase; with two phases the rest of the head is T1's.
    if set(facts.phases) == {"T1", "T2"} and total > last:
        parts.append(f"{number(1 / (total - last))} among the {total - last} of T1")
    parts.append(f"{number(1 / last)} among the {last} of T2")
    cue = f"; the cue alone can reach {number(facts.cue_alone)}" if facts.cue_alone is not None else ""
    return f" Chance: {', '.join(parts)}{cue}."


def reported_table(card: RigidityCard) -> Table:
    """One row per method and quantity: reported, measured, and the number of seeds measured."""
    assert card.reported is not None
    rows, values = [], []
    for method in (name for name in card.methods if name in card.reported.methods):
        for column, printed in card.reported.methods[method].items():
            for key in REPORTED_COLUMNS[column]:
                measured = card.methods[method].facet(key)
                moment = f" ({FACETS[key].head.removeprefix('T1 ')})" if len(REPORTED_COLUMNS[column]) > 1 else ""
                text = mean_sd(key, measured) + (moment if measured.mean is not None else "")
                rows.append(
                    (
                        Cell(method),
                        Cell("T1" if moment else FACETS[key].head),
                        Cell(mean_sd(key, printed)),
                        Cell(text, why_dash(card, method, key)),
                        Cell(str(measured.n)),
                    )
                )
                values.append(
                    {
                        "method": method,
                        "quantity": column,
                        "measured_as": key,
                        "reported_mean": printed.mean,
                        "reported_sd": printed.sd,
                        "measured_mean": measured.mean,
                        "measured_sd": measured.sd,
                        "measured_n": measured.n,
                    }
                )
    return Table(
        "Reported and measured",
        f"Reported: {card.reported.source}. Measured: this study. Mean ± standard deviation over seeds.",
        ("method", "quantity", "reported", "measured", "seeds measured"),
        tuple(rows),
        tuple(values),
    )


def _estimate(card: RigidityCard, method: str, key: str) -> Cell:
    return Cell(mean_sd(key, card.methods[method].facet(key)), why_dash(card, method, key))


def _numbers(record: RigidityMethod, keys: Sequence[str]) -> dict[str, Any]:
    return _parts({key: record.facet(key) for key in keys})


def _parts(estimates: dict[str, Summary]) -> dict[str, Any]:
    return {
        f"{key}_{part}": value
        for key, estimate in estimates.items()
        for part, value in (("mean", estimate.mean), ("sd", estimate.sd), ("n", estimate.n))
    }
