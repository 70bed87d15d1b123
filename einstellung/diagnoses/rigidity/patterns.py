"""Which pattern the facets show, and with what certainty.

The conditions are tried in a fixed order and the means decide. Every condition is tested against its own bound; a pattern's p
is the largest of its conditions', because all of them must hold. Certainty follows from that p, corrected for the number of
methods, and from the 95 % intervals.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from einstellung.diagnoses.rigidity.floor import Floor
from einstellung.diagnoses.rigidity.settings import Margins
from einstellung.metrics.curves import TOLERANCE
from einstellung.metrics.statistics import Summary, p_of_moments, summarise

Relation = Literal["<=", "<", ">=", ">", "|.| <"]
Certainty = Literal["holds", "leans", "too few seeds"]
Doubt = Literal["copies", "near floor", "censored", "no room"]
Pattern = Literal[
    "ambiguous", "cue-harmful", "saturated", "red-flag", "benign-avoidance", "shared-shortcut", "benign-transfer"
]

FEWEST_SEEDS = 3
SHARED_RELIANCE = 0.1
ALPHA = 0.05
TRIPLET = ("AD", "PD", "SFR_rel")
#: Facets that are compared as they are in every seed: no mean, no test; undefined where a seed has none.
COUNTED = ("NSC_lowest",)


@dataclass(frozen=True)
class Facet:
    """A facet's value of every seed. ``bounds``: what it can be; ``resolution``: half of the grid it is read from."""

    values: tuple[float | None, ...]
    bounds: tuple[float, float] | None = None
    resolution: float = 0.0

    @cached_property
    def summary(self) -> Summary:
        return summarise(self.values, self.bounds, self.resolution)

    def p(self, relation: Relation, bound: float) -> float | None:
        """One-sided t test of the mean against the bound; two of them for ``|.| <``.

        >>> round(Facet((0.1, 0.2, 0.3)).p(">=", 0.0), 4)
        0.0371
        """
        if self.summary.mean is None or self.summary.sd is None:
            return None
        moments = (self.summary.mean, self.summary.sd, self.summary.n)
        if relation == "|.| <":
            return max(p_of_moments(*moments, -bound, "above"), p_of_moments(*moments, bound, "below"))
        return p_of_moments(*moments, bound, "above" if relation in (">", ">=") else "below", self.resolution)


@dataclass(frozen=True)
class Comparison:
    """One comparison of a facet's mean with a bound.

    ``sure``: whether the whole interval agrees; ``p``: of the test against the bound, None where the facet is not tested.
    """

    facet: str
    relation: Relation
    bound: float
    value: float | None
    met: bool | None
    sure: bool | None
    p: float | None = None


@dataclass(frozen=True)
class Decision:
    """A pattern's name, the comparisons that led to it, and the largest p among them.

    ``fewest``: the smallest number of seeds that a facet of theirs rests on. ``withheld``: the benign names that only the added
    conditions refuse, with the conditions that are not met.
    """

    pattern: Pattern
    conditions: tuple[Comparison, ...]
    fewest: int
    p: float | None = None
    withheld: Mapping[Pattern, tuple[Comparison, ...]] | None = None
    doubts: tuple[Doubt, ...] = ()

    def certainty(self, p_holm: float | None) -> Certainty:
        """``holds``: p at most .05 after Holm's correction, every 95 % interval on its side, and no doubts."""
        if self.pattern == "ambiguous":
            return "too few seeds" if self.fewest < FEWEST_SEEDS else "leans"
        return certainty_of(self.conditions, self.fewest, p_holm, self.doubts)


def certainty_of(
    conditions: Iterable[Comparison], fewest: int, p_holm: float | None, doubts: tuple[Doubt, ...]
) -> Certainty:
    """How certain conditions are that the means meet."""
    if fewest < FEWEST_SEEDS:
        return "too few seeds"
    sure = not doubts and all(condition.sure for condition in conditions)
    return "holds" if sure and p_holm is not None and p_holm <= ALPHA else "leans"


def doubts(
    conditions: Iterable[Comparison], facets: Mapping[str, Facet], floor: Floor, never: Container[str], copies: bool
) -> tuple[Doubt, ...]:
    """Why conditions cannot be certain, however small their p.

    ``copies``: one run counts as several seeds. ``near floor``: SFR_rel is compared, and both masked means are at the floor, so
    that saturation is not ruled out. ``censored``: AD leaves out a seed that contradicts it, because the side that should be the
    sooner one never reached the threshold; ``never`` holds the sides that did not, ``method`` and ``baseline``. ``no room``: the
    baseline reaches the threshold so early that AD cannot be below its bound (``AD_room``: how many epochs sooner a model could
    be).
    """
    found: list[Doubt] = ["copies"] if copies else []
    masked = [facets[name].summary.mean for name in ("SC_mask", "SC_mask_S")]
    for one in conditions:
        if one.facet == "SFR_rel" and all(mean is not None and mean <= floor.level + TOLERANCE for mean in masked):
            found.append("near floor")
        if one.facet == "AD" and ("method" if one.relation in ("<=", "<") else "baseline") in never:
            found.append("censored")
        room = facets["AD_room"].summary.mean
        if one.facet == "AD" and one.relation == ">" and room is not None and room <= -one.bound + TOLERANCE:
            found.append("no room")
    return tuple(found)


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


def compare(facets: Mapping[str, Facet], facet: str, relation: Relation, bound: float) -> Comparison:
    """A facet's mean, its interval and its test against a bound."""
    if facet in COUNTED:
        values = [value for value in facets[facet].values if value is not None]
        lowest = min(values) if 0 < len(values) == len(facets[facet].values) else None
        met = None if lowest is None else holds(lowest, relation, bound)
        return Comparison(facet, relation, bound, lowest, met, met)
    summary = facets[facet].summary
    sure = None if summary.ci95 is None else all(holds(end, relation, bound) for end in summary.ci95)
    met = None if summary.mean is None else holds(summary.mean, relation, bound)
    return Comparison(facet, relation, bound, summary.mean, met, sure, facets[facet].p(relation, bound))


Conditions = tuple[Comparison, ...]


def candidates(facets: Mapping[str, Facet], margins: Margins, floor: Floor) -> dict[Pattern, Conditions]:
    """Every pattern's conditions, in the order in which they are tried."""

    def all_of(*comparisons: tuple[str, Relation, float]) -> Conditions:
        return tuple(compare(facets, *comparison) for comparison in comparisons)

    # No benign name for a model that depends on the cue, nor for one that has not learned the other classes.
    benign: tuple[tuple[str, Relation, float], ...] = (
        ("delta", "<=", margins.SFR_rel),
        ("NSC_lowest", ">", floor.chance),
    )
    return {
        "cue-harmful": all_of(("delta_S", "<=", 0.0)),
        "saturated": all_of(("SC_mask", "<=", floor.level), ("SC_mask_S", "<=", floor.level)),
        "red-flag": all_of(("AD", "<=", -margins.AD), ("PD", "<=", 0.0), ("SFR_rel", ">=", margins.SFR_rel)),
        "benign-avoidance": all_of(
            ("AD", "<", 0.0), ("PD", ">=", margins.PD), ("SFR_rel", "<=", -margins.SFR_rel), *benign
        ),
        "shared-shortcut": all_of(("delta", ">=", SHARED_RELIANCE), ("SFR_rel", "|.| <", margins.SFR_rel)),
        "benign-transfer": all_of(
            ("AD", ">", -margins.AD), ("PD", ">=", 0.0), ("SFR_rel", "<", margins.SFR_rel), *benign
        ),
    }


def is_saturated(facets: Mapping[str, Facet], floor: Floor) -> bool:
    """Whether neither model is above the floor with the cue covered."""
    return floor.holds(facets["SC_mask"].summary) and floor.holds(facets["SC_mask_S"].summary)


def is_unlearned(facets: Mapping[str, Facet], floor: Floor) -> bool:
    """Whether neither model is above the floor even with the cue: differences of such accuracies are noise."""
    return floor.holds(facets["SC_patch"].summary) and floor.holds(facets["SC_patch_S"].summary)


def decide(facets: Mapping[str, Facet], margins: Margins, floor: Floor, paired_seeds: int) -> Decision:
    """The first pattern whose conditions the means meet; ``saturated`` where the intervals of both models say so.

    ``facets`` holds AD, PD, SFR_rel, delta and delta_S, the accuracies SC_patch, SC_mask and the baseline's (``_S``), and
    NSC_lowest. An undefined facet of the triplet makes the case ambiguous, and so do models that have not learned the shortcut
    classes, and a triplet that no pattern describes; the conditions are then those of the red flag, to show what is missing.

    >>> facets = {"AD": -9, "PD": -0.05, "SFR_rel": 0.1, "delta": 0.4, "delta_S": 0.3, "SC_patch": 0.8, "SC_mask": 0.4}
    >>> facets |= {"SC_patch_S": 0.75, "SC_mask_S": 0.45, "NSC_lowest": 0.7}
    >>> spread = {name: Facet(tuple(mean + 0.001 * k for k in (-1, 0, 1))) for name, mean in facets.items()}
    >>> decision = decide(spread, Margins(), Floor.of(60), paired_seeds=3)
    >>> decision.pattern, decision.certainty(decision.p)
    ('red-flag', 'holds')
    """
    conditions_of = candidates(facets, margins, floor)
    defined = all(facets[name].summary.mean is not None for name in TRIPLET)
    saturated = is_saturated(facets, floor)
    withheld: dict[Pattern, Conditions] = {}
    if defined and not is_unlearned(facets, floor):
        for pattern, conditions in conditions_of.items():
            if pattern == "saturated":
                found = saturated
            else:
                found = all(condition.met for condition in conditions)
            if found:
                return _decision(pattern, conditions, facets, withheld)
            if pattern.startswith("benign") and all(one.met for one in conditions[:3]):
                withheld[pattern] = tuple(one for one in conditions[3:] if not one.met)
    return Decision("ambiguous", conditions_of["red-flag"], paired_seeds, withheld=withheld)


def _decision(
    pattern: Pattern, conditions: Conditions, facets: Mapping[str, Facet], withheld: Mapping[Pattern, Conditions]
) -> Decision:
    tested = [condition for condition in conditions if condition.facet not in COUNTED]
    fewest = min(facets[condition.facet].summary.n for condition in tested)
    return Decision(pattern, conditions, fewest, largest_p(tested), withheld)


def largest_p(conditions: Iterable[Comparison]) -> float | None:
    """The p of an intersection-union test: all conditions must hold. None where one cannot be tested."""
    values = [condition.p for condition in conditions]
    return None if None in values else max(p for p in values if p is not None)


def high_rigidity(facets: Mapping[str, Facet], margins: Margins, floor: Floor) -> Conditions | None:
    r"""The conditions of the paper's flag; None where a facet is undefined or nothing was learned, or where saturation
    makes the flag follow from PD alone.

    .. math:: AD \le -d_{AD} \;\wedge\; PD \le -d_{PD} \;\wedge\; SFR_{rel} \ge d_{SFR}
    """
    conditions = (
        compare(facets, "AD", "<=", -margins.AD),
        compare(facets, "PD", "<=", -margins.PD),
        compare(facets, "SFR_rel", ">=", margins.SFR_rel),
    )
    undefined = any(condition.met is None for condition in conditions)
    return None if undefined or is_saturated(facets, floor) or is_unlearned(facets, floor) else conditions
