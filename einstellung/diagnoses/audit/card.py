"""The card of an audit: what was found in every model, what it rests on, and how often such a verdict is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict

from einstellung.diagnoses.audit.error_rates import ErrorRates
from einstellung.diagnoses.card import Card, CardPart, MethodRecord
from einstellung.results.audit_files import DataWindow, Finding, ProxyRow, RelativeRow

VerdictName = Literal["localised cue", "global cue suspected", "cue suspected", "nothing found", "cannot tell"]


class AuditVerdict(CardPart):
    """A word for a model, and a sentence for every finding, then every suspicion; the first is the strongest."""

    name: VerdictName
    sentences: tuple[str, ...]


class AuditedRecord(MethodRecord):
    """One model, the ``place``-th of the audit (from 0; its pictures are named by it).

    ``findings`` beat all three controls, ``suspicions`` some of them; ``left_out``: what was not done, and why.
    """

    place: int
    method: str
    seed: int
    accuracy: float
    per_class: Mapping[int, float]
    findings: tuple[Finding, ...]
    suspicions: tuple[Finding, ...]
    cannot_tell: str | None
    proxies: tuple[ProxyRow, ...]
    left_out: tuple[str, ...]
    images_evaluated: int
    seconds: float
    verdict: AuditVerdict

    @property
    def numbered(self) -> list[tuple[int, bool, Finding]]:
        """Findings, then suspicions: the number, whether it beats all controls, and what it is."""
        whole = [(True, found) for found in self.findings] + [(False, found) for found in self.suspicions]
        return [(number, beats, found) for number, (beats, found) in enumerate(whole, start=1)]


class AuditCard(Card):
    """The card; ``methods`` are the audited models by name. Every ``delta`` is a proxy: the cue itself is not known."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    kind: Literal["audit"] = "audit"
    schema_version: Literal[1] = 1
    methods: Mapping[str, AuditedRecord]
    relative: tuple[RelativeRow, ...]
    data: tuple[DataWindow, ...]
    class_names: Mapping[int, str]
    n_images: int
    image_size: tuple[int, int]
    stored_size: tuple[int, int] | None
    settings: Mapping[str, Any]
    error_rates: ErrorRates

    def class_name(self, label: int) -> str:
        return self.class_names.get(label, str(label))
