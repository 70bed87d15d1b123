"""The answer in words: who plays Whac-A-Mole, who does not, what that was judged by. Every word is chosen by the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from einstellung.metrics.confounding_verdict import percent, points
from einstellung.metrics.shortcuts_verdict import (
    AMPLIFIED,
    AMPLIFIES,
    BASELINE,
    CURED,
    CURES_ALL,
    FRESH,
    NOT_LEARNED,
    REDUCED,
    REDUCES_ALL,
    REDUCES_SOME,
    UNCHANGED,
    UNDECIDED,
    VERDICTS,
    WHAC_A_MOLE,
)
from einstellung.report.notation import join

_SENTENCES = {
    AMPLIFIES: "{names} {amplify} a gap and {reduce} none.",
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
    judged = sum(len(methods) for name, methods in groups.items() if name not in (BASELINE, FRESH))
    sentences = [whac_a_mole_sentence(card, groups[WHAC_A_MOLE], judged)] if judged else []
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


def whac_a_mole_sentence(card: Mapping[str, Any], methods: Sequence[str], judged: int) -> str:
    """How many methods feed one shortcut by starving another, and which one each of them feeds."""
    beside = (
        f"the {judged} methods beside {card['baseline']}" if judged > 1 else f"the one method beside {card['baseline']}"
    )
    if card["baseline"] not in card["methods"]:
        return f"Without the baseline '{card['baseline']}' nothing can be said about Whac-A-Mole."
    if not methods:
        return f"No Whac-A-Mole is shown: of {beside}, none reduces one gap and amplifies another beyond the margin."
    described = []
    for method in methods:
        words = {gap: found["name"] for gap, found in card["methods"][method]["verdict"]["gaps"].items()}
        better = [cue for cue in card["cues"] if words[cue] in (REDUCED, CURED)]
        worse = [cue for cue in card["cues"] if words[cue] == AMPLIFIED]
        described.append(f"{method} ({join(better)} down, {join(worse)} up)")
    return f"Whac-A-Mole in {len(methods)} of {beside}: {join(described)}."


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
    return f"{card['baseline']}{when}: {percent(own['ID']['mean'])} on images as in training; in points, {join(named)}."


def _uncommon(gap: str) -> str:
    cues = gap.split("+")
    return f"{join(cues)} {'are' if len(cues) > 1 else 'is'} uncommon"


def carry_over_sentence(card: Mapping[str, Any]) -> str:
    """In which methods a gap is left for certain where its correlation is gone; empty where no correlation ever goes.

    A gap is certain if its interval, against the all-common pattern, lies below 0.
    """
    found: dict[tuple[str, str, str], list[str]] = {}
    asked = 0
    for method, record in card["methods"].items():
        for entry in record["carry_over"]:
            bounds = entry["common"]["gap"]["ci95"]
            asked += 1
            if bounds is not None and bounds[1] < 0:
                found.setdefault((entry["cue"], entry["had"], entry["phase"]), []).append(method)
    if not asked:
        return ""
    if not found:
        return "Carry-over: no gap is certain to be left where its correlation is gone."
    parts = [
        f"the {cue} gap of {had} is still there after {phase} in {join(who)}"
        for (cue, had, phase), who in found.items()
    ]
    return f"Carry-over: {'; '.join(parts)}."


def judged_by(card: Mapping[str, Any]) -> str:
    """What a verdict compares with, and by which margin and level."""
    return (
        f"Judged at the end of {card['phases'][-1]} against {card['baseline']}, paired by seed: a gap more than "
        f"{points(card['margin'])} points larger is amplified, one as much smaller is reduced, if the 95 % interval of the "
        "difference excludes 0; cured if moreover the interval of the gap itself stays within the margin of 0. A method whose ID "
        f"accuracy is below {percent(card['level'])} is not judged."
    )
