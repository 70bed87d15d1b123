"""Compute the null from the candidates of clean nets, and findings from the null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from benchmarks.audit.zoo import Member, Truth
from einstellung.metrics.proportions import paired_difference_interval
from einstellung.probes.audit.audit import DATA_ALONE, ROUTES, Null, unusual
from einstellung.probes.audit.model import AuditedModel
from einstellung.probes.audit.windows import Box, iou
from einstellung.results.audit_files import Finding, ModelAudit

_SCALED_AT = 0.9  # quantile of a route's strongest candidates that is 1 on the common scale
_SMALLEST_SCALE = 1.0


def route_of(candidate: Finding) -> str:
    if candidate.kind == "global":
        return "global"
    return "moving" if candidate.moves else "recurring" if DATA_ALONE in candidate.found_by else "fixed"


def candidates_of(audit: ModelAudit) -> list[Finding]:
    return [*audit.findings, *audit.suspicions]


def null_of(clean: Sequence[ModelAudit]) -> Null:
    """The null of clean nets' audits that kept everything."""
    by_route = {route: [_strongest(candidates_of(audit), route) for audit in clean] for route in ROUTES}
    scale = {
        route: round(max(float(np.quantile(values, _SCALED_AT)), _SMALLEST_SCALE), 4)
        for route, values in by_route.items()
    }
    largest = [max(by_route[route][net] / scale[route] for route in ROUTES) for net in range(len(clean))]
    return Null(scale, tuple(sorted(round(one, 4) for one in largest)))


def _strongest(candidates: Sequence[Finding], route: str) -> float:
    own = [one.strength for one in candidates if route_of(one) == route and one.beats.count == 3]
    return max([0.0, *own])


def judged(audit: ModelAudit, null: Null) -> tuple[list[Finding], list[Finding]]:
    """Findings and suspicions by this null."""
    renewed = [
        one.model_copy(
            update={
                "p": null.p(route_of(one), one.strength),
                "threshold": null.threshold(route_of(one)),
            }
        )
        for one in candidates_of(audit)
    ]
    kept = unusual(renewed)
    return [one for one in kept if one.beats.count == 3], [one for one in kept if one.beats.count < 3]


@dataclass(frozen=True)
class TrueCue:
    """The ground truth of one cue of a net: its delta on the class's images with an interval, and which images have it where."""

    delta: float
    ci95: tuple[float, float]
    bears: np.ndarray
    boxes: Mapping[int, Box]

    @property
    def used(self) -> bool:
        """Whether the net's accuracy depends on it."""
        return self.ci95[0] > 0


def true_cues(member: Member, truth: Truth, model: AuditedModel) -> list[TrueCue]:
    if truth.cue_class is None:
        return []
    own = (truth.labels == truth.cue_class).nonzero().flatten()
    before = model.logits(truth.images[own]).argmax(dim=1) == truth.cue_class
    found = []
    for bears, regions, covered in zip(truth.bears, truth.regions, truth.covered, strict=True):
        after = model.logits(covered[own]).argmax(dim=1) == truth.cue_class
        lost, won = int((before & ~after).sum()), int((~before & after).sum())
        boxes = {int(row): _box(regions[row, 0]) for row in bears.nonzero().flatten()} if member.localised else {}
        interval = paired_difference_interval(lost, won, len(own))
        found.append(TrueCue((lost - won) / len(own), interval, bears.numpy(), boxes))
    return found


def _box(region: torch.Tensor) -> Box:
    rows, cols = region.nonzero(as_tuple=True)
    top, left = int(rows.min()), int(cols.min())
    return (top, left, int(rows.max()) - top + 1, int(cols.max()) - left + 1)


@dataclass(frozen=True)
class Located:
    """How well a finding's place and ranking agree with the truth; None where it does not apply."""

    pointing: float
    iou: float | None
    average_precision: float | None


def located(finding: Finding, cue: TrueCue) -> Located:
    """The pointing game (is the box's centre inside the cue?), the IoU of a fixed box, and the ranking's average precision."""
    shown = [image for image in finding.images if cue.bears[image.index] and image.box is not None]
    hits = [_inside(image.box, cue.boxes[image.index]) for image in shown if image.box is not None]
    overlap = None
    if finding.box is not None and cue.boxes:
        overlap = float(np.mean([iou(finding.box, box) for box in cue.boxes.values()]))
    relevant = np.array([bool(cue.bears[image.index]) for image in finding.images])
    precision = None
    if relevant.any() and not relevant.all():
        ranks = np.flatnonzero(relevant) + 1
        precision = float((np.arange(1, len(ranks) + 1) / ranks).mean())
    return Located(float(np.mean(hits)) if hits else 0.0, overlap, precision)


def _inside(box: Box, cue: Box) -> bool:
    row, col = box[0] + (box[2] - 1) / 2, box[1] + (box[3] - 1) / 2
    return cue[0] - 0.5 <= row <= cue[0] + cue[2] - 0.5 and cue[1] - 0.5 <= col <= cue[1] + cue[3] - 0.5
