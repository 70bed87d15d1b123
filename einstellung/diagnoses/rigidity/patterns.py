"""Which pattern the facets show, and with what certainty.

The conditions are tried in a fixed order and the means decide. How sure the name is follows from the 95 % intervals of
the facets that its condition needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from einstellung.diagnoses.rigidity.settings import Margins
from einstellung.metrics.curves import TOLERANCE
from einstellung.metrics.statistics import Summary

Relation = Literal["<=", "<", ">=", ">", "|.| <"]
Certainty = Literal["holds", "leans", "too few seeds"]
Pattern = Literal["ambiguous", "cue-harmful", "red-flag", "benign-avoidance", "shared-shortcut", "benign-transfer"]

FEWEST_SEEDS = 3
SHARED_RELIANCE = 0.1
TRIPLET = ("AD", "PD", "SFR_rel")


@dataclass(frozen=True)
class Comparison:
    """One comparison of a facet's mean with a bound; ``sure`` says whether its whole interval agrees."""

    facet: str
    relation: Relation
    bound: float
    value: float | None
    met: bool | None
    sure: bool | None


@dataclass(frozen=True)
class Decision:
    """A pattern's name, how sure it is, and the comparisons that led to it."""

    pattern: Pattern
    certainty: Certainty
    conditions: tuple[Comparison, ...]


def holds(value: float, relation: Relation, bound: float) -> bool:
    """Compare with a tolerance of 1e-9: a value within it of the bound is equal to the bound.

    >>> holds(0.02 - 1e-12, ">=", 0.02), holds(0.02 + 1e-12, ">", 0.02)
    (True, False)
    """
    match relation:
        case "<=":
            return value <= bound + TOLERANCE
        case "<":
            return value < bound - TOLERANCE
        case ">=":
            return value >= bound - TOLERANCE
        case ">":
            return value > bound + TOLERANCE
        case "|.| <":
            return abs(value) < bound - TOLERANCE


def compare(facets: Mapping[str, Summary], facet: str, relation: Relation, bound: float) -> Comparison:
    """A facet's mean and its interval against a bound."""
    summary = facets[facet]
    sure = None if summary.ci95 is None else all(holds(end, relation, bound) for end in summary.ci95)
    met = None if summary.mean is None else holds(summary.mean, relation, bound)
    return Comparison(facet, relation, bound, summary.mean, met, sure)


def candidates(facets: Mapping[str, Summary], margins: Margins) -> dict[Pattern, tuple[Comparison, ...]]:
    """Every pattern's conditions, in the order in which they are tried."""

    def all_of(*comparisons: tuple[str, Relation, float]) -> tuple[Comparison, ...]:
        return tuple(compare(facets, *comparison) for comparison in comparisons)

    return {
        "cue-harmful": all_of(("delta_S", "<=", 0.0)),
        "red-flag": all_of(("AD", "<=", -margins.AD), ("PD", "<=", 0.0), ("SFR_rel", ">=", margins.SFR_rel)),
        "benign-avoidance": all_of(("AD", "<", 0.0), ("PD", ">=", margins.PD), ("SFR_rel", "<=", -margins.SFR_rel)),
        "shared-shortcut": all_of(("delta", ">=", SHARED_RELIANCE), ("SFR_rel", "|.| <", margins.SFR_rel)),
        "benign-transfer": all_of(("AD", ">", -margins.AD), ("PD", ">=", 0.0), ("SFR_rel", "<", margins.SFR_rel)),
    }


def decide(facets: Mapping[str, Summary], margins: Margins, paired_seeds: int) -> Decision:
    """The first pattern whose conditions the means meet.

    ``facets`` holds AD, PD, SFR_rel, delta and delta_S. An undefined facet of the triplet makes the case ambiguous, and
    so does a triplet that no pattern describes; the conditions are then those of the red flag, to show what is missing.

    >>> def sure(mean): return Summary(mean, 0.001, 5, (mean - 0.001, mean + 0.001), "t")
    >>> facets = {"AD": -9, "PD": -0.05, "SFR_rel": 0.1, "delta": 0.4, "delta_S": 0.3}
    >>> decision = decide({name: sure(mean) for name, mean in facets.items()}, Margins(), paired_seeds=5)
    >>> decision.pattern, decision.certainty
    ('red-flag', 'holds')
    """
    conditions_of = candidates(facets, margins)
    if all(facets[name].mean is not None for name in TRIPLET):
        for pattern, conditions in conditions_of.items():
            if all(condition.met for condition in conditions):
                return Decision(pattern, _certainty(facets, conditions), conditions)
    certainty: Certainty = "too few seeds" if paired_seeds < FEWEST_SEEDS else "leans"
    return Decision("ambiguous", certainty, conditions_of["red-flag"])


def _certainty(facets: Mapping[str, Summary], conditions: tuple[Comparison, ...]) -> Certainty:
    if min(facets[condition.facet].n for condition in conditions) < FEWEST_SEEDS:
        return "too few seeds"
    return "holds" if all(condition.sure for condition in conditions) else "leans"


def high_rigidity(facets: Mapping[str, Summary], margins: Margins) -> bool | None:
    r"""The paper's flag, on the means; None where a facet is undefined.

    .. math:: AD \le -d_{AD} \;\wedge\; PD \le -d_{PD} \;\wedge\; SFR_{rel} \ge d_{SFR}

    >>> high_rigidity({name: Summary(None, None, 0, None, "none") for name in TRIPLET}, Margins()) is None
    True
    """
    conditions = (
        compare(facets, "AD", "<=", -margins.AD),
        compare(facets, "PD", "<=", -margins.PD),
        compare(facets, "SFR_rel", ">=", margins.SFR_rel),
    )
    if any(condition.met is None for condition in conditions):
        return None
    return all(condition.met for condition in conditions)
