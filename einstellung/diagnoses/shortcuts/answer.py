"""The answer in words: who plays Whac-A-Mole, who does not, what that was judged by. Every word is chosen by the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from einstellung.diagnoses.shortcuts.findings import carried_over, loses_a_correlation
from einstellung.diagnoses.shortcuts.notation import intervals_in_words, turned_in_words
from einstellung.diagnoses.shortcuts.verdict import (
    AMPLIFIES,
    BASELINE,
    BETTER,
    CURES_ALL,
    FRESH,
    NOT_LEARNED,
    REDUCES_ALL,
    REDUCES_SOME,
    UNCHANGED,
    UNDECIDED,
    VERDICTS,
    WHAC_A_MOLE,
    WORSE,
)
from einstellung.diagnoses.wording import percent, points
from einstellung.report.notation import join

_SENTENCES = {
    AMPLIFIES: "{names} {amplify} a gap and {reduce} none, as far as the data decide.",
    CURES_ALL: "{names} {cure} every gap.",
    REDUCES_ALL: "{names} {reduce} every gap.",
    REDUCES_SOME: "{names} {reduce} a gap and {amplify} none, as far as the data decide.",
    UNCHANGED: "{names} {change} no gap.",
    UNDECIDED: "Of {names} the data do not decide.",
    NOT_LEARNED: "{names} did not learn the task, so nothing can be concluded.",
}


def shortcut_answer(card: Mapping[str, Any]) -> list[str]:
    """Paragraphs: the verdicts, what the baseline leans on, what outlives its phase, what verdicts were judged by."""
    groups: dict[str, list[str]] = {name: [] for name in VERDICTS}
    for method, record in card["methods"].items():
        groups[record["verdict"]["name"]].append(method)
    compared = [method for name, methods in groups.items() if name not in (BASELINE, FRESH) for method in methods]
    sentences = [whac_a_mole_sentence(card, groups[WHAC_A_MOLE], compared)] if compared else []
    sentences += [
        template.format(
            names=join(groups[name]),
            **{
                verb: f"{verb}s" if len(groups[name]) == 1 else verb for verb in ("amplify", "reduce", "cure", "change")
            },
        ).replace("amplifys", "amplifies")
        for name, template in _SENTENCES.items()
        if groups[name]
    ]
    paragraphs = [" ".join(sentences), baseline_sentence(card), carry_over_sentence(card), judged_by(card)]
    return [paragraph for paragraph in paragraphs if paragraph]


def whac_a_mole_sentence(card: Mapping[str, Any], methods: Sequence[str], compared: Sequence[str]) -> str:
    """How many methods feed one shortcut by starving another, and which one each of them feeds.

    Only methods of which it is decided count: those that do, and those of which the data decide about every cue.
    """
    if card["baseline"] not in card["methods"]:
        return f"Without the baseline '{card['baseline']}' nothing can be said about Whac-A-Mole."
    decided = [method for method in compared if method in methods or UNDECIDED not in _words(card, method)]
    if not decided:
        return _nothing_decided(card, compared)
    beside = f"the {len(decided)} methods" if len(decided) > 1 else "the one method"
    if len(decided) == len(compared):
        beside += f" beside {card['baseline']}"
    else:
        beside += f" (of {len(compared)} beside {card['baseline']}) that the data decide about"
    if not methods:
        return f"No Whac-A-Mole is shown: of {beside}, none reduces one gap and amplifies another beyond the margin."
    described = []
    for method in methods:
        words = dict(zip(card["cues"], _words(card, method), strict=True))
        better = [cue for cue, word in words.items() if word in BETTER]
        worse = [cue for cue, word in words.items() if word in WORSE]
        described.append(f"{method} ({join(better)} down, {join(worse)} up)")
    where = f"{len(methods)} of {beside}" if len(decided) > 1 else beside
    return f"Whac-A-Mole in {where}: {join(described)}."


def _words(card: Mapping[str, Any], method: str) -> list[str]:
    """The words for the gaps of a method, cue by cue."""
    gaps = card["methods"][method]["verdict"]["gaps"]
    return [gaps[cue]["name"] for cue in card["cues"]]


def _nothing_decided(card: Mapping[str, Any], compared: Sequence[str]) -> str:
    last = card["phases"][-1]
    ends = [card["methods"][method]["phases"][last]["own"]["difference"] for method in compared]
    if all(end[cue]["n"] == 1 for end in ends for cue in card["cues"]):
        return "With one seed nothing can be decided: whether a method plays Whac-A-Mole takes two seeds at least."
    return f"Nothing is decided about Whac-A-Mole: of no method beside {card['baseline']} do the data tell about every cue."


def baseline_sentence(card: Mapping[str, Any]) -> str:
    """What plain training leans on, at the end of the last phase."""
    record = card["methods"].get(card["baseline"])
    if record is None:
        return ""
    last = card["phases"][-1]
    own = record["phases"][last]["own"]
    if own["ID"]["mean"] is None:
        return ""
    named = [
        f"{points(gap['mean'])} where {_uncommon(name)}" for name, gap in own["gaps"].items() if gap["mean"] is not None
    ]
    when = f" after {last}" if len(card["phases"]) > 1 else ""
    turned = turned_in_words(card, last)
    return (
        f"{card['baseline']}{when}: {percent(own['ID']['mean'])} on images as in training; in points, {join(named)}."
        f"{f' {turned}' if turned else ''}"
    )


def _uncommon(gap: str) -> str:
    cues = gap.split("+")
    return f"{join(cues)} {'are' if len(cues) > 1 else 'is'} uncommon"


def carry_over_sentence(card: Mapping[str, Any]) -> str:
    """In which methods a gap is left for certain where its correlation is gone; empty where no correlation ever goes.

    Beside it, what the baseline and a net without a history have there: a gap that they have too needs no carrying over.
    """
    if not loses_a_correlation(card):
        return ""
    found = carried_over(card)
    if not found:
        return "Carry-over: no gap is certain to be left where its correlation is gone."
    parts = []
    for (cue, had, phase), who in found.items():
        left = {method: _gap_left(card, method, cue, had, phase) for method in card["methods"]}
        carriers = join(f"{method} ({left[method]})" for method in who)
        beside = [name for name in (card["baseline"], card["scratch"]) if name in left and name not in who]
        others = f", beside {join(f'{left[name]} in {name}' for name in beside)}" if beside else ""
        parts.append(f"the {cue} gap of {had} is still there after {phase} in {carriers}{others}")
    return f"Carry-over: {'; '.join(parts)} (points from where all cues are common)."


def _gap_left(card: Mapping[str, Any], method: str, cue: str, had: str, phase: str) -> str:
    """The gap of a cue at the end of a phase in which its correlation is gone."""
    (mean,) = [
        entry["common"]["gap"]["mean"]
        for entry in card["methods"][method]["carry_over"]
        if (entry["cue"], entry["had"], entry["phase"]) == (cue, had, phase)
    ]
    return "not measured" if mean is None else points(mean)


def judged_by(card: Mapping[str, Any]) -> str:
    """What a verdict compares with, and by which margin and level."""
    return (
        f"Judged at the end of {card['phases'][-1]} against {card['baseline']}, paired by seed: a gap more than "
        f"{points(card['margin'])} points larger is amplified if it is itself below {points(-card['margin'])}, one as much "
        f"smaller is reduced, if the 95 % interval of the difference {intervals_in_words(card)} excludes 0; cured if moreover "
        "that of the gap itself stays within the margin of 0. All that must hold from ID accuracy and from accuracy where all "
        f"cues are common. A method whose ID accuracy is below {percent(card['level'])} is not judged."
    )
