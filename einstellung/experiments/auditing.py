"""Audit models for unknown cues: every model of a plan, compared with its baseline, and the images alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import torch
from torch import nn

from einstellung.cues import cover
from einstellung.diagnoses.reporting import Scored, report_logs, score_logs
from einstellung.experiments.audit_pictures import archive, pictures_of
from einstellung.experiments.audit_plans import MOST_IMAGES, Audited, AuditPlan, Chosen, plan_arrays
from einstellung.experiments.audited_images import AuditedImages
from einstellung.experiments.audited_models import require_answers
from einstellung.experiments.class_groups import groups_from
from einstellung.experiments.data_maps import predictive_windows
from einstellung.files import write_bytes, write_json
from einstellung.probes.audit import AuditedModel, AuditSettings, audit_model
from einstellung.probes.audit.audit import PROXIES
from einstellung.probes.audit.relative import relative_rows
from einstellung.probes.audit.windows import mask_of
from einstellung.report.notebook import notebook_html, notebook_markdown
from einstellung.report.tables import Table
from einstellung.results.audit_files import (
    COVERED_SPLIT,
    NORMAL_SPLIT,
    PICTURES_FILE,
    AuditFile,
    DataWindow,
    Finding,
    ModelAudit,
    RelativeRow,
    write_audit,
)
from einstellung.timeline import Timeline

OnProgress = Callable[[int, int], object]
_REST = 0.05  # of a model's passes: what follows the last model, the comparison with baselines and the images alone


@dataclass(frozen=True)
class AuditResult:
    """The result of an audit. ``findings`` beat all three controls, ``suspicions`` some; strongest first, over all models."""

    audit: AuditFile
    timeline: Timeline
    pictures: bytes

    @property
    def findings(self) -> tuple[Finding, ...]:
        return _strongest(found for one in self.audit.models.values() for found in one.findings)

    @property
    def suspicions(self) -> tuple[Finding, ...]:
        return _strongest(found for one in self.audit.models.values() for found in one.suspicions)

    @property
    def cannot_tell(self) -> Mapping[str, str]:
        """For each inconclusive model, the reason."""
        return {name: one.cannot_tell for name, one in self.audit.models.items() if one.cannot_tell is not None}

    def scored(self) -> Scored:
        """The card, with a verdict on every model."""
        with TemporaryDirectory() as folder:
            return score_logs([self._write(Path(folder))])

    def to_json(self) -> dict[str, Any]:
        """What ``einstellung audit --json`` prints."""
        summary = self.audit.summary()
        for name, record in self.scored().card.methods.items():
            summary["models"][name]["verdict"] = record.verdict.model_dump(mode="json")
        return summary

    def with_provenance(self, provenance: Mapping[str, Any]) -> AuditResult:
        return replace(self, audit=self.audit.model_copy(update={"provenance": provenance}))

    def save(self, folder: Path | str) -> Path:
        """Write ``audit.json``, images, timeline, figures, tables and the page into a folder; return the page's path."""
        folder = self._write(Path(folder))
        write_bytes(folder / PICTURES_FILE, self.pictures)
        return report_logs(folder).page

    def _repr_html_(self) -> str:
        return notebook_html(*self._shown())

    def _repr_markdown_(self) -> str:
        return notebook_markdown(*self._shown())

    def _shown(self) -> tuple[str, list[str], Table, list[str]]:
        """The title, the sentences, the table and the small print that a notebook shows."""
        scored = self.scored()
        card = scored.card.baseline_first()
        table = scored.diagnosis.overview(card).table
        return scored.diagnosis.title, scored.diagnosis.answer(card), table, [table.note, *card.warnings]

    def _write(self, folder: Path) -> Path:
        """The evidence for the card."""
        write_audit(folder, self.audit)
        self.timeline.write(folder / "timeline.csv")
        if self.audit.provenance:
            write_json(folder / "provenance.json", dict(self.audit.provenance))
        return folder


def _strongest(found: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda one: -one.strength))


def audit_arrays(
    model: Any,
    images: Any,
    labels: Any,
    baseline: Any = None,
    *,
    names: Mapping[int, str] | Sequence[str] | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    budgets: Sequence[float] = AuditSettings().budgets,
    probes: Sequence[str] = PROXIES,
    classes: Sequence[str | int] = (),
    most_images: int = MOST_IMAGES,
    groups: Mapping[str, Sequence[int | str]] | None = None,
    objects: Any = None,
    seed: int = 0,
    on_progress: OnProgress = lambda done, total: None,
) -> AuditResult:
    """See :func:`einstellung.audit`."""
    settings = AuditSettings(tuple(budgets), tuple(probes), seed)
    chosen = Chosen(tuple(map(str, classes)), most_images, None if groups is None else groups_from(groups))
    modules = [part for one in (model, baseline) if isinstance(one, nn.Module) for part in one.modules()]
    modes = [part.training for part in modules]
    try:
        plan = plan_arrays(model, baseline, images, labels, names, mean, std, chosen, objects)
        return run_audit(plan, settings, on_progress)
    finally:  # measuring leaves a net as it was
        for part, mode in zip(modules, modes, strict=True):
            part.training = mode


def run_audit(
    plan: AuditPlan,
    settings: AuditSettings,
    on_progress: OnProgress = lambda done, total: None,
) -> AuditResult:
    """Audit every model of a plan; nothing is written."""
    images = plan.images
    audits: dict[str, ModelAudit] = {}
    rows: list[dict[str, Any]] = []
    arrays: dict[str, Any] = {}
    expected = 0

    def of_model(place: int, done: int, total: int) -> None:
        nonlocal expected
        expected = round((len(plan.models) + _REST) * total)
        on_progress(place * total + done, expected)

    with plan.threads():
        for place, one in enumerate(plan.models):
            model = plan.loaders[one.name]()
            require_answers(model, images.images, images.labels)
            audits[one.name] = audit_model(
                model,
                images.images,
                images.labels,
                images.class_names,
                settings,
                partial(of_model, place),
                baseline=None if one.baseline is None else plan.loaders[one.baseline](),
                objects=images.objects,
            )
            rows += _measured(one, model, audits[one.name], images)
            arrays |= pictures_of(place, model, audits[one.name], images.images, images.labels)
        relative = _relative_index(plan, audits, settings)
        data = predictive_windows(images.images, images.labels, max(settings.budgets), images.file_sizes)
        if expected:
            on_progress(expected, expected)
    audit = AuditFile(
        models={name: _in_stored_pixels(one, images) for name, one in audits.items()},
        relative=relative,
        data=tuple(_window_in_stored_pixels(row, images) for row in data),
        class_names=images.class_names,
        image_names=images.image_names,
        n_images=len(images),
        image_size=(images.images.shape[-2], images.images.shape[-1]),
        stored_size=images.stored_size,
        settings={
            "budgets": list(settings.budgets),
            "proxies": list(settings.proxies),
            "seed": settings.seed,
            "images_available": plan.available,
            **({} if images.geometry is None else {"preparation": asdict(images.geometry)}),
            **({"groups": dict(plan.groups)} if plan.groups else {}),
        },
    )
    return AuditResult(audit, Timeline(pd.DataFrame(rows)), archive(arrays))


def _in_stored_pixels(audit: ModelAudit, images: AuditedImages) -> ModelAudit:
    """The audit with boxes in pixels of the stored images; those that the model received are kept as ``input_box``."""

    def of_finding(found: Finding) -> Finding:
        own = tuple(
            one.model_copy(update={"box": images.stored_box(one.index, one.box), "input_box": one.box})
            for one in found.images
        )
        first = found.images[0].index if found.images else 0
        box = images.stored_box(first, found.box)
        return found.model_copy(update={"box": box, "input_box": found.box, "images": own})

    return audit.model_copy(
        update={
            "findings": tuple(map(of_finding, audit.findings)),
            "suspicions": tuple(map(of_finding, audit.suspicions)),
        }
    )


def _window_in_stored_pixels(row: DataWindow, images: AuditedImages) -> DataWindow:
    first = int((images.labels == row.label).nonzero()[0])
    return row.model_copy(update={"box": images.stored_box(first, row.box)})


def _relative_index(
    plan: AuditPlan, audits: Mapping[str, ModelAudit], settings: AuditSettings
) -> tuple[RelativeRow, ...]:
    """Every model and its baseline under the masks found in either."""
    images = plan.images
    rows: list[RelativeRow] = []
    references: dict[str, AuditedModel] = {}
    for one in plan.models:
        if one.baseline is None:
            continue
        own = audits[one.name]
        masks = {_mask(found) for found in (*own.findings, *own.suspicions)}
        theirs = _without(audits[one.baseline], masks) if one.baseline in audits else None
        if not masks and (theirs is None or not (theirs.findings or theirs.suspicions)):
            continue
        if one.baseline not in references:
            references[one.baseline] = plan.loaders[one.baseline]()
        model, baseline = plan.loaders[one.name](), references[one.baseline]
        for audit, where in ((own, one.name), (theirs, one.baseline)):
            if audit is None:
                continue
            found = relative_rows(
                model, baseline, images.images, images.labels, audit, one.name, one.baseline, settings.seed
            )
            rows += [row.model_copy(update={"mask": f"{row.mask} (found in {where})"}) for row in found]
    return tuple(rows)


def _without(audit: ModelAudit, masks: Collection[tuple[Any, ...]]) -> ModelAudit:
    """The findings and suspicions with other masks."""
    return audit.model_copy(
        update={
            "findings": tuple(found for found in audit.findings if _mask(found) not in masks),
            "suspicions": tuple(found for found in audit.suspicions if _mask(found) not in masks),
        }
    )


def _mask(found: Finding) -> tuple[Any, ...]:
    """What identifies a mask; a cue that moves counts once per class."""
    return found.label, found.box, found.component


def _measured(one: Audited, model: AuditedModel, audit: ModelAudit, images: AuditedImages) -> list[dict[str, Any]]:
    """The rows of a model in the timeline: accuracy on all images, by class, and with every fixed box covered in black."""
    right = model.logits(images.images).argmax(dim=1) == images.labels
    found = {NORMAL_SPLIT: right}
    for label in images.labels.unique().tolist():
        found[f"{NORMAL_SPLIT}_class{label}"] = right[images.labels == label]
    for number, finding in enumerate((*audit.findings, *audit.suspicions), start=1):
        if finding.box is not None:
            own = images.images[images.labels == finding.label]
            mask = mask_of(finding.box, len(own), *own.shape[-2:])
            covered = cover("black", own, mask, torch.arange(len(own)))
            split = f"{COVERED_SPLIT}_class{finding.label}_{number}"
            found[split] = model.logits(covered).argmax(dim=1) == finding.label
    fixed = {"method": one.method, "seed": one.seed, "phase": "T1", "epoch": 0.0, "loss": None}
    return [
        {**fixed, "split": split, "acc": float(values.double().mean()), "n": len(values)}
        for split, values in found.items()
    ]
