"""The answer in words: which learner leans on the cue, and how sure that is. Every word is chosen by the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from einstellung.report.notation import (
    PATTERNS,
    certainty_beside,
    continual_methods,
    interval,
    join,
    write,
)

_MOST_LISTED = 6
_PATTERNS = {
    "red-flag": "faster than {baseline}, no worse with the cue present, and leaning on the cue more than {baseline}",
    "cue-harmful": "compared where the cue hurts {baseline} itself, so relative reliance reads as relative harm",
    "shared-shortcut": "leaning on the cue just as {baseline} does, so the training history adds nothing",
    "benign-avoidance": "faster than {baseline}, yet worse with the cue present and leaning on it less",
    "benign-transfer": "not leaning on the cue more than {baseline}",
    "ambiguous": "not decided by these data",
}
_SENTENCES = {
    "holds": "{names} {verb} {words} ({pattern}); every 95 % interval that this needs agrees.",
    "leans": "By the means {names} {verb} {words} ({pattern}), but not every 95 % interval agrees.",
    "too few seeds": "By the means alone {names} {verb} {words} ({pattern}): there are too few seeds to tell.",
    None: "{names} {verb} {words} ({pattern}).",
}


def answer(card: Mapping[str, Any]) -> list[str]:
    """Two paragraphs: the patterns with how sure they are, and the absolute reliance on the cue."""
    return [" ".join(_patterns(card)), " ".join(_reliance(card))]


def _patterns(card: Mapping[str, Any]) -> list[str]:
    methods = continual_methods(card)
    if not methods:
        return ["There is no continual learner in this timeline, so there is nothing to compare."]
    if card["baseline"] not in card["methods"]:
        return [
            "There is no baseline in this timeline, so nothing can be said relative to a model trained from scratch."
        ]
    groups: dict[tuple[str, str | None], list[str]] = {}
    for method in methods:
        record = card["methods"][method]
        groups.setdefault((record["pattern"], certainty_beside(record)), []).append(method)
    order = {name: place for place, name in enumerate(PATTERNS)}
    sentences = []
    for (pattern, certainty), members in sorted(groups.items(), key=lambda group: order[group[0][0]]):
        words = _PATTERNS[pattern].format(baseline=card["baseline"])
        verb = "is" if len(members) == 1 else "are"
        sentences.append(_SENTENCES[certainty].format(names=join(members), verb=verb, words=words, pattern=pattern))
    floored = [method for method in methods if card["methods"][method].get("masked_floor")]
    if floored:
        among = "all of them" if len(floored) == len(methods) else f"{card['baseline']}, {join(floored)}"
        sentences.append(
            f"With the cue covered next to nothing is left in {among}: what is said relative to {card['baseline']} says "
            "little there, the reliance itself says more."
        )
    unlearned = [method for method in methods if card["methods"][method].get("unlearned")]
    if unlearned:
        each = f"Neither {card['baseline']} nor {' nor '.join(unlearned)}"
        among = "None of them" if len(unlearned) == len(methods) > 1 else each
        sentences.append(
            f"{among} has learned the shortcut classes, even with the cue: no facet means anything there yet."
        )
    return sentences


def _reliance(card: Mapping[str, Any]) -> list[str]:
    """Who leans on the cue at all: Δ, and on which side of 0 its interval lies."""
    sides: dict[str, list[str]] = {"above": [], "below": [], "across": [], "no interval": []}
    for method, record in card["methods"].items():
        if record["delta"]["mean"] is not None:
            sides[_side(record["delta"].get("ci95"))].append(method)
    if not any(sides.values()):
        return ["Absolute reliance on the cue was not measured: there are no accuracies with the cue covered."]
    sentences = {
        "above": "Covering the cue costs accuracy in {}.",
        "below": "Covering the cue helps in {}.",
        "across": "Whether covering the cue costs accuracy is open in {}: the interval holds 0.",
        "no interval": "From too few seeds for an interval, accuracy with the cue minus accuracy with it covered: {}.",
    }
    return [sentences[side].format(_deltas(card, methods)) for side, methods in sides.items() if methods]


def _side(bounds: Sequence[float] | None) -> str:
    if bounds is None:
        return "no interval"
    return "above" if bounds[0] > 0 else "below" if bounds[1] < 0 else "across"


def _deltas(card: Mapping[str, Any], methods: Sequence[str]) -> str:
    if len(methods) > _MOST_LISTED:
        ordered = sorted(methods, key=lambda method: card["methods"][method]["delta"]["mean"])
        shown = [ordered[0], ordered[-1]]
        among = f"; {_deltas(card, [card['baseline']])} is among them" if card["baseline"] in methods else ""
        return f"{len(methods)} models, from {_deltas(card, shown[:1])} to {_deltas(card, shown[1:])}{among}"

    def one(method: str) -> str:
        estimate = card["methods"][method]["delta"]
        bounds = f", 95 % {interval('delta', estimate)}" if estimate.get("ci95") is not None else ""
        return f"{method} (Δ {write('delta', estimate['mean'])}{bounds})"

    return join(one(method) for method in methods)


def failed_checks(*groups: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Every check that did not pass, of the stream's proof and of the log."""
    return [check for group in groups for check in group if check["passed"] is False]
