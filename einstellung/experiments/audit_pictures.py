"""Images that an audit keeps: those that contain a cue, and sensitivity maps of each class; plain arrays in an archive."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.cues import cover
from einstellung.probes.audit import AuditedModel
from einstellung.probes.audit.windows import grid, mask_of, side_of
from einstellung.results.audit_files import Finding, ModelAudit

MOST_FINDINGS = 6  # of a model, findings before suspicions
_MOST_SHOWN = 7  # images per finding
_MAPPED = 16  # images of a class that are occluded
_MOST_CLASSES = 16  # with a map of their own, those with findings first
_BUDGET = 0.05
_SIDE = 96  # pixels that stored pictures have at most

Arrays = dict[str, npt.NDArray[np.generic]]


def shown_findings(audit: ModelAudit) -> tuple[Finding, ...]:
    """The findings and suspicions for which images are kept."""
    return (*audit.findings, *audit.suspicions)[:MOST_FINDINGS]


def pictures_of(place: int, model: AuditedModel, audit: ModelAudit, images: Tensor, labels: Tensor) -> Arrays:
    """Of the ``place``-th model: for each finding the images that contain it, strongest first, and a map for each class."""
    arrays: Arrays = {}
    for number, found in enumerate(shown_findings(audit)):
        rows = torch.tensor([image.index for image in found.images[:_MOST_SHOWN]], dtype=torch.long)
        if len(rows):
            arrays[f"{place}_{number}_images"] = _as_pictures(images[rows])
    classes = dict.fromkeys([*(found.label for found in shown_findings(audit)), *labels.unique().tolist()])
    for label in list(classes)[:_MOST_CLASSES]:
        arrays[f"{place}_map_{label}"] = class_map(model, images[labels == label], label)
    return arrays


def class_map(model: AuditedModel, images: Tensor, label: int) -> npt.NDArray[np.float32]:
    """float32 [H, W]: the mean drop of the class probability if a window over the pixel is filled with the mean colour."""
    some = images[torch.linspace(0, len(images) - 1, min(_MAPPED, len(images))).long()]
    height, width = some.shape[-2:]
    before = model.probabilities(some)[:, label].mean()
    total, count = np.zeros((height, width)), np.zeros((height, width))
    index = torch.arange(len(some))
    for box in grid(height, width, side_of(_BUDGET, height, width)):
        occluded = cover("mean", some, mask_of(box, len(some), height, width), index)
        top, left, tall, wide = box
        total[top : top + tall, left : left + wide] += before - model.probabilities(occluded)[:, label].mean()
        count[top : top + tall, left : left + wide] += 1
    shrunk = _at_most(torch.from_numpy((total / np.maximum(count, 1)).astype(np.float32))[None, None])
    return np.asarray(shrunk[0, 0].numpy(), dtype=np.float32)


def _as_pictures(images: Tensor) -> npt.NDArray[np.generic]:
    """uint8 [N, H, W, 3]."""
    small = _at_most(images.float()).round().clamp(0, 255).to(torch.uint8)
    return np.asarray(small.expand(-1, 3, -1, -1).permute(0, 2, 3, 1).contiguous().numpy())


def _at_most(images: Tensor) -> Tensor:
    """Averaged down to at most :data:`_SIDE` pixels a side."""
    longest = max(images.shape[-2:])
    if longest <= _SIDE:
        return images
    sides = [max(1, round(side * _SIDE / longest)) for side in images.shape[-2:]]
    return F.interpolate(images, sides, mode="area")


def archive(arrays: Mapping[str, npt.NDArray[np.generic]]) -> bytes:
    """A ``.npz`` of plain arrays."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **dict(arrays))  # type: ignore[arg-type]
    return buffer.getvalue()
