"""Why a value is undefined, a figure or a table not there: a dash never stands alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
SPLIT_OF = {
    "SC_patch": "T2_shortcut_normal",
    "SC_mask": "T2_shortcut_masked",
    "SC_clean": "T2_shortcut_clean",
    "SC_elsewhere": "T2_shortcut_elsewhere",
    "NSC": "T2_nonshortcut_normal",
    "NSC_patched": "T2_nonshortcut_patched",
    "T1": "T1_all",
}


@dataclass(frozen=True)
class Missing:
    """A figure or a table that could not be made from what there is."""

    name: str
    title: str
    why: str


def censored_in_words(censored: Mapping[str, str], tau: float) -> str:
    """Who did not reach the threshold, and in which seeds.

    >>> censored_in_words({"42": "sgd", "43": "sgd", "44": "both"}, 0.6)
    'τ = 0.60 not reached by sgd in seeds 42 and 43; reached by neither in seed 44'
    """
    seeds_of: dict[str, list[str]] = {}
    for seed, who in censored.items():
        seeds_of.setdefault(who, []).append(seed)
    parts = []
    for who, seeds in seeds_of.items():
        fate = "reached by neither" if who == "both" else f"not reached by {who}"
        parts.append(f"{fate} in seed{'s' if len(seeds) > 1 else ''} {join(seeds)}")
    return f"τ = {number(tau, digits=2)} " + "; ".join(parts)


def why_undefined(card: Mapping[str, Any], method: str, key: str) -> str:
    """The reason in a few words, for a mean that is null."""
    baseline, record = card["baseline"], card["methods"][method]
    if key in RELATIVE:
        if method == baseline:
            return "the baseline is what the others are compared with"
        if baseline not in card["methods"]:
            return "no baseline in the timeline"
        if key == "AD" and record["AD"].get("censored"):
            return censored_in_words(record["AD"]["censored"], card["tau"])
        if not any(seed["paired"] for seed in record["per_seed"].values()):
            return f"no seed in common with {baseline}"
    if key in NEEDS:
        for name in (baseline,) if key == "delta_S" else (method,) if key == "delta" else (method, baseline):
            lacking = [SPLIT_OF[part] for part in NEEDS[key] if card["methods"][name][part]["mean"] is None]
            if lacking:
                return f"{join(lacking)} not measured" + (f" for {name}" if name != method else "")
        return "its parts were not measured in the same seeds"
    if key == "T1_after_T1":
        return "no phase T1 was trained" if method == baseline else "no T1_all rows in phase T1"
    return f"{SPLIT_OF[key]} not measured"
