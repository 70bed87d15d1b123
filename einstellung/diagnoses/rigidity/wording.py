"""Texts of the rigidity index: patterns, certainties, checkpoint rules and reasons for undefined values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.settings import Margins
from einstellung.diagnoses.rigidity.splits import SPLIT_OF
from einstellung.prose import join
from einstellung.report.measured import describe_seeds
from einstellung.report.notation import number

NEEDS = {
    "AD": ("SC_patch",),
    "PD": ("SC_patch",),
    "SFR_rel": ("SC_patch", "SC_mask"),
    "CSR_rel": ("SC_patch", "SC_mask"),
    "delta": ("SC_patch", "SC_mask"),
    "delta_S": ("SC_patch", "SC_mask"),
}
RELATIVE = ("AD", "PD", "SFR_rel", "CSR_rel", "delta_S")


@dataclass(frozen=True)
class PatternWords:
    """A pattern's name, short description, glossary entry and terminal colour."""

    name: str
    words: str
    meaning: str
    tone: str


PATTERNS = {
    pattern.name: pattern
    for pattern in (
        PatternWords(
            "red-flag",
            "shortcut-induced rigidity",
            "Faster than the baseline, no worse with the cue present, and more reliant on the cue than the baseline.",
            "bad",
        ),
        PatternWords(
            "saturated",
            "both models depend on the cue alone",
            "With the cue covered, neither model is above the floor: SFR_rel equals −PD by construction, so the "
            "relative index cannot separate the effect of the training history.",
            "warning",
        ),
        PatternWords(
            "cue-harmful",
            "the cue does not help the baseline",
            "The baseline is no better with the cue than without it, so SFR_rel measures relative harm, not reliance.",
            "odd",
        ),
        PatternWords(
            "shared-shortcut",
            "both rely on the cue",
            "The continual model and the baseline rely on the cue equally: the training history adds nothing.",
            "warning",
        ),
        PatternWords(
            "benign-avoidance",
            "the cue distracts the continual model",
            "Faster than the baseline, worse with the cue present, and less reliant on it, with little or no gain from it.",
            "info",
        ),
        PatternWords(
            "benign-transfer",
            "no added reliance on the cue",
            "Not clearly faster than the baseline, not better with the cue present and no more reliant on it, with "
            "little or no gain from it.",
            "good",
        ),
        PatternWords(
            "ambiguous",
            "undecided",
            "A facet is undefined, or the facets match no named pattern.",
            "strong",
        ),
    )
}

CERTAINTIES = {
    "holds": "conclusive: p ≤ .05 after Holm's correction over the methods, and no 95 % interval crosses its threshold",
    "leans": "not conclusive: the means match the pattern, but a test or a 95 % interval does not confirm it",
    "too few seeds": "not conclusive: a required facet has fewer than three seeds",
}

_RULES = {"best-val": "the epoch with the best T2_val accuracy", "last": "the last epoch of phase 2"}


def describe_rule(card: RigidityCard) -> str:
    """Which checkpoint the final values come from."""
    return _RULES[card.final]


def describe_margins(margins: Margins) -> str:
    """The margins of the verdict: one effective epoch is ``1``, accuracies are shares.

    >>> describe_margins(Margins())
    'AD 1.00, PD 0.020, SFR_rel 0.020'
    """
    return f"AD {number(margins.AD, digits=2)}, PD {number(margins.PD)}, SFR_rel {number(margins.SFR_rel)}"


def describe_card_seeds(card: RigidityCard) -> str:
    """How many seeds the methods of a card have, and which."""
    return describe_seeds({method: record.per_seed for method, record in card.methods.items()})


def describe_censored(censored: Mapping[int, str], tau: float) -> str:
    """Who did not reach the threshold, and in which seeds.

    >>> describe_censored({42: "sgd", 43: "sgd", 44: "both"}, 0.6)
    'τ = 0.60 not reached by sgd in seeds 42 and 43; reached by neither in seed 44'
    """
    seeds_of: dict[str, list[str]] = {}
    for seed, who in censored.items():
        seeds_of.setdefault(who, []).append(str(seed))
    parts = []
    for who, seeds in seeds_of.items():
        fate = "reached by neither" if who == "both" else f"not reached by {who}"
        parts.append(f"{fate} in seed{'s' if len(seeds) > 1 else ''} {join(seeds)}")
    return f"τ = {number(tau, digits=2)} " + "; ".join(parts)


def why_undefined(card: RigidityCard, method: str, key: str) -> str:
    """A short reason why a mean is null."""
    baseline, record = card.baseline, card.methods[method]
    if key in record.why_undefined:
        return record.why_undefined[key]
    if key in RELATIVE:
        if method == baseline:
            return "this is the baseline"
        if not card.has_baseline:
            return "no baseline in the timeline"
        if key == "AD" and record.AD.censored:
            return describe_censored(record.AD.censored, card.tau)
        if not any(seed.paired for seed in record.per_seed.values()):
            return f"no seed in common with {baseline}"
    if key in NEEDS:
        for name in (baseline,) if key == "delta_S" else (method,) if key == "delta" else (method, baseline):
            lacking = [SPLIT_OF[part] for part in NEEDS[key] if card.methods[name].facet(part).mean is None]
            if lacking:
                return f"{join(lacking)} not measured" + (f" for {name}" if name != method else "")
        return "its components were not measured in the same seeds"
    if key == "T1_after_T1":
        return "no phase T1 was trained" if method == baseline else "no T1_all rows in phase T1"
    return f"{SPLIT_OF[key]} not measured"


def why_dash(card: RigidityCard, method: str, key: str) -> str | None:
    """:func:`why_undefined` where the mean is null, else nothing."""
    return why_undefined(card, method, key) if card.methods[method].facet(key).mean is None else None
