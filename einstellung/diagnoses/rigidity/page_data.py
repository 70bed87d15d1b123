"""What the page's scripts read: the data of the scorer, further curves, words, and the command that scores the same runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.rigidity import browser_data
from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.gallery import make_gallery
from einstellung.diagnoses.rigidity.naming import Naming
from einstellung.diagnoses.rigidity.page import BASELINE_FACETS, CARD_FACETS
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.diagnoses.rigidity.splits import SPLIT_OF
from einstellung.diagnoses.rigidity.wording import CERTAINTIES, NEEDS, PATTERNS, RELATIVE
from einstellung.report.notation import FACETS
from einstellung.report.scripts import CHART

_DIGITS = 6  # of an accuracy that is only drawn


def page_scripts() -> list[Path | str]:
    """The page's code: the chart, the scorer, then the page scripts."""
    return [CHART, browser_data.script(), *sorted(Path(__file__).with_name("page_scripts").glob("*.js"))]


def page_data(evidence: Evidence, card: RigidityCard, naming: Naming | None = None) -> dict[str, Any]:
    """Plain values, ready for strict JSON; ``naming``: what T2 and T1 are called, where the card is about another phase."""
    naming, defaults = naming or Naming("T2", "T1"), RigiditySettings()
    return {
        "payload": browser_data.payload(evidence, card, naming),
        "curves": _curves(evidence),
        "levels": _levels(card),
        "words": naming.apply(
            {
                "over": "phase 2",
                "after": "phase 1",
                "facets": {
                    key: {"head": facet.head, "signed": facet.signed, "in_epochs": facet.in_epochs}
                    for key, facet in FACETS.items()
                },
                "patterns": {name: pattern.words for name, pattern in PATTERNS.items()},
                "certainties": CERTAINTIES,
                "splits": SPLIT_OF,
                "needs": NEEDS,
                "relative": RELATIVE,
                "shown": {"card": CARD_FACETS, "baseline": BASELINE_FACETS},
            }
        ),
        "command": _command(evidence, card, defaults),
        "defaults": {
            "tau": defaults.tau,
            "window": defaults.window,
            "smoothing": defaults.smoothing,
            "final": defaults.final,
            "margins": {"AD": defaults.margins.AD, "PD": defaults.margins.PD, "SFR": defaults.margins.SFR_rel},
        },
        "gallery": make_gallery(evidence, card),
    }


def has_curves(evidence: Evidence) -> bool:
    """Whether any run was watched during phase 2."""
    return any(evidence.timeline.curves(*run, "T2") for run in evidence.timeline.runs)


def _curves(evidence: Evidence) -> dict[str, list[list[list[float]] | None]]:
    """The phase 2 curves that the scorer does not have: for each, a list in the order of the runs."""
    found: dict[str, list[list[list[float]] | None]] = {}
    for key, split in SPLIT_OF.items():
        if key == "SC_patch":
            continue
        curves = [evidence.timeline.curves(*run, "T2").get(split) for run in evidence.timeline.runs]
        if any(curve is not None for curve in curves):
            found[key] = [
                None
                if curve is None
                else [curve.epochs.tolist(), [round(value, _DIGITS) for value in curve.acc.tolist()]]
                for curve in curves
            ]
    return found


def _levels(card: RigidityCard) -> list[dict[str, Any]]:
    """Accuracies worth a thin line: chance, and what the cue alone can give."""
    facts = card.stream_facts
    levels = {"chance": facts.chance, "cue alone": facts.cue_alone} if facts is not None else {}
    return [{"label": words, "value": level} for words, level in levels.items() if level is not None]


def _command(evidence: Evidence, card: RigidityCard, defaults: RigiditySettings) -> list[str]:
    """The command without the options that the page lets the reader choose."""
    words = ["einstellung", "score", evidence.source]
    if card.tau_grid != defaults.tau_grid:
        words += ["--tau-grid", ",".join(f"{tau:g}" for tau in card.tau_grid)]
    if card.phases is not None:
        words += ["--phase", card.phases.shown]
    if card.floor.classes is not None:
        words += ["--classes", str(card.floor.classes)]
    return words
