"""Pictures that an audit keeps: the images that bear a cue, and where each class is sensitive; plain arrays in an archive."""

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
_MAPPED = 24  # images of a class that are occluded
_BUDGET = 0.05
_SIDE = 96  # pixels that stored pictures have at most

Arrays = dict[str, npt.NDArray[np.generic]]


def shown_findings(audit: ModelAudit) -> tuple[Finding, ...]:
    """The findings and suspicions that pictures are kept of."""
    return (*audit.findings, *audit.suspicions)[:MOST_FINDINGS]


def pictures_of(place: int, model: AuditedModel, audit: ModelAudit, images: Tensor, labels: Tensor) -> Arrays:
    """Of the ``place``-th model, by finding: the images that bear it, most bearing first, and its class's map."""
    arrays: Arrays = {}
    maps: dict[int, npt.NDArray[np.generic]] = {}
    for number, found in enumerate(shown_findings(audit)):
        rows = torch.tensor([image.index for image in found.images[:_MOST_SHOWN]], dtype=torch.long)
        if len(rows):
            arrays[f"{place}_{number}_images"] = _as_pictures(images[rows])
        if found.label not in maps:
            maps[found.label] = class_map(model, images[labels == found.label], found.label)
        arrays[f"{place}_{number}_map"] = maps[found.label]
    return arrays


def class_map(model: AuditedModel, images: Tensor, label: int) -> npt.NDArray[np.float32]:
    """float32 [H, W]: what the probability of the class loses, on average, where a window over the pixel has the mean colour."""
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
