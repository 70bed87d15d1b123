"""The alarms of the data map: on images without a cue, and on those with a fixed one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.audit.intervals import shown
from benchmarks.audit.zoo import CUE_CLASS, Member, truth
from benchmarks.measuring import row
from einstellung.experiments.data_maps import predictive_windows

DRAWS = 50  # of each source
_FIRST_SEED = 1001  # no net of the zoo has seen these
_STRONG = 0.5


def data_map_rows(members: Sequence[Member]) -> list[dict[str, Any]]:
    rows = []
    total = 0
    for source in ("shapes", "cifar"):
        clean = [Member(source, None, 0.0, _FIRST_SEED + number) for number in range(DRAWS)]
        alarms = sum(bool(alarms_of(one)) for one in clean)
        total += alarms
        rows.append(
            row(f"... of them {source}: alarms of the data map", shown(alarms, DRAWS), "no target", None),
        )
    first = row(
        f"{2 * DRAWS} draws of clean images (480 each, 8 classes): alarms of the data map",
        shown(total, 2 * DRAWS),
        "at most 5 %",
        total <= 0.05 * 2 * DRAWS,
    )
    fixed = [one for one in members if one.localised and one.share >= _STRONG and one.kind and "moving" not in one.kind]
    found = sum(CUE_CLASS in alarms_of(one) for one in fixed)
    return [
        first,
        *rows,
        row(
            "fixed localised cues on 50 % and more: alarms of their class", shown(found, len(fixed)), "no target", None
        ),
    ]


def alarms_of(member: Member) -> set[int]:
    """The classes with an alarm in a net's audit images."""
    known = truth(member)
    return {one.label for one in predictive_windows(known.images, known.labels) if one.alarm}
