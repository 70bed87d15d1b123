"""The answer: which methods play Whac-A-Mole, which do not, and by what criterion. The data choose every word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.findings import carried_over, decided, loses_a_correlation
from einstellung.diagnoses.shortcuts.notation import (
    UP,
    describe_card_seeds,
    describe_final,
    describe_intervals,
    describe_turned,
    gap_head,
)
from einstellung.diagnoses.shortcuts.tables import gap_cells
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
from einstellung.diagnoses.wording import counted, percent, points
from einstellung.report.notation import join, per_cent
from einstellung.report.tables import Cell, Table
from einstellung.report.terminal import Overview, Paragraph

_MAX_NAMED = 9  # methods; of more, the table says enough
_TERMINAL_TONES = {"worse": "bad", "better": "good"}

_SENTENCES = {
    AMPLIFIES: "{names} {amplify} a gap and {reduce} none, as far as results are conclusive.",
    CURES_ALL: "{names} {cure} every gap.",
    REDUCES_ALL: "{names} {reduce} every gap.",
    REDUCES_SOME: "{names} {reduce} a gap and {amplify} none, as far as results are conclusive.",
    UNCHANGED: "{names} {change} no gap.",
    UNDECIDED: "Not conclusive: {names}.",
    NOT_LEARNED: "{names} did not learn the task, so nothing can be concluded.",
}


def make_answer(card: ShortcutsCard) -> list[str]:
    """Paragraphs: the verdicts, what the baseline relies on, what persists from phase to phase, how verdicts are reached."""
    groups: dict[str, list[str]] = {name: [] for name in VERDICTS}
    for method, record in card.methods.items():
        groups[record.verdict.name].append(method)
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


def whac_a_mole_sentence(card: ShortcutsCard, methods: Sequence[str], compared: Sequence[str]) -> str:
    """How many methods reduce one gap and amplify another, and which.

    Only conclusive methods count: those that do, and those with a verdict on every cue.
    """
    if not card.has_baseline:
        return f"Whac-A-Mole cannot be judged: there is no baseline '{card.baseline}'."
    known = [method for method in compared if method in decided(card)]
    if not known:
        return _nothing_decided(card, compared)
    of = counted(len(known), "method")
    if len(known) == len(compared):
        of += f" compared with {card.baseline}"
    else:
        of += f" with a conclusive result ({len(compared)} compared with {card.baseline})"
    if not methods:
        return f"No Whac-A-Mole: of {of}, none reduces one gap and amplifies another beyond the margin."
    described = []
    for method in methods:
        words = {cue: card.methods[method].verdict.gaps[cue].name for cue in card.cues}
        better = [cue for cue, word in words.items() if word in BETTER]
        worse = [cue for cue, word in words.items() if word in WORSE]
        described.append(f"{method} ({join(better)} down, {join(worse)} up)")
    return f"Whac-A-Mole in {len(methods)} of {of}: {join(described)}."


def _nothing_decided(card: ShortcutsCard, compared: Sequence[str]) -> str:
    if all(card.end(method).own.difference[cue].n == 1 for method in compared for cue in card.cues):
        return "Not conclusive with one seed: a verdict on Whac-A-Mole needs at least two."
    return f"Whac-A-Mole: not conclusive. No method compared with {card.baseline} has a verdict on every cue."


def baseline_sentence(card: ShortcutsCard) -> str:
    """What the baseline relies on, at the end of the last phase."""
    if not card.has_baseline:
        return ""
    own = card.end(card.baseline).own
    if own.ID.mean is None:
        return ""
    named = [f"{points(gap.mean)} where {_uncommon(name)}" for name, gap in own.gaps.items() if gap.mean is not None]
    when = f" after {card.last}" if len(card.phases) > 1 else ""
    turned = describe_turned(card, card.last)
    return (
        f"{card.baseline}{when}: {percent(own.ID.mean)} on images as in training; in points, {join(named)}."
        f"{f' {turned}' if turned else ''}"
    )


def _uncommon(gap: str) -> str:
    cues = gap.split("+")
    return f"{join(cues)} {'are' if len(cues) > 1 else 'is'} uncommon"


def carry_over_sentence(card: ShortcutsCard) -> str:
    """In which methods a gap certainly persists after its correlation is gone; empty where no correlation ever goes.

    With the gaps of the baseline and of a net without a history: a gap that they have too needs no history.
    """
    if not loses_a_correlation(card):
        return ""
    found = carried_over(card)
    if not found:
        return "Carry-over: no gap certainly persists after its correlation is gone."
    parts = []
    for (cue, had, phase), who in found.items():
        left = {method: _gap_left(card, method, cue, had, phase) for method in card.methods}
        carriers = join(f"{method} ({left[method]})" for method in who)
        references = [name for name in (card.baseline, card.scratch) if name in left and name not in who]
        others = f", compared with {join(f'{left[name]} in {name}' for name in references)}" if references else ""
        parts.append(f"the {cue} gap of {had} persists after {phase} in {carriers}{others}")
    return f"Carry-over: {'; '.join(parts)} (points from where all cues are common)."


def _gap_left(card: ShortcutsCard, method: str, cue: str, had: str, phase: str) -> str:
    """The gap of a cue at the end of a phase in which its correlation is gone."""
    (mean,) = [
        entry.common.gap.mean
        for entry in card.methods[method].carry_over
        if (entry.cue, entry.had, entry.phase) == (cue, had, phase)
    ]
    return "not measured" if mean is None else points(mean)


def judged_by(card: ShortcutsCard) -> str:
    """What a verdict compares with, and by which margin and level."""
    return (
        f"Judged at the end of {card.last} against {card.baseline}, paired by seed: a gap more than "
        f"{points(card.margin)} points larger is amplified if it is itself below {points(-card.margin)}, one as much "
        f"smaller is reduced, if the 95 % interval of the difference {describe_intervals(card)} excludes 0; cured if moreover "
        "that of the gap itself stays within the margin of 0. All that must hold from ID accuracy and from accuracy where all "
        f"cues are common. A method whose ID accuracy is below {percent(card.level)} is not judged."
    )


def make_overview(card: ShortcutsCard) -> Overview:
    """The columns of the paper's Table 3 with the verdicts, the answer, and a sentence for every method, for a terminal."""
    rows = []
    for method, record in card.methods.items():
        end = card.end(method)
        gaps = [replace(cell, tone=_TERMINAL_TONES.get(cell.tone or "")) for cell in gap_cells(card, method)]
        whole, worst = (Cell(per_cent(estimate, spread=False)) for estimate in (end.own.ID, end.worst_group))
        rows.append((Cell(method), whole, *gaps, worst, Cell(record.verdict.name)))
    note = (
        f"Per cent and points, mean over seeds; {describe_card_seeds(card)}; {describe_final(card)} of {card.last}. "
        f"(×2.94): so many times the gap of {card.baseline}; {UP}: the interval agrees."
    )
    head = ("method", "ID", *map(gap_head, card.gaps), "worst", "verdict")
    verdicts: list[Paragraph | str] = [
        Paragraph(record.verdict.sentence, lead=f"{method}: ") for method, record in card.methods.items()
    ]
    if len(verdicts) > _MAX_NAMED:
        verdicts = ["Every verdict in words: --json, or the page (--out)."]
    return Overview(Table("Gaps", note, head, tuple(rows), ()), [*make_answer(card), *verdicts])
