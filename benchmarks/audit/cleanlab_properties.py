"""cleanlab's image properties beside ours: does one property of the images (dark, light, blurry, ...) predict the labels?

No model is used. As it comes, the score is of all labels at once; ``given the class``, of the class with the cue against as many
images of others. Properties below 0.3, cleanlab's default, count as reported.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from benchmarks.audit.cues import KINDS
from benchmarks.audit.zoo import CUE_CLASS, Member, truth
from benchmarks.measuring import row

_REPORTED = 0.3
_STRONG = 0.8
_MOST = 10  # data sets of a kind


def cleanlab_missing() -> str | None:
    try:
        import cleanlab.datalab.internal.spurious_correlation  # noqa: F401
        import cleanvision.imagelab  # noqa: F401
    except (ImportError, RuntimeError) as error:
        return f"not measured: {error}; pip install 'cleanlab[image]'"
    return None


def cleanlab_rows(members: Sequence[Member]) -> list[dict[str, Any]]:
    """How many data sets of each kind have a reported property."""
    if missing := cleanlab_missing():
        return [row("cleanlab's image properties", missing, "no target", None)]
    rows = []
    for kind in [None, *KINDS]:
        own = [one for one in members if one.kind == kind and not one.second and (one.share >= _STRONG or kind is None)]
        own = own[:_MOST]
        reported = [reported_properties(one) for one in own]
        plain, given = (sum(one[place] for one in reported) for place in (0, 1))
        images = f"'{kind}' on 80 % and more" if kind else "clean images"
        rows.append(
            row(
                f"cleanlab's image properties, {images}: data sets with one that predicts the labels",
                f"{plain} of {len(own)}; given the class, {given} of {len(own)}",
                "no target",
                None,
            )
        )
    return rows


def reported_properties(member: Member) -> tuple[bool, bool]:
    """Whether any property is reported: for all labels, and for the cue's class against others."""
    known = truth(member)
    scores = property_scores(known.images)
    own, others = ((known.labels == CUE_CLASS) == which for which in (True, False))
    rest = others.nonzero().flatten()
    rows = torch.cat([own.nonzero().flatten(), rest[torch.linspace(0, len(rest) - 1, int(own.sum())).long()]]).numpy()
    labels = known.labels.numpy()
    return _any(scores, labels), _any(scores.iloc[rows], (labels[rows] == CUE_CLASS).astype(np.int64))


def property_scores(images: Tensor) -> pd.DataFrame:
    """cleanvision's score of every property that differs between images."""
    from cleanvision.imagelab import Imagelab
    from PIL import Image

    with TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        files = [str(Path(folder) / f"{number:05d}.png") for number in range(len(images))]
        for file, image in zip(files, images, strict=True):
            Image.fromarray(image.permute(1, 2, 0).numpy()).save(file)
        lab = Imagelab(filepaths=files)
        lab.find_issues(n_jobs=1, verbose=False)
        scores = lab.issues.loc[files]
    return scores[[name for name in scores if name.endswith("_score") and scores[name].nunique() > 1]]


def _any(scores: pd.DataFrame, labels: np.ndarray) -> bool:
    from cleanlab.datalab.internal.spurious_correlation import SpuriousCorrelations

    found = SpuriousCorrelations(scores, labels).calculate_correlations()
    return bool((found["score"] < _REPORTED).any())
