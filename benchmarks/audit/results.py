"""The audit of every net of the zoo, beside what is true of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.audit.judging import Located, TrueCue, located, true_cues
from benchmarks.audit.zoo import CUE_CLASS, Member, net_of, normalised, truth
from einstellung.files import write_text
from einstellung.probes.audit import AuditedModel, audit_model
from einstellung.results.audit_files import Finding, ModelAudit


@dataclass(frozen=True)
class Result:
    """A net of the zoo, its ground truth, and the audit's findings."""

    member: Member
    cues: tuple[TrueCue, ...]
    audit: ModelAudit
    findings: tuple[Finding, ...] = ()

    @property
    def places(self) -> list[tuple[TrueCue, Finding, Located] | None]:
        """For every cue, the finding of its class that locates it best; None if there is none."""
        found: list[tuple[TrueCue, Finding, Located] | None] = []
        for cue in self.cues:
            own = [
                (cue, one, located(one, cue))
                for one in self.findings
                if one.kind == "localised" and one.label == CUE_CLASS
            ]
            own = [one for one in own if one[2].pointing > 0.5]
            found.append(max(own, key=lambda one: one[2].pointing, default=None))
        return found


def audited(member: Member, where: Path) -> Result:
    """The audit of a net with all its candidates; loaded from the folder if present."""
    file = where / "audits" / f"{member.name}.json"
    stored = ModelAudit.model_validate_json(file.read_text()) if file.exists() else None
    if stored is not None and member.kind is None:
        return Result(member, (), stored)
    model, known = AuditedModel(member.name, net_of(member, where), normalised), truth(member)
    if stored is None:
        stored = audit_model(model, known.images, known.labels, {}, everything=True)
        write_text(file, stored.model_dump_json(by_alias=True))
    return Result(member, tuple(true_cues(member, known, model)), stored)
