"""The plane of gaps as plain values, for the page to draw: two gaps of every method against each other."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.notation import gap_head


def plane_data(card: ShortcutsCard) -> list[dict[str, Any]]:
    """For every pair of cues: the gaps of the methods that have both, in points, with their intervals over seeds."""
    found = []
    for pair in combinations(card.cues, 2):
        points = []
        for method in card.methods:
            gaps = [card.end(method).own.gaps[cue] for cue in pair]
            means = [gap.mean for gap in gaps]
            if None not in means:
                bounds = [None if gap.ci95 is None else [100 * end for end in gap.ci95] for gap in gaps]
                points.append({"method": method, "at": [100 * (mean or 0.0) for mean in means], "bounds": bounds})
        if points:
            found.append({"heads": [gap_head(cue) for cue in pair], "cues": list(pair), "points": points})
    return found
