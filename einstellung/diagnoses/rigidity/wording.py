"""Patterns and certainties of the rigidity index, as they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from einstellung.diagnoses.rigidity.patterns import FEWEST_SEEDS


@dataclass(frozen=True)
class Pattern:
    """A verdict's name, the words that stand beside it, and its line in the glossary."""

    name: str
    words: str
    meaning: str


PATTERNS = {
    pattern.name: pattern
    for pattern in (
        Pattern(
            "red-flag",
            "shortcut-induced rigidity",
            "Faster than the baseline, no worse with the cue present, and leaning on the cue more than the baseline.",
        ),
        Pattern(
            "cue-harmful",
            "the cue hurts the baseline",
            "The baseline is better without the cue, so SFR_rel measures relative harm, not reliance.",
        ),
        Pattern(
            "shared-shortcut",
            "both lean on the cue",
            "The continual model leans on the cue, and so does the baseline: the history adds nothing.",
        ),
        Pattern(
            "benign-avoidance",
            "the cue distracts the continual model",
            "Faster than the baseline, but worse with the cue present and leaning on it less.",
        ),
        Pattern(
            "benign-transfer",
            "no added reliance on the cue",
            "Not markedly faster, not better with the cue present, and not leaning on it more than the baseline.",
        ),
        Pattern("ambiguous", "the data do not decide", "A facet is undefined or the facets fit no named pattern."),
    )
}

CERTAINTIES = {
    "holds": "the 95 % interval of every facet that the pattern needs stays on its side of the bound",
    "leans": "the means say so, but at least one 95 % interval crosses its bound",
    "too few seeds": "a facet that the pattern needs rests on fewer than three seeds: not enough to tell",
}


def certainty_beside(record: Mapping[str, Any]) -> str | None:
    """How sure a pattern is; where none was found there is nothing to be sure of, unless seeds are what is missing."""
    certainty: str | None = record["certainty"]
    return None if record["pattern"] == "ambiguous" and record["n_seeds"] >= FEWEST_SEEDS else certainty


def deciding(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A method's estimate as its verdict uses it: Δ and Δ_S on the seeds that SFR_rel rests on.

    >>> deciding({"delta": {"n": 3}, "delta_paired": {"n": 2}}, "delta")
    {'n': 2}
    """
    estimate: Mapping[str, Any] = record.get(f"{key}_paired") or record[key]
    return estimate
