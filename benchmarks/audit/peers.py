"""Baselines on the same nets, given the class with the cue: plain occlusion and attribution.

Ours average the maps of a class's images and point at the best window. Captum's methods are also run as they come: single images
with the cue, their own defaults, and the pixel with the largest attribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.audit.cues import KINDS
from benchmarks.audit.results import Result
from benchmarks.audit.zoo import net_of, normalised, truth
from benchmarks.measuring import row
from einstellung.probes.audit import AuditedModel
from einstellung.probes.audit.proxies import ImportanceMaps, attribution_maps, occlusion_maps
from einstellung.probes.audit.transplants import PredictedImages
from einstellung.probes.audit.windows import Box, grid

Point = tuple[float, float]
_SIDE = 5


_IMAGES = 10  # with the cue, of each net, for captum's methods
OF_CLASS = ("plain occlusion", "plain integrated gradients")
AS_THEY_COME = (
    "captum's Occlusion as it comes (window 5x5, stride 1, baseline 0)",
    "captum's IntegratedGradients as it comes (50 steps, baseline 0)",
)


def peer_rows(results: Sequence[Result], where: Path) -> list[dict[str, Any]]:
    """The pointing game of the most important place in images of the cue's class; no baseline detects whether there is a cue."""
    own = [
        one
        for one in results
        if one.member.localised
        and one.member.share >= 0.5
        and one.member.kind
        and KINDS[one.member.kind].held_out
        and "moving" not in one.member.kind
        and one.cues[0].used
    ]
    hits: dict[str, list[float]] = {name: [] for name in (*OF_CLASS, *AS_THEY_COME)}
    ours = [place is not None and place[2].pointing > 0.5 for one in own for place in one.places[:1]]
    for one in own:
        known, model = truth(one.member), AuditedModel(one.member.name, net_of(one.member, where), normalised)
        predicted, draws = PredictedImages.of(model, known.images, known.labels.numpy()), np.random.default_rng(0)
        box = next(iter(one.cues[0].boxes.values()))
        assert known.cue_class is not None
        occluded = occlusion_maps(predicted, _SIDE, draws)
        attributed = attribution_maps(predicted, "integrated gradients", draws)
        assert attributed is not None
        for name, maps in zip(OF_CLASS, (occluded, attributed), strict=True):
            hits[name].append(_inside(_middle(maps, known.cue_class), box))
        bearing = known.images[known.bears[0].nonzero().flatten()[:_IMAGES]]
        for name, points in zip(AS_THEY_COME, captum_points(model, bearing, known.cue_class), strict=True):
            hits[name].append(float(np.mean([_inside(point, box) for point in points])))
    first = row(
        f"ours, not told the class: pointing game, {len(own)} nets that use a fixed cue of a held-out kind (a miss counts)",
        f"{np.mean(ours):.3f}",
        "no target",
        None,
    )
    return [first] + [
        row(
            f"{name}, told the class{'' if name in OF_CLASS else ' and the images'}: pointing game, {len(found)} nets that use "
            f"a fixed cue",
            f"{np.mean(found):.3f}",
            "no target",
            None,
        )
        for name, found in hits.items()
        if found
    ]


def captum_points(model: AuditedModel, images: Tensor, label: int) -> tuple[list[Point], list[Point]]:
    """The pixel with the largest absolute attribution of the label's logit, image by image: Occlusion, IntegratedGradients."""
    from captum.attr import IntegratedGradients, Occlusion

    occlusion, gradients = Occlusion(model.forward), IntegratedGradients(model.forward)
    found: tuple[list[Point], list[Point]] = ([], [])
    for image in images.split(1):
        inputs = model.prepare(image).contiguous()
        window = (inputs.shape[1], _SIDE, _SIDE)
        with torch.no_grad():
            occluded = occlusion.attribute(inputs, sliding_window_shapes=window, target=label)
        attributed = gradients.attribute(inputs, target=label)
        for points, values in zip(found, (occluded, attributed), strict=True):
            importance = values.detach().abs().sum(dim=1)[0]
            points.append(divmod(int(importance.argmax()), importance.shape[1]))
    return found


def _inside(point: Point, box: Box) -> bool:
    return box[0] <= point[0] < box[0] + box[2] and box[1] <= point[1] < box[1] + box[3]


def _middle(maps: ImportanceMaps, label: int) -> Point:
    """The centre of the window with the largest importance."""
    importance = maps.maps[label]
    windows = grid(*importance.shape, _SIDE, per_side=28)
    sums = [importance[top : top + tall, left : left + wide].sum() for top, left, tall, wide in windows]
    top, left, tall, wide = windows[int(np.argmax(sums))]
    return top + (tall - 1) / 2, left + (wide - 1) / 2
