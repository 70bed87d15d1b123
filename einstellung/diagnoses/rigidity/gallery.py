"""Individual test images with each run's predictions, with the cue and with it covered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.metrics.image_pairs import RunPredictions
from einstellung.report.pictures import PictureRow, png_uri, read_samples
from einstellung.timeline import SC_MASK, SC_PATCH

_VARIANTS = ("original", "patched", "masked")
_LABELS = {"original": "original", "patched": "with cue", "masked": "covered"}
_SPLITS = {"patched": SC_PATCH, "masked": SC_MASK}


def picture_rows(evidence: Evidence) -> list[PictureRow]:
    """The strip of the first screen; a cue that was in the pictures already has no original. Texts and series have none."""
    samples = {name: some for name, some in _samples(evidence).items() if some.dtype == np.uint8}
    return [PictureRow(_LABELS[name], samples[name]) for name in _VARIANTS if name in samples and len(samples[name])]


def make_gallery(evidence: Evidence, card: RigidityCard) -> dict[str, Any] | None:
    """Images, their classes, and the predictions of every run for them; None where images or predictions are not stored."""
    samples = _samples(evidence)
    if "gallery_index" not in samples:
        return None
    index, labels = samples["gallery_index"].tolist(), samples["gallery_labels"].tolist()
    found, _ = evidence.runs.predictions(last=card.final == "last")
    runs = [
        {"method": method, "seed": str(seed), **{name: _said(own, name, index) for name in _SPLITS}}
        for (method, seed), own in found.items()
        if method in card.methods
    ]
    if not any(said is not None for run in runs for said in run["patched"]):
        return None
    pictures = {name: samples[f"gallery_{name}"] for name in _VARIANTS if f"gallery_{name}" in samples}
    return {
        "variants": [[name, _LABELS[name]] for name in pictures],
        "classes": [str(name) for name in samples["class_names"]],
        "images": [
            {"index": index[at], "label": labels[at], "src": [png_uri(images[at]) for images in pictures.values()]}
            for at in range(len(index))
        ],
        "runs": runs,
    }


def _samples(evidence: Evidence) -> Mapping[str, np.ndarray]:
    path = evidence.runs.samples
    return read_samples(path) if path is not None else {}


def _said(run: RunPredictions, variant: str, index: list[int]) -> list[int | None]:
    """The predictions for these images, in their order."""
    if (rows := run.get(_SPLITS[variant])) is None:
        return [None] * len(index)
    said = dict(zip(rows.index.tolist(), rows.prediction.tolist(), strict=True))
    return [said.get(one) for one in index]
