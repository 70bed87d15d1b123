"""What plain occlusion and plain attribution, as they come, point at in the same nets; told which class to look at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.audit.cues import KINDS
from benchmarks.audit.zoo import net_of, normalised, truth
from benchmarks.measuring import row
from einstellung.probes.audit import AuditedModel
from einstellung.probes.audit.proxies import ImportanceMaps, attribution_maps, occlusion_maps
from einstellung.probes.audit.transplants import Looked
from einstellung.probes.audit.windows import grid

if TYPE_CHECKING:
    from benchmarks.audit import Result

_SIDE = 5


def peer_rows(results: Sequence[Result], where: Path) -> list[dict[str, Any]]:
    """The pointing game of the most important window of the cue's class; neither says whether there is a cue at all."""
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
    for one in own:
        known, model = truth(one.member), AuditedModel(one.member.name, net_of(one.member, where), normalised)
        looked, draws = Looked.at(model, known.images, known.labels.numpy()), np.random.default_rng(0)
        box = next(iter(one.cues[0].boxes.values()))
        assert known.cue_class is not None
        for name, maps in (
            ("plain occlusion", occlusion_maps(looked, _SIDE, draws)),
            ("plain integrated gradients", attribution_maps(looked, "integrated gradients", draws)),
        ):
            row_, col = _middle(maps, known.cue_class)
            hits[name].append(box[0] <= row_ < box[0] + box[2] and box[1] <= col < box[1] + box[3])
    return [
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
    """The middle of the window with the largest importance."""
    importance = maps.maps[label]
    windows = grid(*importance.shape, _SIDE, per_side=28)
    sums = [importance[top : top + tall, left : left + wide].sum() for top, left, tall, wide in windows]
    top, left, tall, wide = windows[int(np.argmax(sums))]
    return top + (tall - 1) / 2, left + (wide - 1) / 2
