"""The composite score of the Mammoth integration guide: a variant of the index without a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from einstellung.diagnoses.contract import Diagnosis, Evidence
from einstellung.guide.card import GuideCard, GuideSettings
from einstellung.guide.comprehensive import guide_settings
from einstellung.guide.files import guide_place, write_guide_files
from einstellung.guide.score import guide_score
from einstellung.guide.tables import claims_table, guide_table
from einstellung.report.tables import Table
from einstellung.report.terminal import Overview
from einstellung.results.folder import ResultsFolder


class Guide(Diagnosis[GuideSettings, GuideCard]):
    """The composite score of the Mammoth integration guide, by its own definitions of delay, deficit and reliance."""

    name = "guide"
    title = "Einstellung Rigidity Index, guide variant"
    topic = "the guide's variant of the index"
    Settings = GuideSettings
    Card = GuideCard

    def recognises(self, splits: Sequence[str]) -> bool:
        """Never: its splits are those of the rigidity index, so it must be named."""
        return False

    def score(self, evidence: Evidence, settings: GuideSettings) -> GuideCard:
        own = settings if evidence.config is None else guide_settings(evidence.config)
        return guide_score(evidence.timeline, own)

    def answer(self, card: GuideCard) -> list[str]:
        return [
            "The composite score of the guide, from its own definitions of delay, deficit and reliance. It is not the paper's "
            "triplet and the two cannot be compared."
        ]

    def tables(self, card: GuideCard) -> dict[str, Table]:
        return {"guide": guide_table(card), "guide_claims": claims_table(card)}

    def overview(self, card: GuideCard) -> Overview:
        return Overview(guide_table(card))

    def export(self, folder: Path, evidence: Evidence, card: GuideCard) -> Path:
        results = ResultsFolder(folder)
        return write_guide_files(results, guide_place(results))[-1]
