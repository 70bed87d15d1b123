"""A family of studies of several shortcuts (cues that come, go or turn round from phase to phase) on one page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from einstellung.diagnoses.shortcuts.family_tables import family_tables, images_in_words
from einstellung.diagnoses.shortcuts.findings import carried_over, decided, loses_a_correlation, traded, whac_a_moles
from einstellung.diagnoses.shortcuts.reporting import report_shortcuts
from einstellung.report.family_page import Cards, finished_timelines, write_family_page
from einstellung.report.measured import seeds_in_words
from einstellung.report.notation import baseline_first, join
from einstellung.results.folder import ResultsFolder

_LISTED = 5  # from so many names on, those that are missing may be told instead
_CAPTION = """The gap of every cue and method in every study, in points: accuracy where this cue alone does not go with the label
minus accuracy where all do. Open: at the end of an earlier phase; filled: at the end of the last, with the 95 % interval over
seeds, which may leave the picture. Behind the name of a cue: the share of training images in which it goes with the label, phase
by phase; on grey ground it tells nothing any more, and what is left of its gap is carried over (diamond: for certain). Where one
gap moves towards 0 and another away from it (triangle: for certain), one is traded for the other. Dashed: {baseline} at the end.
Right of 0, the model expects the cue to go against the label. {seeds}; {images}."""


def report_family(root: Path, names: Sequence[str]) -> tuple[dict[str, dict[str, Any]], Path]:
    """Report every study of a family that has finished runs, then the family; the cards by name, and the page's path."""
    timelines = finished_timelines(root, names)
    cards = {name: report_shortcuts(ResultsFolder(root / name))[0] for name in timelines}
    waiting = [name for name in names if name not in cards]
    warnings = [f"no finished run yet in {join(waiting)}"] if waiting else []
    return cards, write_family_report(root, cards, warnings=warnings)


def write_family_report(
    root: Path,
    cards: Cards,
    *,
    warnings: Sequence[str] = (),
    title: str = "Several shortcuts: a family of studies",
) -> Path:
    """Write ``tables/``, ``figures/``, ``family.json`` and, last, ``family.html`` into ``root``; return its path.

    ``cards`` are of :func:`einstellung.diagnoses.shortcuts.reporting.report_shortcuts`, by the name of the folder below ``root`` in which the
    study's own page lies.
    """
    from einstellung.diagnoses.shortcuts.figures.family import draw_family, has_gaps
    from einstellung.diagnoses.shortcuts.page import GLOSSARY, PILLS
    from einstellung.report.figures.canvas import drawing, save  # matplotlib takes most of a second to import
    from einstellung.report.figures.plan import Drawn

    shown = {name: baseline_first(card) for name, card in cards.items()}
    figure = None
    if has_gaps(shown):
        with drawing():
            svg = save(draw_family(shown), root / "figures", "family")["svg"]
        figure = Drawn("family", "Gaps from phase to phase, in every study", _caption(shown), svg)
    return write_family_page(
        root,
        "shortcuts_family.html",
        cards,
        title=title,
        answer=family_answer(shown),
        tables=family_tables(shown),
        figure=figure,
        glossary=[(name, PILLS.get(name, ""), words) for name, words in GLOSSARY.items()],
        warnings=warnings,
    )


def family_answer(cards: Cards) -> list[str]:
    """Paragraphs: who plays Whac-A-Mole, what is carried over, what is traded, and what that rests on."""
    lines = [_whac_a_mole(cards), _carry_over(cards), _trade(cards), _rests_on(cards)]
    return [line for line in lines if line]


def _whac_a_mole(cards: Cards) -> str:
    lacking = [name for name, card in cards.items() if card["baseline"] not in card["methods"]]
    found = {name: methods for name, card in cards.items() if (methods := whac_a_moles(card))}
    known = [name for name, card in cards.items() if decided(card)]
    unknown = [name for name in cards if name not in known and name not in lacking]
    if found:
        listed = "; ".join(f"{name} ({join(methods)})" for name, methods in found.items())
        words = [f"Whac-A-Mole {_of(found, cards)}, at the end of the last phase: {listed}."]
    elif known:
        words = [
            "No Whac-A-Mole is shown: at the end of the last phase, no method that the data decide about reduces one gap and "
            "amplifies another beyond the margin."
        ]
    else:
        words = ["Nothing is decided about Whac-A-Mole: of no method do the data tell about every cue."]
    if known and unknown:
        words.append(f"In {join(unknown)} the data tell about every cue of no method beside the baseline.")
    if lacking:
        words.append(f"Without a baseline nothing can be said in {join(lacking)}.")
    return " ".join(words)


def _carry_over(cards: Cards) -> str:
    continual = {name: card for name, card in cards.items() if len(card["phases"]) > 1}
    asked = [name for name, card in continual.items() if loses_a_correlation(card)]
    if not continual:
        return ""
    if not asked:
        return "No cue loses its correlation, so that no gap can be carried over."
    found = {name: who for name in asked if (who := carried_over(cards[name]))}
    if found:
        parts = [
            f"{name} (the {cue} gap of {had} is still there after {phase} in {_who(methods, cards[name])})"
            for name, who in found.items()
            for (cue, had, phase), methods in who.items()
        ]
        words = f"A gap outlives its correlation {_of(found, cards)}: {'; '.join(parts)}."
    else:
        words = f"In {join(asked)} no gap is certain to be left where its correlation is gone."
    rest = [name for name in cards if name not in asked]
    return f"{words} In {join(rest)} no cue loses its correlation." if rest else words


def _trade(cards: Cards) -> str:
    asked = [name for name, card in cards.items() if len(card["phases"]) > 1 and len(card["cues"]) > 1]
    if not asked:
        return ""
    found = {name: who for name in asked if (who := traded(cards[name]))}
    if not found:
        return "From phase to phase, no gap is certain to shrink while another grows."
    parts = [
        f"{name} ({' to '.join(pair.split(' -> '))}, from {before} to {after}, in {_who(methods, cards[name])})"
        for name, who in found.items()
        for (pair, before, after), methods in who.items()
    ]
    return f"From phase to phase, one gap is traded for another {_of(found, cards)}: {'; '.join(parts)}."


def _who(methods: Sequence[str], card: Mapping[str, Any]) -> str:
    """Methods by name; where that is shorter, all but those that are not among them."""
    others = [method for method in card["methods"] if method not in methods]
    if len(methods) < _LISTED or len(others) >= _LISTED:
        return join(methods)
    return f"all {len(card['methods'])} methods{f' but {join(others)}' if others else ''}"


def _of(found: Mapping[str, Any], cards: Cards) -> str:
    return f"in {len(found)} of {len(cards)} studies" if len(cards) > 1 else "in the one study"


def _rests_on(cards: Cards) -> str:
    single = [name for name, card in cards.items() if all(one["n_seeds"] == 1 for one in card["methods"].values())]
    nothing = f" With a single seed nothing is certain: so in {join(single)}." if single else ""
    too = " (Whac-A-Mole: over test images, too)" if all(card["image_resamples"] for card in cards.values()) else ""
    return (
        f"Certain is what is beyond the margin and confirmed by 95 % intervals over seeds{too}: "
        f"{_seeds(cards)}; {images_in_words(cards)}.{nothing}"
    )


def _seeds(cards: Cards) -> str:
    """How many seeds every study has; said once where all have the same."""
    words: dict[str, list[str]] = {}
    for name, card in cards.items():
        words.setdefault(seeds_in_words(card), []).append(name)
    if len(words) == 1:
        return next(iter(words))
    return "; ".join(f"{said} in {join(names)}" for said, names in words.items())


def _caption(cards: Cards) -> str:
    baselines: Iterable[str] = dict.fromkeys(card["baseline"] for card in cards.values())
    seeds = _seeds(cards)
    text = _CAPTION.format(baseline=join(baselines), seeds=seeds[0].upper() + seeds[1:], images=images_in_words(cards))
    return " ".join(text.split())
