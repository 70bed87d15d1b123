"""Predictions for the gate from model files: pictures as they are, and the same with the cue's box covered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from einstellung.classifiers.labelled import LabelledFiles
from einstellung.cues import cover, covers
from einstellung.errors import InputError
from einstellung.experiments.audit_plans import Chosen, plan_files
from einstellung.experiments.audited_images import AuditedImages
from einstellung.experiments.audited_models import WeightsOptions, require_answers
from einstellung.gating.predictions import CLEAN, COVERED, CUE
from einstellung.probes.audit import AuditedModel
from einstellung.registry import suggestion
from einstellung.sources.found_boxes import read_found_boxes
from einstellung.sources.geometry import Box, scaled_box
from einstellung.streams.boxed import BoxedCue


@dataclass(frozen=True)
class CoveredCue:
    """Where the cue is: one ``box`` (top, left, height, width in pixels of the model's input) or an ``audit`` that found some.

    ``classes``: those that bear the cue (numbers or names); pictures of others count as clean. Empty: all. ``filling``: a cover.
    """

    box: Box | None = None
    audit: Path | None = None
    classes: tuple[str, ...] = ()
    filling: str = "black"

    def check(self) -> None:
        if (self.box is None) == (self.audit is None):
            raise InputError(
                "the cue must be covered: give --box top,left,height,width or --audit FOLDER (one of the two)"
            )
        if self.filling not in covers:
            raise InputError(f"--cover {self.filling}: {suggestion(self.filling, covers.names())}")


def predict_models(
    models: Mapping[str, str],
    files: LabelledFiles,
    options: WeightsOptions,
    cue: CoveredCue,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, pd.DataFrame]:
    """A table of predictions for every model, by its role (before, after, baseline)."""
    cue.check()
    plan = plan_files(files, list(models.values()), None, options, Chosen((), max(2, len(files))))
    images = plan.images
    boxes = _boxes(images, cue)
    region = BoxedCue(boxes).region(torch.arange(len(images)), *images.images.shape[-2:])
    bearing = region.flatten(1).any(dim=1)
    rows = bearing.nonzero().flatten()
    if not len(rows):
        raise InputError("no picture bears the cue: name classes that there are, or another --box or --audit")
    covered = cover(cue.filling, images.images[rows], region[rows], rows)
    found: dict[str, pd.DataFrame] = {}
    for done, (role, name) in enumerate(models.items()):
        on_progress(done, len(models))
        model = plan.loaders[name]()
        require_answers(model, images.images, images.labels)
        shown = [CUE if bears else CLEAN for bears in bearing.tolist()]
        found[role] = pd.concat(
            [
                _table(model, images.images, images, range(len(images)), shown),
                _table(model, covered, images, rows.tolist(), [COVERED] * len(rows)),
            ],
            ignore_index=True,
        )
    on_progress(len(models), len(models))
    return found


def _table(
    model: AuditedModel, pixels: Tensor, images: AuditedImages, rows: Sequence[int], conditions: Sequence[str]
) -> pd.DataFrame:
    probabilities = model.probabilities(pixels)
    return pd.DataFrame(
        {
            "id": [str(images.image_names[row]) for row in rows],
            "label": images.labels[list(rows)].tolist(),
            "prediction": probabilities.argmax(axis=1),
            "condition": list(conditions),
            "probability": probabilities.max(axis=1).astype("float64").clip(0, 1),
        }
    )


def _boxes(images: AuditedImages, cue: CoveredCue) -> dict[int, Box]:
    """The box of every picture that bears the cue, by its position."""
    side = int(images.images.shape[-1])
    labels = images.labels.tolist()
    wanted = set(images.of_classes(cue.classes).labels.tolist()) if cue.classes else set(labels)
    if cue.box is not None:
        top, left, height, width = cue.box
        if min(top, left) < 0 or min(height, width) < 1 or max(top + height, left + width) > side:
            raise InputError(
                f"--box {top},{left},{height},{width} does not lie within the model's input of {side} x {side} pixels"
            )
        return {row: cue.box for row, label in enumerate(labels) if label in wanted}
    assert cue.audit is not None
    found = read_found_boxes(cue.audit)
    alike = (found.height, found.width) == (side, side) and found.geometry in (None, images.geometry)
    if not alike and not all(one is None or one.whole for one in (found.geometry, images.geometry)):
        raise InputError(
            f"{cue.audit}: its boxes are for inputs of {found.height} x {found.width} pixels, the models prepare pictures "
            f"otherwise ({side} x {side}); audit one of these models"
        )
    boxes = {}
    for row, label in enumerate(labels):
        own = found.input_box(images.class_names[label], str(images.image_names[row])) if label in wanted else None
        if own is not None:
            boxes[row] = scaled_box(own, found.height, found.width, side, side)
    return boxes
