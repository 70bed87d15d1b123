"""Page content beyond the shell: a card per method, statistics and the glossary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from einstellung.diagnoses.rigidity.attention_tables import NOT_PROOF
from einstellung.diagnoses.rigidity.card import BesideFinding, RigidityCard, RigidityMethod
from einstellung.diagnoses.rigidity.forest import anchor
from einstellung.diagnoses.rigidity.patterns import FEWEST_SEEDS, TRIPLET, Comparison
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.diagnoses.rigidity.statistics_tables import statistics_tables
from einstellung.diagnoses.rigidity.tables import NAMES
from einstellung.diagnoses.rigidity.wording import CERTAINTIES, PATTERNS, PatternWords, why_undefined
from einstellung.prose import join
from einstellung.report.notation import FACETS, interval, mean_sd, number, write
from einstellung.results.probe_names import PROBES

CARD_FACETS = ("AD", "PD", "SFR_rel", "delta", "delta_S", "SFR_rel_within", "PD_specific", "share_lost")
BASELINE_FACETS = ("delta", "SC_patch", "SC_mask", "NSC", "share_lost")
_GLOSSARY = ("AD", "PD", "SFR_rel", "CSR_rel", "delta", "delta_S", "SFR_rel_within", "PD_specific", "share_lost")
_RELATIONS = {"<=": "≤", ">=": "≥", "<": "<", ">": ">"}


@dataclass(frozen=True)
class FacetRow:
    """A facet as a card shows it."""

    key: str
    head: str
    meaning: str
    value: str
    interval: str
    n: int
    why: str | None


@dataclass(frozen=True)
class ConditionRow:
    """A condition of the verdict as a card shows it."""

    text: str
    state: str
    sure: str


@dataclass(frozen=True)
class VerdictCard:
    """One method's card as text."""

    method: str
    anchor: str
    record: RigidityMethod
    pattern: PatternWords | None
    is_certain: bool
    certainty_words: str
    facets: list[FacetRow]
    conditions: list[ConditionRow]


def page(card: RigidityCard) -> dict[str, Any]:
    """What ``page.html`` shows of a card."""
    baseline = [_facet_row(card, card.baseline, key) for key in BASELINE_FACETS] if card.has_baseline else []
    return {
        "cards": [verdict_card(card, method) for method in card.compared],
        "baseline": card.baseline,
        "baseline_facets": baseline,
        "baseline_anchor": anchor(list(card.methods).index(card.baseline)) if card.has_baseline else None,
        "besides": [_beside_row(found) for found in card.besides],
        "corroboration": card.corroboration,
        "commands": _commands(card),
        "probe_tables": [f"probe_{probe}" for probe in PROBES],
        "not_proof": NOT_PROOF,
        "statistics": statistics_tables(card),
        "own_tables": NAMES,
        "facets": [FACETS[key] for key in _GLOSSARY],
        "patterns": list(PATTERNS.values()),
        "certainties": CERTAINTIES,
    }


def page_terms() -> dict[str, str]:
    """Tooltips: facets by key and heading; patterns, certainties and settings by name."""
    settings = {name: field.description or "" for name, field in RigiditySettings.model_fields.items()}
    facets = {name: facet.meaning for facet in FACETS.values() for name in (facet.key, facet.head)}
    return {**settings, **facets, **{pattern.name: pattern.meaning for pattern in PATTERNS.values()}, **CERTAINTIES}


def _commands(card: RigidityCard) -> dict[str, str]:
    """Each recommended command and the methods it applies to."""
    by_command: dict[str, list[str]] = {}
    for method, command in (card.corroboration.next_command if card.corroboration else {}).items():
        by_command.setdefault(command, []).append(method)
    return {command: join(methods) for command, methods in by_command.items()}


@dataclass(frozen=True)
class BesideRow:
    """A finding as the page lists it."""

    text: str
    value: str
    range: str
    n: int


def _beside_row(found: BesideFinding) -> BesideRow:
    bounds = "" if found.ci95 is None else f"[{', '.join(write('delta', end) for end in found.ci95)}]"
    return BesideRow(f"{found.text[0].upper()}{found.text[1:]}", write("delta", found.value), bounds, found.n)


def verdict_card(card: RigidityCard, method: str) -> VerdictCard:
    """One method's card."""
    record = card.methods[method]
    return VerdictCard(
        method=method,
        anchor=anchor(list(card.methods).index(method)),
        record=record,
        pattern=PATTERNS[record.pattern] if record.pattern is not None else None,
        is_certain=record.certainty == "holds",
        certainty_words=_certainty_words(record),
        facets=[_facet_row(card, method, key) for key in CARD_FACETS],
        conditions=[_condition_row(condition) for condition in record.conditions],
    )


def _certainty_words(record: RigidityMethod) -> str:
    """The meaning of the certainty or, with too few seeds, the seed count of each facet concerned."""
    needed = dict.fromkeys(condition.facet for condition in record.conditions)
    counts = {FACETS[facet].head: record.deciding(facet).n for facet in needed if facet in TRIPLET or facet == "delta"}
    few = {head: n for head, n in counts.items() if 0 < n < FEWEST_SEEDS}
    if record.certainty == "too few seeds" and few:
        return ", ".join(f"{head} has n = {n}" for head, n in few.items()) + f"; at least {FEWEST_SEEDS} needed"
    return CERTAINTIES[record.certainty] if record.certainty is not None else ""


def _facet_row(card: RigidityCard, method: str, key: str) -> FacetRow:
    estimate, facet = card.methods[method].deciding(key), FACETS[key]
    return FacetRow(
        key=key,
        head=facet.head,
        meaning=facet.meaning,
        value=mean_sd(key, estimate),
        interval=interval(key, estimate),
        n=estimate.n,
        why=why_undefined(card, method, key) if estimate.mean is None else None,
    )


def _condition_row(condition: Comparison) -> ConditionRow:
    facet, bound = condition.facet, condition.bound
    within = condition.relation == "|.| <"
    relation = "within ±" + number(bound) if within else f"{_RELATIONS[condition.relation]} {write(facet, bound)}"
    sure = {True: "interval agrees", False: "interval crosses the threshold", None: "no interval"}[condition.sure]
    return ConditionRow(
        text=f"{FACETS[facet].head} {write(facet, condition.value)} {relation}",
        state={True: "met", False: "not met", None: "undefined"}[condition.met],
        sure=sure if condition.met else "",
    )
