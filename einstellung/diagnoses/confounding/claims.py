"""The findings of the ConCon paper as claims, each held against what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from einstellung.diagnoses.confounding.verdict import (
    CONFOUNDED,
    INSIDIOUS,
    JOINT,
    NOT_CONFOUNDED,
    NOT_LEARNED,
    percent,
    points,
)
from einstellung.report.notation import join
from einstellung.report.tables import Cell, Table

KEPT = 0.9  # accuracy on an old task that counts as kept
MORE = 0.02  # by how much one gap between training and test must exceed another
REPLAY = ("er", "der", "bgs", "cumulative")
Card = Mapping[str, Any]
Outcome = tuple[bool | None, str]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, for which variants and models it is made, and how it is held against a card."""

    words: str
    variant: str
    models: tuple[str, ...]
    test: Callable[[Card], Outcome]


def _means(card: Card, methods: Iterable[str], value: Callable[[Card], float | None]) -> dict[str, float]:
    found = {name: value(card["methods"][name]) for name in methods if name in card["methods"]}
    return {name: mean for name, mean in found.items() if mean is not None}


def _unconfounded(record: Card) -> float | None:
    mean: float | None = record["unconfounded"]["mean"]
    return mean


def _old(record: Card) -> float | None:
    means = [estimate["mean"] for estimate in record["old"].values()]
    return None if not means or None in means else min(means)


def _listed(means: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {percent(mean)}" for name, mean in means.items())


def _learns_the_truth(card: Card) -> Outcome:
    means = _means(card, card["methods"], _unconfounded)
    return (max(means.values()) >= card["level"], _listed(means)) if means else (None, "not measured")


def _all_confounded(card: Card) -> Outcome:
    """Of methods that learned their tasks; open as long as joint training, or any other of them, is not decided."""
    names = {method: record["verdict"]["name"] for method, record in card["methods"].items()}
    learned = {method: name for method, name in names.items() if name != NOT_LEARNED}
    free = [method for method, name in learned.items() if name == NOT_CONFOUNDED]
    caught = [method for method, name in learned.items() if name in (CONFOUNDED, INSIDIOUS)]
    open_ = [method for method in learned if method not in (*free, *caught)]
    parts = [("not confounded", free), ("confounded", caught), ("undecided", open_)]
    parts.append(("tasks not learned", [method for method in names if method not in learned]))
    words = "; ".join(f"{word}: {join(methods)}" for word, methods in parts if methods)
    if free:
        return False, words
    if JOINT not in names:
        words += "; joint was not run"
    return (None if open_ or JOINT not in learned else True), words


def _replay_keeps(card: Card) -> Outcome:
    means = _means(card, REPLAY, _old)
    return (
        (min(means.values()) >= KEPT, f"lowest old task at the end: {_listed(means)}")
        if means
        else (None, "not measured")
    )


def _replay_loses(card: Card) -> Outcome:
    means = _means(card, REPLAY[:-1], _old)
    return (
        (max(means.values()) < KEPT, f"lowest old task at the end: {_listed(means)}")
        if means
        else (None, "not measured")
    )


def _naive_forgets(card: Card) -> Outcome:
    means = _means(card, ("naive", "ewc"), _old)
    return (
        (max(means.values()) < KEPT, f"lowest old task at the end: {_listed(means)}")
        if means
        else (None, "not measured")
    )


def _replay_at_chance(card: Card) -> Outcome:
    means = _means(card, REPLAY[:-1], _unconfounded)
    if not means:
        return None, "not measured"
    return max(means.values()) < card["chance"] + card["margin"], _listed(means)


def _joint_succeeds(card: Card) -> Outcome:
    record = card["methods"].get(JOINT)
    if record is None or record["unconfounded"]["mean"] is None:
        return None, "joint was not run"
    name = record["verdict"]["name"]
    holds = {NOT_CONFOUNDED: True, CONFOUNDED: False}.get(name)
    return holds, f"joint {percent(record['unconfounded']['mean'])}: {name}"


def _cumulative_below_joint(card: Card) -> Outcome:
    means = _means(card, ("cumulative", JOINT), _unconfounded)
    if len(means) < 2:
        return None, "cumulative and joint were not both run"
    gap = means[JOINT] - means["cumulative"]
    return gap > card["margin"], f"{_listed(means)}: {points(gap)} points apart, margin {points(card['margin'])}"


def _cumulative_overfits(card: Card) -> Outcome:
    means = _means(card, ("cumulative", JOINT), lambda record: record["generalisation_gap"]["end"]["mean"])
    if len(means) < 2:
        return None, "train and test accuracy of cumulative and joint were not both measured"
    words = ", ".join(f"{name} {points(mean)} points" for name, mean in means.items())
    return means["cumulative"] > means[JOINT] + MORE, f"train minus test at the end: {words}"


BOTH = ("NN", "NeSy")
CLAIMS = (
    Claim("trained on unconfounded images, the model learns the ground truth", "unconfounded", BOTH, _learns_the_truth),
    Claim(
        "every method that learns the tasks, joint training included, is confounded",
        "disjoint",
        BOTH,
        _all_confounded,
    ),
    Claim("naive training and EWC forget old tasks", "disjoint", BOTH, _naive_forgets),
    Claim("replay and cumulative training keep old tasks", "disjoint", BOTH, _replay_keeps),
    Claim("joint training finds the ground truth", "strict", BOTH, _joint_succeeds),
    Claim("replay does not keep old tasks", "strict", BOTH, _replay_loses),
    Claim("with replay, unconfounded images stay near chance", "strict", ("NN",), _replay_at_chance),
    Claim("cumulative training stays far below joint training", "strict", ("NN",), _cumulative_below_joint),
    Claim("cumulative training overfits more than joint training", "strict", BOTH, _cumulative_overfits),
)


def claims_table(cards: Mapping[str, Card]) -> Table:
    """Every claim of the paper on every study that it is about."""
    rows, values = [], []
    for claim in CLAIMS:
        for study, card in cards.items():
            if card["variant"] != claim.variant or card["model"] not in claim.models:
                continue
            holds, words = claim.test(card)
            shown = {True: "yes", False: "no", None: "open"}[holds]
            rows.append((Cell(study), Cell(claim.words), Cell(words), Cell(shown)))
            values.append({"study": study, "claim": claim.words, "measured": words, "holds": shown})
    kept = f"at least {percent(KEPT)} on every old task at the end"
    note = f"By means over seeds. Kept: {kept}; more: by over {points(MORE)} points."
    head = ("study", "claim", "measured", "holds")
    return Table("What holds of the paper's findings", note, head, tuple(rows), tuple(values), 4)
