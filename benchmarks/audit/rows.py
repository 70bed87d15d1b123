"""The rows of the benchmark: how often clean nets are accused, and what is found of each kind of cue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.audit.cues import GLOBAL, KINDS
from benchmarks.audit.intervals import shown
from benchmarks.audit.nets import RESNET
from benchmarks.audit.results import Result
from benchmarks.audit.zoo import CUE_CLASS, Member
from benchmarks.measuring import row

_STRONG = 0.5  # share of the class's images from which a cue counts


def alarm_rows(alarms: Mapping[Member, bool], histories: Sequence[bool]) -> list[dict[str, Any]]:
    """``alarms``: of clean nets, each by the null of all others; ``histories``: of nets that make no part of the null."""
    everyone = [*alarms.values(), *histories]
    rows = [
        row(
            "clean nets accused (any finding) by a null that they did not make",
            shown(sum(everyone), len(everyone)),
            "at most 5 %",
            sum(everyone) <= 0.05 * len(everyone),
        ),
    ]
    return [*rows, *_by_kind_of_net(alarms, histories)]


def suspicion_rows(suspected: Mapping[Member, bool], histories: Sequence[bool]) -> list[dict[str, Any]]:
    """The same for suspicions, which beat one or two of the three controls."""
    everyone = [*suspected.values(), *histories]
    first = row(
        "clean nets suspected (any suspicion) by a null that they did not make",
        shown(sum(everyone), len(everyone)),
        "no target",
        None,
    )
    return [first, *_by_kind_of_net(suspected, histories)]


def _by_kind_of_net(accused: Mapping[Member, bool], histories: Sequence[bool]) -> list[dict[str, Any]]:
    return [
        row(f"... of them {words}", shown(sum(own), len(own)), "no target", None)
        for words, own in (
            ("small convolutional nets", [one for member, one in accused.items() if member.net != RESNET]),
            ("ResNet-18 of width 8", [one for member, one in accused.items() if member.net == RESNET]),
            ("nets with a history (scratch, sgd, derpp)", histories),
        )
    ]


def found_rows(results: Sequence[Result]) -> list[dict[str, Any]]:
    rows = []
    alone = [one for one in results if one.member.localised and not one.member.second]
    strong = [one for one in alone if one.member.share >= _STRONG]
    for name, held_out in (("held-out kinds", True), ("kinds it was built with", False)):
        own = [one for one in strong if one.member.kind and KINDS[one.member.kind].held_out == held_out]
        rows += _localised_rows(own, name)
    for points in (20, 10):
        worth = [one for one in alone if one.cues[0].delta >= points / 100]
        rows.append(
            row(
                f"localised cues worth {points} points of accuracy or more, all kinds: found",
                shown(found(worth), len(worth)),
                "no target",
                None,
            )
        )
    two = [one for one in results if one.member.second]
    rows.append(_both(two, "two patches on one class: both found", 0.8))
    rows.append(_both([one for one in two if all(cue.used for cue in one.cues)], "... of nets that use both", None))
    weak = [one for one in alone if one.member.share < _STRONG]
    rows.append(
        row("localised cues on 20 % of the class's images: found", shown(found(weak), len(weak)), "no target", None)
    )
    for kind in (name for name, one in KINDS.items() if one.extent == GLOBAL):
        own = [one for one in results if one.member.kind == kind and one.member.share >= _STRONG]
        hits = [one for one in own if any(finding.label == CUE_CLASS for finding in one.findings)]
        using = [one for one in own if one.cues[0].used]
        rows.append(
            row(
                f"global cue '{kind}' on 50 % and more: found",
                f"{shown(len(hits), len(own))}; {sum(one in hits for one in using)} of the {len(using)} nets that use it",
                "no target",
                None,
            )
        )
    cued = [one for one in results if one.member.kind]
    others = sum(any(finding.label != CUE_CLASS for finding in one.findings) for one in cued)
    rows.append(row("nets with a cue: another class accused", shown(others, len(cued)), "no target", None))
    return rows


def _both(two: Sequence[Result], words: str, target: float | None) -> dict[str, Any]:
    both = sum(all(place is not None for place in one.places) for one in two)
    if target is None:
        return row(words, shown(both, len(two)), "no target", None)
    return row(words, shown(both, len(two)), f"at least {100 * target:.0f} %", both >= target * len(two))


def found(results: Sequence[Result]) -> int:
    """How many nets' (first) cue has a finding at its place."""
    return sum(one.places[0] is not None for one in results)


def _localised_rows(own: Sequence[Result], name: str) -> list[dict[str, Any]]:
    using = [one for one in own if one.cues[0].used]
    target = name.startswith("held-out")
    places = [place for one in own if (place := one.places[0]) is not None]
    overlaps = [where.iou for _, _, where in places if where.iou is not None]
    rankings = [where.average_precision for _, _, where in places if where.average_precision is not None]
    errors = [abs(found.delta - cue.delta) for cue, found, _ in places]

    def goal(words: str) -> str:
        return words if target else "no target"

    def reached(good: bool | np.bool_) -> bool | None:
        return bool(good) if target else None

    return [
        row(
            f"localised cues on 50 % and more, {name}: found",
            shown(found(own), len(own)),
            goal("at least 90 %"),
            reached(found(own) >= 0.9 * len(own)),
        ),
        row(
            "... of nets whose accuracy depends on the cue",
            shown(found(using), len(using)),
            goal("at least 90 %"),
            reached(found(using) >= 0.9 * len(using)),
        ),
        row(
            "... pointing game, mean over found",
            f"{np.mean([where.pointing for _, _, where in places]):.3f}",
            goal("at least .9"),
            reached(np.mean([where.pointing for _, _, where in places]) >= 0.9),
        ),
        row(
            "... IoU of the box, mean over fixed",
            f"{np.mean(overlaps):.3f}",
            goal("at least .5"),
            reached(np.mean(overlaps) >= 0.5),
        ),
        row(
            "... average precision of the ranking of images, mean",
            f"{np.mean(rankings):.3f}",
            goal("at least .9"),
            reached(np.mean(rankings) >= 0.9),
        ),
        row(
            "... |proxy delta - true delta|, median",
            f"{np.median(errors):.3f}",
            goal("at most .1"),
            reached(np.median(errors) <= 0.1),
        ),
    ]
