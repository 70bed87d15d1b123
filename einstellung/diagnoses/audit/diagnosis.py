"""Unknown cues: what an audit of models found, and how sure it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from einstellung.diagnoses.audit import answer, page, tables
from einstellung.diagnoses.audit.card import AuditCard
from einstellung.diagnoses.audit.score import score_audit
from einstellung.diagnoses.audit.settings import AuditDiagnosisSettings
from einstellung.diagnoses.audit.splits import describe_split, is_audit, split_order
from einstellung.diagnoses.contract import Diagnosis, Evidence
from einstellung.errors import InputError
from einstellung.report.tables import Missing, Table
from einstellung.results.audit_files import read_audit

if TYPE_CHECKING:
    from einstellung.report.figures.plan import Plan


class Audit(Diagnosis[AuditDiagnosisSettings, AuditCard]):
    """Whether a region, or a property of whole images, decides the class of a model by itself, where nobody named a cue."""

    name = "audit"
    title = "Audit for unknown cues"
    topic = "unknown cues"
    Settings = AuditDiagnosisSettings
    Card = AuditCard
    configured_order = False
    needs_own_splits = True
    template: ClassVar[Path | None] = Path(__file__).with_name("page.html")

    def recognises(self, splits: Sequence[str]) -> bool:
        return is_audit(splits)

    def score(self, evidence: Evidence, settings: AuditDiagnosisSettings) -> AuditCard:
        folder = evidence.runs.log_folder
        if folder is None:
            raise InputError(
                "an audit needs more than its timeline: give the folder written by 'einstellung audit --out'"
            )
        return score_audit(read_audit(folder), evidence.timeline)

    def answer(self, card: AuditCard) -> list[str]:
        return answer.answer(card)

    def tables(self, card: AuditCard) -> Mapping[str, Table | Missing]:
        return tables.study_tables(card)

    def figures(self, evidence: Evidence, card: AuditCard) -> Iterable[Plan]:
        from einstellung.diagnoses.audit.figures.plans import plan_figures  # matplotlib takes most of a second

        return plan_figures(card, evidence.runs.log_folder)

    def describe_split(self, split: str, card: AuditCard) -> str | None:
        return describe_split(split)

    def split_order(self, split: str, card: AuditCard) -> tuple[int, int]:
        return split_order(split)

    def conditions(self, card: AuditCard) -> Mapping[str, str]:
        return page.conditions(card)

    def page(self, evidence: Evidence, card: AuditCard) -> Mapping[str, Any]:
        return {"cards": page.model_cards(card)}
