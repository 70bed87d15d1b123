"""Tables of a scorecard: cells of text for people, and the same numbers in full for machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from einstellung.report.notation import DASH, FACETS, continual_methods, epochs, interval, mean_sd, number, write
from einstellung.report.undefined import censored_in_words, why_undefined

TABLE_ONE = ("PD", "SFR_rel", "SC_patch", "SC_mask", "T1", "T1_after_T1", "NSC")
FACET_COLUMNS = ("AD", "PD", "SFR_rel", "CSR_rel", "delta", "delta_paired", "delta_S", "delta_S_paired")
SEED_COLUMNS = ("PD", "SFR_rel", "CSR_rel", "delta", "SC_patch", "SC_mask", "NSC", "T1", "T1_after_T1")


@dataclass(frozen=True)
class Cell:
    """What stands in a table, and why it is a dash where it is one. ``tone``: worse or better, where a page may colour it."""

    text: str
    why: str | None = None
    tone: str | None = None


@dataclass(frozen=True)
class Table:
    """Text for people. ``values`` are the same rows as plain numbers, one column each, for CSV.

    ``words``: how many columns, from the left, hold words rather than numbers.
    """

    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    values: tuple[dict[str, Any], ...]
    words: int = 1


def table_one(card: Mapping[str, Any]) -> Table:
    """The paper's Table I: mean and standard deviation of every method."""
    rows, values = [], []
    for method, record in card["methods"].items():
        rows.append((Cell(method), *(_estimate(card, method, key) for key in TABLE_ONE)))
        values.append({"method": method, "n_seeds": record["n_seeds"], **_numbers(record, TABLE_ONE)})
    return Table(
        "Table I",
        "Mean ± standard deviation (ddof 1) over seeds; a single seed has no deviation.",
        ("method", *(FACETS[key].head for key in TABLE_ONE)),
        tuple(rows),
        tuple(values),
    )


def facet_table(card: Mapping[str, Any]) -> Table:
    """Every facet with its 95 % interval and the number of seeds behind it, one row per method and facet."""
    rows, values = [], []
    for method in continual_methods(card):
        record = card["methods"][method]
        for key in FACET_COLUMNS:
            estimate = record.get(key)
            if estimate is None:
                continue
            why = why_undefined(card, method, key) if estimate["mean"] is None else None
            text = (mean_sd(key, estimate), interval(key, estimate), str(estimate["n"]))
            kind = {"t": "t", "bootstrap": "bootstrap"}.get(estimate.get("interval", ""), DASH)
            rows.append((Cell(method), Cell(FACETS[key].head), Cell(text[0], why), *map(Cell, (*text[1:], kind))))
            low, high = estimate.get("ci95") or (None, None)
            values.append(
                {
                    "method": method,
                    "facet": key,
                    "mean": estimate["mean"],
                    "sd": estimate["sd"],
                    "low95": low,
                    "high95": high,
                }
                | {"n": estimate["n"], "interval": estimate.get("interval"), "undefined_because": why}
            )
    return Table(
        "Facets with intervals",
        "Mean ± standard deviation over seeds paired with the baseline (Δ: over all seeds of the method), and the 95 % "
        "interval of the mean.",
        ("method", "facet", "mean ± sd", "95 % interval", "n", "interval by"),
        tuple(rows),
        tuple(values),
    )


def delay_table(card: Mapping[str, Any]) -> Table:
    """AD with the seeds that count, and who did not reach the threshold in the others."""
    rows, values = [], []
    for method in continual_methods(card):
        record = card["methods"][method]
        estimate, censored = record["AD"], record["AD"].get("censored") or {}
        words = censored_in_words(censored, card["tau"]) if censored else "every seed counts"
        if not censored and estimate["mean"] is None:
            words = why_undefined(card, method, "AD")
        count = Cell(f"{estimate['n']} of {record['n_seeds']}")
        rows.append((Cell(method), _estimate(card, method, "AD"), Cell(interval("AD", estimate)), count, Cell(words)))
        for seed, own in record["per_seed"].items():
            values.append(
                {"method": method, "seed": seed, "E": own["E"], "AD": own["AD"], "censored": censored.get(seed)},
            )
    return Table(
        f"Adaptation delay at τ = {number(card['tau'], digits=2)}",
        "Effective epochs; mean ± standard deviation over the seeds in which both models reach the threshold.",
        ("method", "AD", "95 % interval", "seeds", "censoring"),
        tuple(rows),
        tuple(values),
    )


def seed_table(card: Mapping[str, Any]) -> Table:
    """What every single seed gave."""
    rows, values = [], []
    for method, record in card["methods"].items():
        for seed, own in record["per_seed"].items():
            times = (epochs(own["E"]), write("AD", own["AD"]), epochs(own.get("checkpoint_epoch")))
            rest = (Cell(write(key, own.get(key))) for key in SEED_COLUMNS)
            rows.append((Cell(method), Cell(seed), *(Cell(text) for text in times), *rest))
            keys = ("E", "AD", "checkpoint_epoch", *SEED_COLUMNS)
            values.append({"method": method, "seed": seed, **{key: own.get(key) for key in keys}})
    return Table(
        "Every seed",
        "E: effective epochs until τ; a dash: never reached, not measured, or no baseline to compare with.",
        ("method", "seed", "E", "AD", "checkpoint", *(FACETS[key].head for key in SEED_COLUMNS)),
        tuple(rows),
        tuple(values),
    )


def _estimate(card: Mapping[str, Any], method: str, key: str) -> Cell:
    estimate = card["methods"][method][key]
    return Cell(mean_sd(key, estimate), why_undefined(card, method, key) if estimate["mean"] is None else None)


def _numbers(record: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {f"{key}_{part}": record[key][part] for key in keys for part in ("mean", "sd", "n")}
