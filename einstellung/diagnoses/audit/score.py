"""From an audit's file and timeline to its card."""

from __future__ import annotations

from einstellung.diagnoses.audit.card import AuditCard, AuditedRecord
from einstellung.diagnoses.audit.checks import audit_checks
from einstellung.diagnoses.audit.error_rates import measured_rates
from einstellung.diagnoses.audit.verdict import judge
from einstellung.errors import InputError
from einstellung.results.audit_files import AuditFile
from einstellung.timeline import Run, Timeline


def score_audit(audit: AuditFile, timeline: Timeline) -> AuditCard:
    """The card: every model with its verdict."""
    runs = _runs(audit, timeline)
    rates = measured_rates()
    methods = {}
    for place, (name, one) in enumerate(audit.models.items()):
        if name not in runs:
            continue  # a reader may score some of the models only
        own = {field: getattr(one, field) for field in type(one).model_fields}
        method, seed = runs[name]
        methods[name] = AuditedRecord(
            n_seeds=1, place=place, method=method, seed=seed, verdict=judge(one, rates), **own
        )
    return AuditCard(
        baseline=next((row.baseline for row in audit.relative), ""),
        methods=methods,
        checks=tuple(audit_checks(audit, timeline, runs)),
        warnings=tuple(_warnings(audit)),
        relative=tuple(row for row in audit.relative if row.model in runs),
        data=audit.data,
        class_names=audit.class_names,
        n_images=audit.n_images,
        image_size=audit.image_size,
        stored_size=audit.stored_size,
        settings=audit.settings,
        error_rates=rates,
    )


def _runs(audit: AuditFile, timeline: Timeline) -> dict[str, Run]:
    """The row of every model in the timeline: METHOD-seedK of a study, the model's own name otherwise."""
    known = {f"{method}-seed{seed}": (method, seed) for method, seed in timeline.runs}
    known |= {method: (method, seed) for method, seed in timeline.runs if method in audit.models}
    found = {name: known[name] for name in audit.models if name in known}
    if not found:
        raise InputError("the timeline next to audit.json has no rows for its models: rerun the audit")
    return found


def _warnings(audit: AuditFile) -> list[str]:
    found = []
    available = audit.settings.get("images_available", audit.n_images)
    if audit.n_images < available:
        found.append(f"{audit.n_images:,} of {available:,} images were audited; use --images N for more")
    left_out: dict[str, list[str]] = {}
    for name, one in audit.models.items():
        for reason in one.left_out:
            left_out.setdefault(reason, []).append(name)
    for reason, models in left_out.items():
        found.append(f"{reason} ({', '.join(models[:3])}{f' and {len(models) - 3} more' if len(models) > 3 else ''})")
    return found
