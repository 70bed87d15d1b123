"""Checks of twins: images measured twice, as they are and with one thing changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from einstellung.checks import Check
from einstellung.metrics.curves import TOLERANCE
from einstellung.metrics.log_checks import ROUNDING, Run
from einstellung.metrics.verdict import counted
from einstellung.timeline import Timeline

Pairs = Sequence[tuple[str, str]]  # the split of the originals, and that of their twins


def listed(items: Iterable[str], most: int = 6) -> str:
    """The first few findings of a check.

    >>> listed(["a", "b", "c"], most=2)
    'a; b and 1 more'
    """
    items = list(items)
    return "; ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")


def run_name(run: Run) -> str:
    """A run as a reader wants it."""
    return f"{run[0]} seed {run[1]}"


def twins_are_paired(timeline: Timeline, pairs: Pairs) -> Check:
    """Twins and the images they are twins of: as many of them, measured at the same moments."""
    name = "twins and their originals are measured alike"
    compared, odd = 0, []
    for run, phase, original, twin in _measured(timeline, pairs):
        curves = timeline.curves(*run, phase)
        if original not in curves or twin not in curves:
            odd.append(f"{run_name(run)}, {phase}: {twin if original in curves else original} is missing")
            continue
        compared += 1
        one, other = curves[original], curves[twin]
        if len(one.epochs) != len(other.epochs) or (np.abs(one.epochs - other.epochs) > TOLERANCE).any():
            odd.append(f"{run_name(run)}, {phase}: {twin} was measured at other epochs")
        elif (one.n != other.n)[~np.isnan(one.n) & ~np.isnan(other.n)].any():
            odd.append(f"{run_name(run)}, {phase}: {twin} holds {other.n[0]:g} images, its originals are {one.n[0]:g}")
    if not compared and not odd:
        return Check(name, None, "there are no twins in this timeline")
    return Check(name, not odd, listed(odd) or f"{counted(compared, 'pair')} of curves")


def twins_change_something(timeline: Timeline, pairs: Pairs) -> Check:
    """Equal accuracies are no fault, a net may ignore what was changed; equal losses too are the same images twice."""
    name = "twins are other images than their originals"
    judged, copies = 0, []
    for run, phase, original, twin in _measured(timeline, pairs):
        curves = timeline.curves(*run, phase)
        if original not in curves or twin not in curves:
            continue
        one, other = curves[original].loss, curves[twin].loss
        if one is None or other is None or len(one) != len(other):
            continue
        known = ~np.isnan(one) & ~np.isnan(other)
        if not known.any():
            continue
        judged += 1
        if np.isclose(one[known], other[known], rtol=ROUNDING, atol=0.0).all():
            copies.append(f"{run_name(run)}, {phase}: {twin} has every loss of {original}")
    if not judged:
        return Check(name, None, "no twins with losses in this timeline")
    return Check(name, not copies, listed(copies) or f"losses differ in {counted(judged, 'pair')} of curves")


def _measured(timeline: Timeline, pairs: Pairs) -> Iterable[tuple[Run, str, str, str]]:
    """Every pair of splits of which a run has at least one in a phase."""
    for run in timeline.runs:
        for phase in timeline.phases(*run):
            measured = timeline.curves(*run, phase)
            for original, twin in pairs:
                if original in measured or twin in measured:
                    yield run, phase, original, twin
