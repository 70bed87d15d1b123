"""The extent of a cue: where the images with the cue are alike and differ from all others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy import ndimage

from einstellung.probes.audit.transplants import Ints, PredictedImages
from einstellung.probes.audit.windows import Box

_GREY_LEVELS = 4.0  # added to the spread: constant pixels have none
_FEWEST = 4


def box_of_shared_content(predicted: PredictedImages, bearing: Ints, near: Box, target: Sequence[int]) -> Box | None:
    """The box around the pixels, near a window, at which the images with the cue agree and differ from the rest.

    A pixel's score is the t statistic of its value (the largest over channels), images with the cue against images of other
    classes. Its null is the largest score among the pixels far from the window; None where nothing exceeds it.
    """
    if len(bearing) < _FEWEST:
        return None
    others = np.flatnonzero(~np.isin(predicted.labels, target))
    own, rest = (predicted.images[torch.from_numpy(rows)].double().numpy() for rows in (bearing, others))
    spread = np.sqrt((own.var(axis=0, ddof=1) + _GREY_LEVELS**2) / len(own) + rest.var(axis=0) / len(rest))
    score = np.abs((own.mean(axis=0) - rest.mean(axis=0)) / spread).max(axis=0)
    top, left, height, width = near
    rows, cols = np.ogrid[: score.shape[0], : score.shape[1]]
    margin = max(2, height // 2)
    inside = (
        (rows >= top - margin)
        & (rows < top + height + margin)
        & (cols >= left - margin)
        & (cols < left + width + margin)
    )
    far = ~inside
    threshold = float(score[far].max()) if far.any() else np.inf
    exceeding = inside & (score > max(threshold, 4.0))
    if not exceeding.any():
        return None
    parts, _ = ndimage.label(ndimage.binary_dilation(exceeding, np.ones((3, 3))))
    middle = (rows >= top) & (rows < top + height) & (cols >= left) & (cols < left + width)
    weights = np.bincount(parts[exceeding & middle], minlength=parts.max() + 1) if (exceeding & middle).any() else None
    if weights is None:
        return None
    chosen = exceeding & (parts == int(weights[1:].argmax()) + 1)
    where_rows, where_cols = np.nonzero(chosen)
    box = (int(where_rows.min()), int(where_cols.min()), int(np.ptp(where_rows)) + 1, int(np.ptp(where_cols)) + 1)
    return box if min(box[2:]) >= 2 else None
