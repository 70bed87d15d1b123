"""What the page says about each method: the facets, what decided, how sure it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.diagnoses.rigidity.patterns import FEWEST_SEEDS
from einstellung.report.figures.style import styles_of
from einstellung.report.notation import (
    CERTAINTIES,
    FACETS,
    PATTERNS,
    certainty_beside,
    deciding,
    interval,
    mean_sd,
    number,
    write,
)
from einstellung.report.undefined import why_undefined

_CARD_FACETS = ("AD", "PD", "SFR_rel", "delta", "delta_S")
_BASELINE_FACETS = ("delta", "SC_patch", "SC_mask", "NSC")
_RELATIONS = {"<=": "≤", ">=": "≥", "<": "<", ">": ">"}


def verdict_card(card: Mapping[str, Any], method: str) -> dict[str, Any]:
    """Everything that stands on one method's card, as text."""
    record = card["methods"][method]
    return {
        "method": method,
        "colour": styles_of(card)[method].colour,
        "pattern": PATTERNS.get(record["pattern"]),
        "certainty": certainty_beside(record),
        "certainty_words": _certainty_words(record),
        "verdict": record["verdict"],
        "high_rigidity": record["high_rigidity"],
        "masked_floor": record.get("masked_floor", False),
        "unlearned": record.get("unlearned", False),
        "next_probe": record["next_probe"],
        "facets": [_facet_row(card, method, key) for key in _CARD_FACETS if record.get(key) is not None],
        "conditions": [_condition(condition) for condition in record["conditions"] or ()],
    }


def _certainty_words(record: Mapping[str, Any]) -> str:
    """What the certainty means; where seeds are too few, which facet has how many."""
    needed = dict.fromkeys(condition["facet"] for condition in record["conditions"])
    counts = {FACETS[facet].head: deciding(record, facet)["n"] for facet in needed}
    few = {head: n for head, n in counts.items() if 0 < n < FEWEST_SEEDS}
    if record["certainty"] == "too few seeds" and few:
        return ", ".join(f"{head} rests on n = {n}" for head, n in few.items()) + f"; {FEWEST_SEEDS} are needed to tell"
    return CERTAINTIES.get(record["certainty"], "")


def _facet_row(card: Mapping[str, Any], method: str, key: str) -> dict[str, Any]:
    estimate, facet = deciding(card["methods"][method], key), FACETS[key]
    return {
        "head": facet.head,
        "meaning": facet.meaning,
        "value": mean_sd(key, estimate),
        "interval": interval(key, estimate),
        "n": estimate["n"],
        "why": why_undefined(card, method, key) if estimate["mean"] is None else None,
    }


def _condition(condition: Mapping[str, Any]) -> dict[str, Any]:
    facet, value, bound = condition["facet"], condition["value"], condition["bound"]
    state = {True: "met", False: "not met", None: "undefined"}[condition["met"]]
    sure = {True: "interval agrees", False: "interval does not settle it", None: "no interval"}[condition["sure"]]
    within = condition["relation"] == "|.| <"
    relation = "within ±" + number(bound) if within else f"{_RELATIONS[condition['relation']]} {write(facet, bound)}"
    return {
        "text": f"{FACETS[facet].head} {write(facet, value)} {relation}",
        "state": state,
        "sure": sure if condition["met"] else "",
    }


def baseline_card(card: Mapping[str, Any]) -> dict[str, Any] | None:
    """The baseline's own accuracies and reliance; None where the timeline holds no baseline."""
    if card["baseline"] not in card["methods"]:
        return None
    rows = [_facet_row(card, card["baseline"], key) for key in _BASELINE_FACETS]
    return {"method": card["baseline"], "facets": rows}
