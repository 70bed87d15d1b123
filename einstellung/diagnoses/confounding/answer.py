"""The answer: which methods are confounded, and by what criterion. The data choose every word."""

from __future__ import annotations

from collections.abc import Sequence

from einstellung.diagnoses.confounding.card import ConfoundingCard, Perception, VerdictName
from einstellung.diagnoses.confounding.order import JOINT, describe_order
from einstellung.diagnoses.confounding.splits import UNCONFOUNDED
from einstellung.diagnoses.confounding.tables import accuracies, accuracy_columns
from einstellung.diagnoses.confounding.verdict import (
    CONFOUNDED,
    INSIDIOUS,
    NOT_CONFOUNDED,
    NOT_LEARNED,
    SANITY_CHECK,
    UNDECIDED,
    VERDICTS,
)
from einstellung.diagnoses.wording import percent, points
from einstellung.prose import join
from einstellung.report.measured import describe_seeds
from einstellung.report.notation import per_cent
from einstellung.report.tables import Cell, Table
from einstellung.report.terminal import Overview, Paragraph

_MODELS = {"NN": "a network on pixels", "NeSy": "a set transformer on object attributes"}
_SLOTS = "a set transformer on objects extracted from pixels by slot attention"
_SENTENCES = {
    INSIDIOUS: "{names} {verb} insidiously confounded: {range} on unconfounded images, while joint training on the same data "
    "({joint}) is not confounded.",
    CONFOUNDED: "{names} {verb} confounded: {range} on unconfounded images.",
    NOT_CONFOUNDED: "{names} {verb} not confounded: {range} on unconfounded images.",
    NOT_LEARNED: "{names} did not learn the tasks, so nothing can be concluded.",
    UNDECIDED: "The data are not conclusive for {names}.",
    SANITY_CHECK: "Trained on unconfounded images, {names} {verb} at {range} on such images.",
}
_TONES = {INSIDIOUS: "bad", CONFOUNDED: "warning", NOT_CONFOUNDED: "good"}
_SHORT_HEADS = {UNCONFOUNDED: "unconf."}


def answer(card: ConfoundingCard) -> list[str]:
    """Two paragraphs: the verdicts, and what they were judged against."""
    joint = card.methods[JOINT].unconfounded.mean if JOINT in card.methods else None
    sentences = [
        _SENTENCES[name].format(
            names=join(methods),
            verb="is" if len(methods) == 1 else "are",
            range=_range(card, methods),
            joint=percent(joint) if joint is not None else "",
        )
        for name, methods in methods_by_verdict(card).items()
    ]
    return [" ".join([*_what(card), *sentences, *_order(card)]), judged_against(card)]


def _order(card: ConfoundingCard) -> list[str]:
    """What the order of the tasks does, as far as it was measured."""
    return [f"Does the order of the tasks confound? {describe_order(card.order).capitalize()}."] if card.order else []


def methods_by_verdict(card: ConfoundingCard) -> dict[VerdictName, list[str]]:
    """The methods of every verdict that was given."""
    groups: dict[VerdictName, list[str]] = {name: [] for name in VERDICTS}
    for method, record in card.methods.items():
        groups[record.verdict.name].append(method)
    return {name: methods for name, methods in groups.items() if methods}


def _what(card: ConfoundingCard) -> list[str]:
    """What was studied, as far as it is known."""
    words = [f"Variant {card.variant}."] if card.variant else []
    if card.model not in _MODELS:
        return words
    shown = _SLOTS if card.input_modality == "slots" else _MODELS[card.model]
    reading = f" ({describe_perception(card.perceived)})" if card.perceived else ""
    return [*words, f"{card.model}: {shown}{reading}."]


def describe_perception(perceived: Perception) -> str:
    """How well slot attention read the unconfounded test images.

    >>> describe_perception(Perception(whole_scenes=0.5, ground_truth=0.9))
    '50.0 % of the unconfounded test scenes read without error; the extracted objects give the right label for 90.0 %'
    """
    return (
        f"{percent(perceived.whole_scenes)} of the unconfounded test scenes read without error; the extracted objects give "
        f"the right label for {percent(perceived.ground_truth)}"
    )


def _range(card: ConfoundingCard, methods: Sequence[str]) -> str:
    means = [card.methods[method].unconfounded.mean for method in methods]
    known = sorted(mean for mean in means if mean is not None)
    if not known:
        return "not measured"
    low, high = percent(known[0]), percent(known[-1])
    return low if low == high else f"{low.removesuffix(' %')} to {high}"


def judged_against(card: ConfoundingCard) -> str:
    """What a verdict compares with, and by which margin and level."""
    if card.variant == UNCONFOUNDED:
        return "Sanity check: how much of the ground truth this kind of model learns if nothing else correlates with the label."
    if card.ceiling is not None:
        spread = f" ± {points(card.ceiling.sd)}" if card.ceiling.sd is not None else ""
        against = f"the ceiling of {percent(card.ceiling.mean)}{spread} ({card.ceiling.source})"
    else:
        against = "each method's own tasks right after learning them, because no run on the unconfounded set provides a ceiling"
    return (
        f"Reference: {against}. A method is confounded if it is more than {points(card.margin)} points below that "
        f"reference and the 95 % interval of the gap agrees. Methods with a task below {percent(card.level)} get no verdict."
    )


def describe_card_seeds(card: ConfoundingCard) -> str:
    """How many seeds the methods have, and which."""
    return describe_seeds({method: record.per_seed for method, record in card.methods.items()})


def overview(card: ConfoundingCard) -> Overview:
    """The columns of the paper's Table 1 with the verdicts, what they were judged against, and a sentence for every method."""
    columns = accuracy_columns(card.tasks)
    rows = []
    for method, record in card.methods.items():
        estimates = accuracies(record)
        cells = [Cell(per_cent(estimates.get(column), spread=False)) for column in columns]
        name = record.verdict.name
        rows.append((Cell(method), *cells, Cell(name, tone=_TONES.get(name))))
    old = f"; T1@{card.last_task}: at the end" if len(card.tasks) > 1 else ""
    note = (
        f"Accuracy in per cent, mean over seeds; {describe_card_seeds(card)}. T1, ...: right after it was learned{old}."
    )
    head = ("method", *(_SHORT_HEADS.get(column, column) for column in columns), "verdict")
    sentences = [Paragraph(record.verdict.sentence, f"{method}: ") for method, record in card.methods.items()]
    return Overview(Table("Verdicts", note, head, tuple(rows), ()), (judged_against(card), *_order(card), *sentences))
