"""Baselines: plain occlusion and plain attribution on the same nets, given the class with the cue."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.audit.cues import KINDS
from benchmarks.audit.results import Result
from benchmarks.audit.zoo import net_of, normalised, truth
from benchmarks.measuring import row
from einstellung.probes.audit import AuditedModel
from einstellung.probes.audit.proxies import ImportanceMaps, attribution_maps, occlusion_maps
from einstellung.probes.audit.transplants import PredictedImages
from einstellung.probes.audit.windows import grid

_SIDE = 5


def peer_rows(results: Sequence[Result], where: Path) -> list[dict[str, Any]]:
    """The pointing game of the most important window of the cue's class; neither baseline detects whether there is a cue."""
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
    hits: dict[str, list[bool]] = {"plain occlusion": [], "plain integrated gradients": []}
    ours = [place is not None and place[2].pointing > 0.5 for one in own for place in one.places[:1]]
    for one in own:
        known, model = truth(one.member), AuditedModel(one.member.name, net_of(one.member, where), normalised)
        predicted, draws = PredictedImages.of(model, known.images, known.labels.numpy()), np.random.default_rng(0)
        box = next(iter(one.cues[0].boxes.values()))
        assert known.cue_class is not None
        for name, maps in (
            ("plain occlusion", occlusion_maps(predicted, _SIDE, draws)),
            ("plain integrated gradients", attribution_maps(predicted, "integrated gradients", draws)),
        ):
            row_, col = _middle(maps, known.cue_class)
            hits[name].append(box[0] <= row_ < box[0] + box[2] and box[1] <= col < box[1] + box[3])
    first = row(
        f"ours, not told the class: pointing game, {len(own)} nets that use a fixed cue of a held-out kind (a miss counts)",
        f"{np.mean(ours):.3f}",
        "no target",
        None,
    )
    return [first] + [
        row(
            f"{name}, told the class: pointing game, {len(found)} nets that use a fixed cue",
            f"{np.mean(found):.3f}",
            "no target",
            None,
        )
        for name, found in hits.items()
        if found
    ]


def _middle(maps: ImportanceMaps, label: int) -> tuple[float, float]:
    """The centre of the window with the largest importance."""
    importance = maps.maps[label]
    windows = grid(*importance.shape, _SIDE, per_side=28)
    sums = [importance[top : top + tall, left : left + wide].sum() for top, left, tall, wide in windows]
    top, left, tall, wide = windows[int(np.argmax(sums))]
    return top + (tall - 1) / 2, left + (wide - 1) / 2
