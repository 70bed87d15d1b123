"""What a study of several shortcuts shows for certain: Whac-A-Mole, reliance carried over, and one reliance traded for another.

Certain is what is beyond the margin and confirmed by the 95 % interval and by p at most .05 after Holm's correction over methods;
with fewer than three seeds nothing is. A net that starts fresh in every phase has no history: it carries nothing over.
"""

from __future__ import annotations

from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.verdict import UNDECIDED, WHAC_A_MOLE

Found = dict[tuple[str, str, str], list[str]]


def whac_a_moles(card: ShortcutsCard) -> list[str]:
    """The methods that reduce the reliance on one cue and amplify that on another, at the end of the last phase."""
    return [method for method, record in card.methods.items() if record.verdict.name == WHAC_A_MOLE]


def decided(card: ShortcutsCard) -> list[str]:
    """The methods of which it is decided whether they play Whac-A-Mole: those that do, and those with a verdict for every cue."""
    found = []
    for method, record in card.methods.items():
        words = [judged.name for judged in record.verdict.cues.values()]
        if record.verdict.name == WHAC_A_MOLE or (words and UNDECIDED not in words):
            found.append(method)
    return found


def loses_a_correlation(card: ShortcutsCard) -> bool:
    """Whether a cue is uninformative in a phase after it was informative; otherwise nothing can be carried over."""
    return any(record.carry_over for record in card.methods.values())


def carried_over(card: ShortcutsCard) -> Found:
    """Who still relies on a cue after its correlation is gone: methods by (cue, phase that had it, phase after)."""
    found: Found = {}
    for method, record in card.methods.items():
        for entry in record.carry_over if method != card.scratch else ():
            if entry.certain:
                found.setdefault((entry.cue, entry.had, entry.phase), []).append(method)
    return found


def traded(card: ShortcutsCard) -> Found:
    """Who traded one reliance for another from phase to phase: methods by (pair of cues, phase before, phase after)."""
    found: Found = {}
    for method, record in card.methods.items():
        for entry in record.trade.between_phases:
            for pair, trade in entry.judged.items():
                if trade.certain:
                    found.setdefault((pair, entry.before, entry.after), []).append(method)
    return found
