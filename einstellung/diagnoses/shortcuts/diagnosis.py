"""Does a method that mitigates one shortcut amplify another? Several shortcuts (Whac-A-Mole)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from einstellung.diagnoses.contract import Diagnosis, Evidence, Members
from einstellung.diagnoses.margins import margin_data, margin_stops, score_command
from einstellung.diagnoses.shortcuts import answer, family, page, splits, tables
from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.forest import make_forest
from einstellung.diagnoses.shortcuts.plane import plane_data
from einstellung.diagnoses.shortcuts.score import score_by_margin
from einstellung.diagnoses.shortcuts.settings import DEFAULT_BASELINE, SelectionRule, ShortcutsSettings
from einstellung.metrics.image_pairs import Predictions
from einstellung.report.family import FAMILY, FamilyPage
from einstellung.report.forest import Forest
from einstellung.report.pictures import PictureRow, read_samples
from einstellung.report.scripts import MARGIN
from einstellung.report.tables import Table
from einstellung.report.terminal import Overview

if TYPE_CHECKING:
    from einstellung.report.figures.plan import Plan


class Shortcuts(Diagnosis[ShortcutsSettings, ShortcutsCard]):
    """Gaps of several cues, their amplification against a baseline, and what phases do to them."""

    name: ClassVar[str] = "shortcuts"
    title: ClassVar[str] = "Several shortcuts"
    topic: ClassVar[str] = "several shortcuts"
    Settings: ClassVar[type[ShortcutsSettings]] = ShortcutsSettings
    Card: ClassVar[type[ShortcutsCard]] = ShortcutsCard
    grouped: ClassVar[frozenset[str]] = frozenset({FAMILY})
    needs_own_splits: ClassVar[bool] = True
    default_baseline: ClassVar[str] = DEFAULT_BASELINE
    undefined_without: ClassVar[str] = "amplification and the verdicts"
    template: ClassVar[Path | None] = Path(__file__).with_name("page.html")

    def recognises(self, splits_of_log: Sequence[str]) -> bool:
        return splits.are_shortcuts(splits_of_log)

    def score(self, evidence: Evidence, settings: ShortcutsSettings) -> ShortcutsCard:
        (card,) = self._score(evidence, settings, (settings.margin,))
        return card

    def _score(self, evidence: Evidence, settings: ShortcutsSettings, margins: Sequence[float]) -> list[ShortcutsCard]:
        def predictions(rule: SelectionRule) -> tuple[Predictions, Sequence[str]]:
            return evidence.runs.predictions(last=rule == "last", so="no intervals over images are available")

        return score_by_margin(
            evidence.timeline,
            settings,
            margins,
            cues=evidence.facts.get("cues"),
            correlations=evidence.facts.get("correlations"),
            predictions=predictions,
            sources=evidence.runs.sources,
            config=evidence.config,
            failures=evidence.failures,
        )

    def answer(self, card: ShortcutsCard) -> list[str]:
        return answer.make_answer(card)

    def tables(self, card: ShortcutsCard) -> Mapping[str, Table]:
        return tables.make_tables(card)

    def figures(self, evidence: Evidence, card: ShortcutsCard) -> Sequence[Plan]:
        from einstellung.diagnoses.shortcuts.figures.plans import plan_figures

        return plan_figures(card, evidence.runs.samples)

    def overview(self, card: ShortcutsCard) -> Overview:
        return answer.make_overview(card)

    def describe_split(self, split: str, card: ShortcutsCard) -> str | None:
        return splits.describe_split(split, card.cues)

    def split_order(self, split: str, card: ShortcutsCard) -> tuple[int, str, str]:
        return splits.split_order(split, card.cues)

    def conditions(self, card: ShortcutsCard) -> Mapping[str, str]:
        return page.describe_conditions(card)

    def page(self, evidence: Evidence, card: ShortcutsCard) -> Mapping[str, Any]:
        return page.page_words(card)

    def forest(self, card: ShortcutsCard) -> Forest:
        return make_forest(card)

    def pictures(self, evidence: Evidence, card: ShortcutsCard) -> Sequence[PictureRow]:
        samples = read_samples(evidence.runs.samples) if evidence.runs.samples is not None else {}
        return page.picture_rows(samples, card)

    def terms(self, card: ShortcutsCard) -> Mapping[str, str]:
        return page.GLOSSARY

    def scripts(self) -> Sequence[Path | str]:
        return (MARGIN, Path(__file__).parent / "page_scripts" / "plane.js")

    def page_data(self, evidence: Evidence, card: ShortcutsCard) -> Mapping[str, Any]:
        stops = margin_stops(card.margin, page.MARGINS)
        settings = page.settings_of(card)
        cards = self._score(evidence, settings, stops)
        return {
            "baseline": card.baseline,
            "plane": plane_data(card),
            "margin": margin_data(
                [
                    (margin, again.with_methods_in_order(list(card.methods)))
                    for margin, again in zip(stops, cards, strict=True)
                ],
                card.margin,
                forest=make_forest,
                answer=answer.make_answer,
                command=score_command(evidence, settings, "margin"),
            ),
        }

    def family(self, members: Members[ShortcutsCard]) -> FamilyPage:
        return family.family_page(members, self.title)
