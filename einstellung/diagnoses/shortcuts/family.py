"""A family of studies of several shortcuts (cues that appear, vanish or reverse from phase to phase) on one page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from einstellung.diagnoses.contract import Members
from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.certainty import LEAST_SEEDS
from einstellung.diagnoses.shortcuts.family_tables import Cards, describe_bases, describe_images, family_tables
from einstellung.diagnoses.shortcuts.findings import carried_over, decided, loses_a_correlation, traded, whac_a_moles
from einstellung.diagnoses.shortcuts.forest import PILLS
from einstellung.diagnoses.shortcuts.notation import describe_card_seeds
from einstellung.diagnoses.shortcuts.page import GLOSSARY
from einstellung.prose import join
from einstellung.report.family import FAMILY, FamilyPage

if TYPE_CHECKING:
    from einstellung.report.figures.plan import Plan

_TEMPLATE = Path(__file__).with_name("family.html")
_LISTED = 5  # from so many names on, those that are missing may be named instead
_CAPTION = """The gap of every cue and method in every study, in points: accuracy where only this cue disagrees with the label
minus accuracy where all cues agree. Open: at the end of an earlier phase; filled: at the end of the last, with the 95 %
interval over seeds, which may extend beyond the plot. After each cue's name: the share of training images in which it agrees
with the label, by phase; on grey, the cue is no longer informative, and any remaining gap is carried over (diamond:
conclusive, by {basis}). Where one gap moves towards 0 and another away from it (triangle: conclusive, by {basis}), one is
traded for the other. Dashed: {baseline} at the end. Right of 0, the model expects the cue to disagree with the label. {seeds};
{images}."""


def family_page(members: Members[ShortcutsCard], title: str) -> FamilyPage:
    """The page of all studies; ``title`` is that of the diagnosis."""
    shown = {name: card.baseline_first() for name, card in members.cards.items()}
    return FamilyPage(
        name=FAMILY,
        title=f"{title}: a family of studies",
        kicker=title,
        answer=family_answer(shown),
        data={"studies": {name: card.to_json() for name, card in members.cards.items()}},
        tables=family_tables(shown),
        figures=[_figure(shown)],
        glossary=[(name, PILLS.get(name, ""), words) for name, words in GLOSSARY.items()],
        warnings=[f"no finished run yet in {join(members.waiting)}"] if members.waiting else [],
        template=_TEMPLATE,
    )


def _figure(cards: Cards) -> Plan:
    from einstellung.diagnoses.shortcuts.figures.family import draw_family, has_gaps
    from einstellung.report.figures.plan import Plan  # matplotlib takes most of a second to import

    return Plan(
        "family",
        "Gaps from phase to phase, in every study",
        _caption(cards),
        lambda: draw_family(cards),
        why=None if has_gaps(cards) else "no gap was measured",
    )


def family_answer(cards: Cards) -> list[str]:
    """Paragraphs: Whac-A-Mole, what is carried over, what is traded, and what that rests on."""
    lines = [_whac_a_mole(cards), _carry_over(cards), _trade(cards), _rests_on(cards)]
    return [line for line in lines if line]


def _whac_a_mole(cards: Cards) -> str:
    lacking = [name for name, card in cards.items() if not card.has_baseline]
    found = {name: methods for name, card in cards.items() if (methods := whac_a_moles(card))}
    known = [name for name, card in cards.items() if decided(card)]
    unknown = [name for name in cards if name not in known and name not in lacking]
    if found:
        listed = "; ".join(f"{name} ({join(methods)})" for name, methods in found.items())
        words = [f"Whac-A-Mole {_of(found, cards)}, at the end of the last phase: {listed}."]
    elif known:
        words = [
            "No Whac-A-Mole: at the end of the last phase, no method with a conclusive result reduces the reliance on one cue "
            "and amplifies that on another."
        ]
    else:
        words = ["Whac-A-Mole: not conclusive. No method has a verdict on every cue."]
    if known and unknown:
        words.append(f"Not conclusive in {join(unknown)}: no method has a verdict on every cue.")
    if lacking:
        words.append(f"No verdict without a baseline: {join(lacking)}.")
    return " ".join(words)


def _carry_over(cards: Cards) -> str:
    continual = {name: card for name, card in cards.items() if len(card.phases) > 1}
    asked = [name for name, card in continual.items() if loses_a_correlation(card)]
    if not continual:
        return ""
    if not asked:
        return "No cue loses its correlation, so no reliance can carry over."
    found = {name: who for name in asked if (who := carried_over(cards[name]))}
    if found:
        parts = [
            f"{name} (reliance on the {cue} of {had} persists after {phase} in {_who(methods, cards[name])})"
            for name, who in found.items()
            for (cue, had, phase), methods in who.items()
        ]
        words = f"Reliance on a cue persists after its correlation is gone {_of(found, cards)}: {'; '.join(parts)}."
    else:
        words = f"In {join(asked)} no reliance on a cue conclusively persists after its correlation is gone."
    rest = [name for name in cards if name not in asked]
    return f"{words} In {join(rest)} no cue loses its correlation." if rest else words


def _trade(cards: Cards) -> str:
    asked = [name for name, card in cards.items() if len(card.phases) > 1 and len(card.cues) > 1]
    if not asked:
        return ""
    found = {name: who for name in asked if (who := traded(cards[name]))}
    if not found:
        return "From phase to phase, no reliance on one cue conclusively shrinks while another grows."
    parts = [
        f"{name} ({' to '.join(pair.split(' -> '))}, from {before} to {after}, in {_who(methods, cards[name])})"
        for name, who in found.items()
        for (pair, before, after), methods in who.items()
    ]
    return f"From phase to phase, reliance on one cue is traded for another {_of(found, cards)}: {'; '.join(parts)}."


def _who(methods: Sequence[str], card: ShortcutsCard) -> str:
    """Methods by name; where that is shorter, all but those that are not among them."""
    others = [method for method in card.methods if method not in methods]
    if len(methods) < _LISTED or len(others) >= _LISTED:
        return join(methods)
    return f"all {len(card.methods)} methods{f' but {join(others)}' if others else ''}"


def _of(found: Mapping[str, Any], cards: Cards) -> str:
    return f"in {len(found)} of {len(cards)} studies" if len(cards) > 1 else "in the only study"


def _rests_on(cards: Cards) -> str:
    few = [name for name, card in cards.items() if all(one.n_seeds < LEAST_SEEDS for one in card.methods.values())]
    nothing = f" Not conclusive, with fewer than {LEAST_SEEDS} seeds: {join(few)}." if few else ""
    too = " (Whac-A-Mole: also over test images)" if all(card.image_resamples for card in cards.values()) else ""
    return (
        f"Verdicts by {describe_bases(cards)}. Conclusive: beyond the margin, confirmed by 95 % intervals over "
        f"seeds{too}, and p at most 0.05 after Holm's correction over methods. {_capitalised(_seeds(cards))}; "
        f"{describe_images(cards)}.{nothing}"
    )


def _seeds(cards: Cards) -> str:
    """How many seeds every study has; said once where all have the same."""
    words: dict[str, list[str]] = {}
    for name, card in cards.items():
        words.setdefault(describe_card_seeds(card), []).append(name)
    if len(words) == 1:
        return next(iter(words))
    return "; ".join(f"{said} in {join(names)}" for said, names in words.items())


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]


def _caption(cards: Cards) -> str:
    baselines: Iterable[str] = dict.fromkeys(card.baseline for card in cards.values())
    seeds = _capitalised(_seeds(cards))
    text = _CAPTION.format(
        baseline=join(baselines), seeds=seeds, images=describe_images(cards), basis=describe_bases(cards)
    )
    return " ".join(text.split())
