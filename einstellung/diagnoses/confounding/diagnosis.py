"""Did a learner learn the question, or one confounder after the other? Confounded tasks (ConCon)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from einstellung.diagnoses.confounding import answer, family, page, tables
from einstellung.diagnoses.confounding.card import ConfoundingCard
from einstellung.diagnoses.confounding.forest import make_forest
from einstellung.diagnoses.confounding.matrices import make_matrices
from einstellung.diagnoses.confounding.score import score_tasks
from einstellung.diagnoses.confounding.settings import DEFAULT_BASELINE, ConfoundingSettings
from einstellung.diagnoses.confounding.splits import describe_split, has_confounded_tasks, split_order
from einstellung.diagnoses.confounding.study import describe_tasks
from einstellung.diagnoses.contract import Diagnosis, Evidence, Members
from einstellung.diagnoses.margins import margin_data, margin_stops, score_command
from einstellung.report.family import FAMILY, FamilyPage
from einstellung.report.forest import Forest
from einstellung.report.pictures import PictureRow, read_samples
from einstellung.report.scripts import MARGIN
from einstellung.report.tables import Missing, Table
from einstellung.report.terminal import Overview

if TYPE_CHECKING:
    from einstellung.report.figures.plan import Plan


class Confounding(Diagnosis[ConfoundingSettings, ConfoundingCard]):
    """Whether a learner finds the ground truth of tasks in each of which a confounder of its own goes with the answer."""

    name = "confounding"
    title = "Confounded tasks"
    topic = "confounded tasks"
    Settings = ConfoundingSettings
    Card = ConfoundingCard
    grouped = frozenset({FAMILY})
    needs_own_splits = True
    default_baseline = DEFAULT_BASELINE
    undefined_without = "AD, PD and SFR_rel of the tasks after the first"
    template: ClassVar[Path | None] = Path(__file__).with_name("page.html")

    def recognises(self, splits: Sequence[str]) -> bool:
        return has_confounded_tasks(splits)

    def missing_baseline(self, settings: ConfoundingSettings, methods: Sequence[str], n_phases: int) -> str | None:
        return None if n_phases == 1 else super().missing_baseline(settings, methods, n_phases)

    def score(self, evidence: Evidence, settings: ConfoundingSettings) -> ConfoundingCard:
        return score_tasks(
            evidence.timeline,
            settings,
            describe_tasks(evidence.config, evidence.facts),
            config=evidence.config,
            siblings=evidence.siblings,
            failures=evidence.failures,
        )

    def answer(self, card: ConfoundingCard) -> list[str]:
        return answer.answer(card)

    def overview(self, card: ConfoundingCard) -> Overview:
        return answer.overview(card)

    def tables(self, card: ConfoundingCard) -> Mapping[str, Table | Missing]:
        return tables.study_tables(card)

    def figures(self, evidence: Evidence, card: ConfoundingCard) -> Iterable[Plan]:
        from einstellung.diagnoses.confounding.figures.plans import plan_figures  # matplotlib takes most of a second

        return plan_figures(evidence.timeline, card, evidence.runs.samples)

    def describe_split(self, split: str, card: ConfoundingCard) -> str | None:
        return describe_split(split)

    def split_order(self, split: str, card: ConfoundingCard) -> tuple[int, int]:
        return split_order(split)

    def conditions(self, card: ConfoundingCard) -> Mapping[str, str]:
        return page.conditions(card)

    def page(self, evidence: Evidence, card: ConfoundingCard) -> Mapping[str, Any]:
        return {
            "cards": page.method_cards(card),
            "glossary": page.GLOSSARY,
            "matrices": make_matrices(card),
        }

    def forest(self, card: ConfoundingCard) -> Forest:
        return make_forest(card)

    def pictures(self, evidence: Evidence, card: ConfoundingCard) -> Sequence[PictureRow]:
        samples = read_samples(evidence.runs.samples) if evidence.runs.samples is not None else {}
        return page.picture_rows(samples, card)

    def terms(self, card: ConfoundingCard) -> Mapping[str, str]:
        return {str(name): words for name, words in page.MEANINGS.items()}

    def scripts(self) -> Sequence[Path | str]:
        return (MARGIN,)

    def page_data(self, evidence: Evidence, card: ConfoundingCard) -> Mapping[str, Any]:
        stops = margin_stops(card.margin, page.MARGINS)
        settings = page.settings_of(card)
        cards = [self.score(evidence, settings.model_copy(update={"margin": margin})) for margin in stops]
        return {
            "margin": margin_data(
                [
                    (margin, again.with_methods_in_order(list(card.methods)))
                    for margin, again in zip(stops, cards, strict=True)
                ],
                card.margin,
                forest=make_forest,
                answer=answer.answer,
                command=score_command(evidence, settings, "margin"),
            )
        }

    def family(self, members: Members[ConfoundingCard]) -> FamilyPage:
        return family.family_page(members.cards)
