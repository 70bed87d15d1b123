"""The answer in words: which methods are confounded, and what that was judged against. Every word is chosen by the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from einstellung.diagnoses.confounding.splits import UNCONFOUNDED
from einstellung.diagnoses.confounding.verdict import (
    CONFOUNDED,
    INSIDIOUS,
    JOINT,
    NOT_CONFOUNDED,
    NOT_LEARNED,
    SANITY_CHECK,
    UNDECIDED,
    VERDICTS,
    percent,
    points,
)
from einstellung.report.notation import join

_MODELS = {"NN": "a net that sees pixels", "NeSy": "a set transformer that sees the objects' attributes"}
_SLOTS = "a set transformer that sees the objects which slot attention reads off the pixels"
_SENTENCES = {
    INSIDIOUS: "{names} {verb} insidiously confounded: {range} on unconfounded images, while joint training on the same data "
    "({joint}) is not confounded.",
    CONFOUNDED: "{names} {verb} confounded: {range} on unconfounded images.",
    NOT_CONFOUNDED: "{names} {verb} not confounded: {range} on unconfounded images.",
    NOT_LEARNED: "{names} did not learn the tasks themselves, so nothing can be concluded.",
    UNDECIDED: "Of {names} the data do not decide.",
    SANITY_CHECK: "Trained on unconfounded images, with nothing to be confounded by: {names} {verb} at {range} on such images.",
}


def confounding_answer(card: Mapping[str, Any]) -> list[str]:
    """Two paragraphs: the verdicts, and what they were judged against."""
    groups: dict[str, list[str]] = {name: [] for name in VERDICTS}
    for method, record in card["methods"].items():
        groups[record["verdict"]["name"]].append(method)
    joint = card["methods"].get(JOINT, {}).get("unconfounded", {}).get("mean")
    sentences = [
        _SENTENCES[name].format(
            names=join(methods),
            verb="is" if len(methods) == 1 else "are",
            range=_range(card, methods),
            joint=percent(joint) if joint is not None else "",
        )
        for name, methods in groups.items()
        if methods
    ]
    return [" ".join([*_what(card), *sentences]), judged_against(card)]


def _what(card: Mapping[str, Any]) -> list[str]:
    """What was studied, as far as it is known."""
    variant, model = card["variant"], card["model"]
    words = [f"Variant {variant}."] if variant else []
    if model not in _MODELS:
        return words
    seen = _SLOTS if card.get("sees") == "slots" else _MODELS[model]
    reading = reading_in_words(card)
    return [*words, f"{model}: {seen}{f' ({reading})' if reading else ''}."]


def reading_in_words(card: Mapping[str, Any]) -> str:
    """How well slot attention read the unconfounded test images; empty where it did not, or where that is not known.

    >>> reading_in_words({"perceived": {"whole_scenes": 0.5, "ground_truth": 0.9}})
    'of the unconfounded test images it reads 50.0 % wholly right, and by what it reads the ground truth is told right of 90.0 %'
    """
    perceived = card.get("perceived")
    if not perceived:
        return ""
    return (
        f"of the unconfounded test images it reads {percent(perceived['whole_scenes'])} wholly right, and by what it reads the "
        f"ground truth is told right of {percent(perceived['ground_truth'])}"
    )


def _range(card: Mapping[str, Any], methods: Sequence[str]) -> str:
    means = [card["methods"][method]["unconfounded"]["mean"] for method in methods]
    known = sorted(mean for mean in means if mean is not None)
    if not known:
        return "not measured"
    low, high = percent(known[0]), percent(known[-1])
    return low if low == high else f"{low.removesuffix(' %')} to {high}"


def judged_against(card: Mapping[str, Any]) -> str:
    """What a verdict compares with, and by which margin and level."""
    if card["variant"] == UNCONFOUNDED:
        return "A sanity check: how much of the ground truth this kind of model learns where nothing else goes with the label."
    ceiling = card["ceiling"]
    if ceiling is not None:
        spread = f" ± {points(ceiling['sd'])}" if ceiling.get("sd") is not None else ""
        against = f"the ceiling of {percent(ceiling['mean'])}{spread} ({ceiling['source']})"
    else:
        against = "each method's own tasks right after it learned them, because no run on the unconfounded set gives a ceiling"
    return (
        f"Judged against {against}: more than {points(card['margin'])} points below it is confounded, if the 95 % interval of "
        f"that gap agrees. A method of which a task stays below {percent(card['level'])} is not judged."
    )
