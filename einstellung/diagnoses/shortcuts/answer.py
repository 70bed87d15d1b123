"""The answer: which methods play Whac-A-Mole, which do not, and by what criterion. The data choose every word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.certainty import LEAST_SEEDS
from einstellung.diagnoses.shortcuts.findings import carried_over, decided, loses_a_correlation
from einstellung.diagnoses.shortcuts.notation import (
    DOWN,
    UP,
    describe_card_seeds,
    describe_final,
    describe_intervals,
    describe_turned,
    gap_head,
    loss_head,
)
from einstellung.diagnoses.shortcuts.tables import gap_cells, loss_cells
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
    describe_basis,
)
from einstellung.diagnoses.wording import counted, percent, points
from einstellung.prose import join
from einstellung.report.notation import per_cent
from einstellung.report.tables import Cell, Table
from einstellung.report.terminal import Overview, Paragraph

_MAX_NAMED = 9  # methods; of more, the table says enough
_TERMINAL_TONES = {"worse": "bad", "better": "good"}

_SENTENCES = {
    AMPLIFIES: "{names} {amplify} the reliance on a cue and {reduce} it on none, as far as results are conclusive.",
    CURES_ALL: "{names} {cure} the reliance on every cue.",
    REDUCES_ALL: "{names} {reduce} the reliance on every cue.",
    REDUCES_SOME: "{names} {reduce} the reliance on a cue and {amplify} it on none, as far as results are conclusive.",
    UNCHANGED: "{names} {change} the reliance on no cue.",
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
    """How many methods reduce the reliance on one cue and amplify that on another, and which.

    Only conclusive methods count: those that do, and those with a verdict on every cue.
    """
    if not card.has_baseline:
        return f"No verdict on Whac-A-Mole: there is no baseline '{card.baseline}'."
    by = describe_basis(card.basis)
    known = [method for method in compared if method in decided(card)]
    if not known:
        return _nothing_decided(card, compared)
    of = counted(len(known), "method")
    if len(known) == len(compared):
        of += f" compared with {card.baseline}"
    else:
        of += f" with a conclusive result ({len(compared)} compared with {card.baseline})"
    if not methods:
        return f"No Whac-A-Mole by {by}: of {of}, none reduces the reliance on one cue and amplifies that on another."
    described = []
    for method in methods:
        words = {cue: judged.name for cue, judged in card.methods[method].verdict.cues.items()}
        better = [cue for cue, word in words.items() if word in BETTER]
        worse = [cue for cue, word in words.items() if word in WORSE]
        described.append(f"{method} ({join(better)} down, {join(worse)} up)")
    return f"Whac-A-Mole by {by} in {len(methods)} of {of}: {join(described)}."


def _nothing_decided(card: ShortcutsCard, compared: Sequence[str]) -> str:
    most = max(card.end(method).judged[cue].difference.n for method in compared for cue in card.cues)
    if 0 < most < LEAST_SEEDS:
        return f"Not conclusive with {counted(most, 'seed')}: a verdict on Whac-A-Mole needs at least {LEAST_SEEDS}."
    return (
        f"Whac-A-Mole by {describe_basis(card.basis)}: not conclusive. No method compared with {card.baseline} has a "
        "verdict on every cue."
    )


def baseline_sentence(card: ShortcutsCard) -> str:
    """What the baseline relies on, at the end of the last phase."""
    if not card.has_baseline:
        return ""
    end = card.end(card.baseline)
    own = end.own
    if own.ID.mean is None:
        return ""
    lost = [
        f"{points(found.loss.mean)} on the {cue}" for cue, found in end.judged.items() if found.loss.mean is not None
    ]
    named = [f"{points(gap.mean)} where {_uncommon(name)}" for name, gap in own.gaps.items() if gap.mean is not None]
    when = f" after {card.last}" if len(card.phases) > 1 else ""
    turned = describe_turned(card, card.last)
    relies = f"; points lost by {describe_basis(card.basis)}: {join(lost)}" if lost else ""
    return (
        f"{card.baseline}{when}: {percent(own.ID.mean)} on training-like images{relies}. Gaps: {join(named)}."
        f"{f' {turned}' if turned else ''}"
    )


def _uncommon(gap: str) -> str:
    cues = gap.split("+")
    return f"{join(cues)} {'are' if len(cues) > 1 else 'is'} uncommon"


def carry_over_sentence(card: ShortcutsCard) -> str:
    """Which methods certainly rely on a cue after its correlation is gone; empty where no correlation ever goes.

    With what the baseline and a net without a history lose: what they lose too needs no history.
    """
    if not loses_a_correlation(card):
        return ""
    found = carried_over(card)
    if not found:
        return "Carry-over: no reliance on a cue conclusively persists after its correlation is gone."
    parts = []
    for (cue, had, phase), who in found.items():
        left = {method: _left(card, method, cue, had, phase) for method in card.methods}
        by = next(entry.judged.by for entry in card.methods[who[0]].carry_over if entry.cue == cue)
        carriers = join(f"{method} ({left[method]})" for method in who)
        references = [name for name in (card.baseline, card.scratch) if name in left and name not in who]
        others = f", compared with {join(f'{left[name]} in {name}' for name in references)}" if references else ""
        parts.append(f"by {by}, reliance on the {cue} of {had} persists after {phase} in {carriers}{others}")
    return f"Carry-over: {'; '.join(parts)} (points lost where the cue is uncommon)."


def _left(card: ShortcutsCard, method: str, cue: str, had: str, phase: str) -> str:
    """What is lost at the end of a phase in which the correlation of a cue is gone."""
    (mean,) = [
        entry.judged.left.mean
        for entry in card.methods[method].carry_over
        if (entry.cue, entry.had, entry.phase) == (cue, had, phase)
    ]
    return "not measured" if mean is None else points(mean)


def judged_by(card: ShortcutsCard) -> str:
    """What a verdict compares with, and by which margin and level."""
    why = [f"{cue}: {found.why}" for cue, found in card.basis.items() if found.why]
    not_twins = f" Not by twins ({'; '.join(why)})." if why else ""
    return (
        f"Verdicts compare with {card.baseline} at the end of {card.last}, paired by seed, by "
        f"{describe_basis(card.basis)}.{not_twins} Reliance more than {points(card.margin)} points larger is amplified "
        f"if it is itself above {points(card.margin)}, as much smaller is reduced, if the 95 % interval of the "
        f"difference {describe_intervals(card)} excludes 0 and p is at most .05 after Holm's correction over methods, "
        f"with at least {LEAST_SEEDS} seeds; cured if moreover its own interval stays within the margin of 0. Gaps do "
        "not enter the verdict, because the ceiling bounds them where the other cues are common. A method whose ID "
        f"accuracy is below {percent(card.level)} gets no verdict."
    )


def make_overview(card: ShortcutsCard) -> Overview:
    """The columns of the paper's Table 3 with the verdicts, the answer, and a sentence for every method, for a terminal."""
    rows = []
    for method, record in card.methods.items():
        end = card.end(method)
        whole, worst = (Cell(per_cent(estimate, spread=False)) for estimate in (end.own.ID, end.worst_group))
        losses = [replace(cell, tone=_TERMINAL_TONES.get(cell.tone or "")) for cell in loss_cells(card, method)]
        rows.append((Cell(method), whole, *losses, *gap_cells(card, method), worst, Cell(record.verdict.name)))
    note = (
        f"Per cent and points, mean over seeds; {describe_card_seeds(card)}; {describe_final(card)} of {card.last}. "
        f"{UP}, {DOWN}: reliance conclusively higher or lower than that of {card.baseline}; (×2.94): multiple of its gap."
    )
    losses_of = [loss_head(card, cue) for cue in card.cues]
    head = ("method", "ID", *losses_of, *map(gap_head, card.gaps), "worst", "verdict")
    verdicts: list[Paragraph | str] = [
        Paragraph(record.verdict.sentence, lead=f"{method}: ") for method, record in card.methods.items()
    ]
    if len(verdicts) > _MAX_NAMED:
        verdicts = ["Full verdicts: --json, or the page (--out)."]
    return Overview(Table("Gaps", note, head, tuple(rows), ()), [*make_answer(card), *verdicts])
