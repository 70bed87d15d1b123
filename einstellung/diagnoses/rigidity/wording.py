"""Patterns, certainties, rules and reasons of the rigidity index, as they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.settings import Margins
from einstellung.diagnoses.rigidity.splits import SPLIT_OF
from einstellung.report.measured import describe_seeds
from einstellung.report.notation import join, number

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
    """A pattern's name, the words that stand beside it, its line in the glossary, and its colour on a terminal."""

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
            "Faster than the baseline, no worse with the cue present, and leaning on the cue more than the baseline.",
            "bad",
        ),
        PatternWords(
            "saturated",
            "the cue decides alone in both",
            "With the cue covered neither model is above the floor: SFR_rel is −PD by algebra, and the relative index cannot "
            "tell what the history adds.",
            "warning",
        ),
        PatternWords(
            "cue-harmful",
            "the cue hurts the baseline",
            "The baseline is better without the cue, so SFR_rel measures relative harm, not reliance.",
            "odd",
        ),
        PatternWords(
            "shared-shortcut",
            "both lean on the cue",
            "The continual model leans on the cue, and so does the baseline: the history adds nothing.",
            "warning",
        ),
        PatternWords(
            "benign-avoidance",
            "the cue distracts the continual model",
            "Faster than the baseline, worse with the cue present, leaning on it less, and hardly at all.",
            "info",
        ),
        PatternWords(
            "benign-transfer",
            "no added reliance on the cue",
            "Not markedly faster, not better with the cue present, not leaning on it more than the baseline, and hardly at all.",
            "good",
        ),
        PatternWords(
            "ambiguous",
            "the data do not decide",
            "A facet is undefined or the facets fit no named pattern.",
            "strong",
        ),
    )
}

CERTAINTIES = {
    "holds": "every condition is met with p ≤ .05 after Holm's correction over the methods, and with its whole 95 % interval",
    "leans": "the means say so, but a test or a 95 % interval does not: not conclusive",
    "too few seeds": "a facet that the pattern needs rests on fewer than three seeds: not enough to tell",
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
    """The reason in a few words, for a mean that is null."""
    baseline, record = card.baseline, card.methods[method]
    if key in record.why_undefined:
        return record.why_undefined[key]
    if key in RELATIVE:
        if method == baseline:
            return "the baseline is what the others are compared with"
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
        return "its parts were not measured in the same seeds"
    if key == "T1_after_T1":
        return "no phase T1 was trained" if method == baseline else "no T1_all rows in phase T1"
    return f"{SPLIT_OF[key]} not measured"


def why_dash(card: RigidityCard, method: str, key: str) -> str | None:
    """:func:`why_undefined` where the mean is null, else nothing."""
    return why_undefined(card, method, key) if card.methods[method].facet(key).mean is None else None
