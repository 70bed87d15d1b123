"""The relative index with found masks: the same regions covered for a model and its baseline, image by image."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from einstellung.metrics.statistics import summarise
from einstellung.probes.audit.backgrounds import BACKGROUND
from einstellung.probes.audit.components import exchanged
from einstellung.probes.audit.model import AuditedModel
from einstellung.probes.audit.transplants import Doubles, Ints, foreign_donors
from einstellung.probes.audit.windows import mask_of
from einstellung.results.audit_files import Finding, ModelAudit, RelativeRow


def relative_rows(
    model: AuditedModel,
    baseline: AuditedModel,
    images: Tensor,
    labels: Tensor,
    audit: ModelAudit,
    name: str,
    baseline_name: str,
    seed: int = 0,
) -> tuple[RelativeRow, ...]:
    """For every finding and suspicion of a model: delta of both, and their difference, SFR_rel = Delta_model - Delta_baseline.

    This is a proxy: the mask was found, not given. The interval is paired over images.
    """
    rows = []
    for finding in (*audit.findings, *audit.suspicions):
        if finding.component == BACKGROUND:  # its proxy row has the index: replacing it takes the places of objects
            continue
        own = np.flatnonzero(labels.numpy() == finding.label)
        placed = {image.index: image.box for image in finding.images}
        if finding.kind == "localised":
            own = np.array([row for row in own if placed.get(int(row)) is not None], dtype=np.int64)
        if not len(own):
            continue
        changed = _changed(finding, images, labels.numpy(), own, seed)
        one, other = (_lost(who, images, labels, own, changed) for who in (model, baseline))
        rows.append(
            RelativeRow(
                model=name,
                baseline=baseline_name,
                label=finding.label,
                mask=finding.component or finding.construction,
                area=finding.area,
                delta=float(one.mean()),
                delta_baseline=float(other.mean()),
                sfr_rel=float((one - other).mean()),
                ci95=summarise((one - other).tolist(), (-1.0, 1.0)).ci95,
                n=len(own),
            )
        )
    return tuple(rows)


def _changed(finding: Finding, images: Tensor, labels: Ints, own: Ints, seed: int) -> Tensor:
    """The class's images with the region in black, or with the component of images of other classes."""
    chosen = images[torch.from_numpy(own)]
    if finding.kind == "global" and finding.component is not None:
        donors = foreign_donors(labels, np.random.default_rng([seed, finding.label]))[own]
        return exchanged(finding.component, chosen, images[torch.from_numpy(donors)])
    placed = {image.index: image.box for image in finding.images}
    boxes = [box for row in own if (box := placed[int(row)]) is not None]
    return chosen.masked_fill(mask_of(boxes, len(chosen), *chosen.shape[-2:]), 0)


def _lost(model: AuditedModel, images: Tensor, labels: Tensor, own: Ints, changed: Tensor) -> Doubles:
    rows = torch.from_numpy(own)
    before, after = (model.logits(part).argmax(dim=1) == labels[rows] for part in (images[rows], changed))
    return np.asarray(before.double() - after.double())
