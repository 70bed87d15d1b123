"""The test of backgrounds (where objects are known): how often it accuses a clean net, and how often it finds a background.

Nets of two animals on two kinds of scene; the test images of each draw are new composites of held-out photographs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.audit.intervals import shown
from benchmarks.audit.pictures import BACKGROUND, CUE_CLASS, Pictured, animals, composites, pictured_net
from benchmarks.audit.zoo import normalised
from benchmarks.measuring import row
from einstellung.composites.build import PHOTOGRAPHS
from einstellung.composites.source_folders import has_folder
from einstellung.files import write_text
from einstellung.metrics.proportions import paired_difference_interval
from einstellung.probes.audit import AuditedModel, AuditSettings, audit_model
from einstellung.probes.audit.audit import ALARM_RATE
from einstellung.probes.audit.backgrounds import BACKGROUND as COMPONENT
from einstellung.probes.audit.windows import mask_of
from einstellung.results.audit_files import ModelAudit

CLEAN, EACH = 100, 8
SHARES = (0.8, 0.95, 1.0)  # of class 1 on the common scene
DRAWS = 10  # of the composites
_NO_PROXIES = AuditSettings(proxies=())


@dataclass(frozen=True)
class Outcome:
    """``can_tell``: the net is better than the most frequent class; ``suspected``: the classes whose background is suspected.

    ``delta``: accuracy that class 1 loses when the scene is exchanged (None: clean); ``used``: its interval is above 0.
    """

    member: Pictured
    can_tell: bool
    suspected: frozenset[int]
    delta: float | None
    used: bool


def members() -> list[Pictured]:
    clean = [Pictured(BACKGROUND, 500 + number, draw=number % DRAWS) for number in range(CLEAN)]
    cued = [
        Pictured(BACKGROUND, 700 + EACH * place + number, share, draw=number % DRAWS)
        for place, share in enumerate(SHARES)
        for number in range(EACH)
    ]
    return clean + cued


def outcome(member: Pictured, folder: Path) -> Outcome:
    """The audit of a net with the places of its objects; trained and audited once."""
    pictures = animals(member)
    model = AuditedModel(member.name, pictured_net(member, folder), normalised)
    file = folder / "audits" / f"{member.name}-objects-draw{member.draw}.json"
    if not file.exists():
        audit = audit_model(model, *pictures.audit, {}, _NO_PROXIES, everything=True, objects=_objects(member.draw))
        write_text(file, audit.model_dump_json(by_alias=True))
    audit = ModelAudit.model_validate_json(file.read_text())
    delta, used = None, False
    if pictures.twins is not None:
        before, after = (
            model.logits(some).argmax(dim=1) == CUE_CLASS for some in (pictures.twins.images, pictures.twins.without)
        )
        lost, won = int((before & ~after).sum()), int((~before & after).sum())
        delta, used = (lost - won) / len(before), paired_difference_interval(lost, won, len(before))[0] > 0
    return Outcome(member, audit.cannot_tell is None, suspected(audit), delta, used)


def suspected(audit: ModelAudit) -> frozenset[int]:
    """The classes whose background is a finding or a suspicion."""
    candidates = (*audit.findings, *audit.suspicions)
    return frozenset(
        one.label for one in candidates if one.component == COMPONENT and one.p <= ALARM_RATE and one.beats.count > 0
    )


@cache
def _objects(draw: int) -> Tensor:
    """bool [N, 1, H, W]: the boxes of the animals in the test images."""
    table = composites(draw)
    rows = table.rows("test")
    shape = table.images(rows[:1]).images.shape[-2:]
    boxes = table.layers.target_boxes(table.parts.targets[rows]).tolist()
    return mask_of([(top, left, bottom - top, right - left) for top, left, bottom, right in boxes], len(rows), *shape)


def background_rows(folder: Path) -> list[dict[str, Any]]:
    words = "the background, where objects are known"
    if not has_folder(PHOTOGRAPHS):
        return [row(words, f"skipped: {PHOTOGRAPHS} is not there", "no target", None)]
    torch.set_num_threads(1)
    return summary([outcome(member, folder) for member in members()])


def summary(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """The rate of alarms on clean nets, and of backgrounds found, for nets about which the audit can tell anything."""
    judged = [one for one in outcomes if one.can_tell]
    clean = [one for one in judged if one.member.clean]
    alarms = sum(bool(one.suspected) for one in clean)
    rows = [
        row(
            "the background, where objects are known: clean nets with a suspicion",
            f"{shown(alarms, len(clean))}; cannot tell: {len(outcomes) - len(judged)} of all {len(outcomes)} nets",
            "at most 5 %",
            alarms <= ALARM_RATE * len(clean),
        )
    ]
    for share in SHARES:
        own = [one for one in judged if one.member.share == share and one.delta is not None]
        if not own:
            continue
        used = [one for one in own if one.used]
        worth = sorted(100 * one.delta for one in own if one.delta is not None)
        rows.append(
            row(
                f"... suspected, {100 * share:.0f} % of a class on one scene",
                f"{shown(sum(CUE_CLASS in one.suspected for one in used), len(used))} of the nets that use it "
                f"(worth {worth[0]:.0f} to {worth[-1]:.0f} points)",
                "no target",
                None,
            )
        )
    return rows
