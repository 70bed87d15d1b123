"""The findings of the ConCon paper as claims, each held against what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from einstellung.diagnoses.confounding.card import ConfoundingCard, ConfoundingMethod
from einstellung.diagnoses.confounding.order import CUMULATIVE, JOINT, describe_order
from einstellung.diagnoses.confounding.verdict import (
    CONFOUNDED,
    INSIDIOUS,
    NOT_CONFOUNDED,
    NOT_LEARNED,
    UNDECIDED,
)
from einstellung.diagnoses.wording import percent, points
from einstellung.prose import join
from einstellung.report.tables import Cell, Table

KEPT = 0.9  # accuracy on an old task that counts as kept
MORE = 0.02  # by how much one gap between training and test must exceed another
REPLAY = ("er", "der", "bgs")
BOTH = ("NN", "NeSy")
Outcome = tuple[bool | None, str]  # whether a claim holds (None: open), and what that rests on
UNMEASURED: Outcome = (None, "not measured")


@dataclass(frozen=True)
class PaperClaim:
    """A sentence of the paper, for which variants and models it is made, and how it is held against a card."""

    words: str
    variant: str
    models: tuple[str, ...]
    test: Callable[[ConfoundingCard], Outcome]


def _means(
    card: ConfoundingCard, methods: Iterable[str], value: Callable[[ConfoundingMethod], float | None]
) -> dict[str, float]:
    found = {name: value(card.methods[name]) for name in methods if name in card.methods}
    return {name: mean for name, mean in found.items() if mean is not None}


def _unconfounded(record: ConfoundingMethod) -> float | None:
    return record.unconfounded.mean


def _lowest_old_task(record: ConfoundingMethod) -> float | None:
    means = [estimate.mean for estimate in record.old.values()]
    known = [mean for mean in means if mean is not None]
    return min(known) if known and len(known) == len(means) else None


def _listed(means: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {percent(mean)}" for name, mean in means.items())


def _learns_the_truth(card: ConfoundingCard) -> Outcome:
    means = _means(card, card.methods, _unconfounded)
    return (max(means.values()) >= card.level, _listed(means)) if means else UNMEASURED


def _all_confounded(card: ConfoundingCard) -> Outcome:
    """Of methods that learned their tasks; open as long as joint training, or any other of them, is not decided."""
    names = {method: record.verdict.name for method, record in card.methods.items()}
    learned = {method: name for method, name in names.items() if name != NOT_LEARNED}
    free = [method for method, name in learned.items() if name == NOT_CONFOUNDED]
    caught = [method for method, name in learned.items() if name in (CONFOUNDED, INSIDIOUS)]
    open_ = [method for method in learned if method not in (*free, *caught)]
    parts: list[tuple[str, list[str]]] = [(NOT_CONFOUNDED, free), (CONFOUNDED, caught), (UNDECIDED, open_)]
    parts.append((NOT_LEARNED, [method for method in names if method not in learned]))
    words = "; ".join(f"{word}: {join(methods)}" for word, methods in parts if methods)
    if free:
        return False, words
    if JOINT not in names:
        words += "; joint was not run"
    return (None if open_ or JOINT not in learned else True), words


def _keep_old_tasks(card: ConfoundingCard, methods: Sequence[str]) -> Outcome:
    means = _means(card, methods, _lowest_old_task)
    return (min(means.values()) >= KEPT, _old_tasks(means)) if means else UNMEASURED


def _lose_old_tasks(card: ConfoundingCard, methods: Sequence[str]) -> Outcome:
    means = _means(card, methods, _lowest_old_task)
    return (max(means.values()) < KEPT, _old_tasks(means)) if means else UNMEASURED


def _old_tasks(means: Mapping[str, float]) -> str:
    return f"lowest old task at the end: {_listed(means)}"


def _replay_at_chance(card: ConfoundingCard) -> Outcome:
    means = _means(card, REPLAY, _unconfounded)
    return (max(means.values()) < card.chance + card.margin, _listed(means)) if means else UNMEASURED


def _joint_succeeds(card: ConfoundingCard) -> Outcome:
    record = card.methods.get(JOINT)
    if record is None or record.unconfounded.mean is None:
        return None, "joint was not run"
    name = record.verdict.name
    holds = {NOT_CONFOUNDED: True, CONFOUNDED: False}.get(name)
    return holds, f"joint {percent(record.unconfounded.mean)}: {name}"


def _cumulative_below_joint(card: ConfoundingCard) -> Outcome:
    means = _means(card, (CUMULATIVE, JOINT), _unconfounded)
    if len(means) < 2:
        return None, "cumulative and joint were not both run"
    if card.order is None:
        return None, f"{_listed(means)}: no seed in common"
    holds = {"certain": True, "ruled out": False}.get(card.order.evidence)
    return holds, f"{_listed(means)}: {describe_order(card.order)}"


def _cumulative_overfits(card: ConfoundingCard) -> Outcome:
    means = _means(card, (CUMULATIVE, JOINT), lambda record: record.generalisation_gap["end"].mean)
    if len(means) < 2:
        return None, "train and test accuracy of cumulative and joint were not both measured"
    words = ", ".join(f"{name} {points(mean)} points" for name, mean in means.items())
    return means[CUMULATIVE] > means[JOINT] + MORE, f"train minus test at the end: {words}"


CLAIMS = (
    PaperClaim(
        "trained on unconfounded images, the model learns the ground truth", "unconfounded", BOTH, _learns_the_truth
    ),
    PaperClaim(
        "every method that learns the tasks, joint training included, is confounded", "disjoint", BOTH, _all_confounded
    ),
    PaperClaim(
        "naive training and EWC forget old tasks",
        "disjoint",
        BOTH,
        lambda card: _lose_old_tasks(card, ("naive", "ewc")),
    ),
    PaperClaim(
        "replay and cumulative training keep old tasks",
        "disjoint",
        BOTH,
        lambda card: _keep_old_tasks(card, (*REPLAY, CUMULATIVE)),
    ),
    PaperClaim("joint training finds the ground truth", "strict", BOTH, _joint_succeeds),
    PaperClaim("replay does not keep old tasks", "strict", BOTH, lambda card: _lose_old_tasks(card, REPLAY)),
    PaperClaim("with replay, unconfounded images stay near chance", "strict", ("NN",), _replay_at_chance),
    PaperClaim("cumulative training stays far below joint training", "strict", ("NN",), _cumulative_below_joint),
    PaperClaim("cumulative training overfits more than joint training", "strict", BOTH, _cumulative_overfits),
)


def claims_table(cards: Mapping[str, ConfoundingCard]) -> Table:
    """Every claim of the paper on every study that it is about."""
    rows, values = [], []
    for claim in CLAIMS:
        for study, card in cards.items():
            if card.variant != claim.variant or card.model not in claim.models:
                continue
            holds, words = claim.test(card)
            shown = {True: "yes", False: "no", None: "open"}[holds]
            rows.append((Cell(study), Cell(claim.words), Cell(words), Cell(shown)))
            values.append({"study": study, "claim": claim.words, "measured": words, "holds": shown})
    kept = f"at least {percent(KEPT)} on every old task at the end"
    note = (
        f"Based on means over seeds; cumulative against joint training by the paired difference. Kept: {kept}; more: by "
        f"over {points(MORE)} points."
    )
    head = ("study", "claim", "measured", "holds")
    return Table("Which of the paper's findings hold", note, head, tuple(rows), tuple(values), 4)
