"""Gaps from phase to phase: carry-over (one outlives its correlation) and trade (one shrinks while another grows).

Either is *certain* if it is beyond the margin and the 95 % interval over seeds agrees; with one seed nothing is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, permutations
from typing import Any

from einstellung.diagnoses.shortcuts.facets import Runs, pairs_with
from einstellung.diagnoses.shortcuts.gaps import EQUAL, SMALLEST_GAP, Turned, difference, trade
from einstellung.diagnoses.shortcuts.phase import WEIGHTINGS, gaps_of, turned_in
from einstellung.diagnoses.shortcuts.runs import Design, ShortcutRun
from einstellung.metrics.ratios import ratio_of_means
from einstellung.metrics.statistics import Summary, summarise, summarise_all

NO_CORRELATION = 0.5
_MEASURED_FROM = ("own", "fixed", "common")  # a cue whose correlation is gone has no value that is common in the phase


def correlation_left(correlations: Mapping[str, Sequence[float]], phases: Sequence[str], place: int) -> dict[str, str]:
    """Phases in which a cue has no correlation with the label, and the last phase before each in which it had one.

    >>> correlation_left({"T1": [0.95, 0.5], "T2": [0.5, 0.95], "T3": [0.5, 0.5]}, ["T1", "T2", "T3"], 0)
    {'T2': 'T1', 'T3': 'T1'}
    """
    found = {}
    had: str | None = None
    for phase in phases:
        if phase not in correlations:
            continue
        if abs(correlations[phase][place] - NO_CORRELATION) > EQUAL:
            had = phase
        elif had is not None:
            found[phase] = had
    return found


def carry_over(
    own: Runs,
    correlations: Mapping[str, Sequence[float]],
    margin: float,
    *,
    fresh: bool = False,
    scratch: Runs | None = None,
) -> list[dict[str, Any]]:
    r"""For every cue and phase without its correlation: the gap that is left, and its share of the gap when it was there.

    .. math:: C_k(t) = gap_k(t), \qquad share = \overline{gap_k(t)} / \overline{gap_k(t')}

    with t' the last phase before t in which the cue went with the label, or against it: uncommon is, in both, what was uncommon
    in t'. Means over seeds, Fieller's interval. The share is null unless the gap at t' is below -0.01. Of the three weightings,
    ``common`` is that of this cue alone. It is ``certain`` that the gap was carried over if at t' the whole interval of that
    gap was below -margin, and the gap left is below -margin with its interval below 0; never of a net that starts ``fresh``.
    Where there is such a net, ``scratch``, the same must hold of what is left minus what that net has, paired by seed: a gap
    that needs no history was not carried over.
    """
    every = list(own.values())
    design = every[0].design
    found = []
    for place, cue in enumerate(design.cues):
        for phase, had in correlation_left(correlations, design.phases, place).items():
            entry: dict[str, Any] = {"cue": cue, "phase": phase, "had": had}
            for weighting in _MEASURED_FROM:
                sense = _as_in(design, phase, weighting, place, had)
                left = [gaps_of(run, phase, weighting, sense)[cue] for run in every]
                beside = [
                    difference(gaps_of(run, phase, weighting, sense)[cue], gaps_of(other, phase, weighting, sense)[cue])
                    for run, other in pairs_with(own, scratch or {})
                ]
                before = [
                    gaps_of(run, had, weighting, _as_in(design, had, weighting, place, had))[cue] for run in every
                ]
                entry[weighting] = {
                    "gap": summarise(left).to_dict(),
                    "gap_before": summarise(before).to_dict(),
                    "share": ratio_of_means(left, before, below=-SMALLEST_GAP).to_dict(),
                    "minus_fresh": summarise(beside).to_dict() if beside else None,
                }
            alone = entry["common"]
            entry["certain"] = (
                not fresh
                and _below(alone["gap_before"], -margin)
                and _left(alone["gap"], margin)
                and (alone["minus_fresh"] is None or _left(alone["minus_fresh"], margin))
            )
            found.append(entry)
    return found


def _as_in(design: Design, phase: str, weighting: str, place: int, had: str) -> Turned:
    """The sense of a weighting in a phase, but of one cue that of the phase that had its correlation."""
    turned = list(turned_in(design, phase, weighting))
    turned[place] = turned_in(design, had, "own")[place]
    return tuple(turned)


def _below(gap: Mapping[str, Any], bound: float) -> bool:
    return gap["ci95"] is not None and bool(gap["ci95"][1] < bound)


def _left(gap: Mapping[str, Any], margin: float) -> bool:
    return _below(gap, 0.0) and bool(gap["mean"] < -margin)


def trades(own: Runs, baseline: Runs, margin: float, *, fresh: bool = False) -> dict[str, list[dict[str, Any]]]:
    """T of every ordered pair of cues: from each phase to the next, and within every phase from the baseline to the method.

    A trade is ``certain`` if T is above the margin and its interval above 0; never between the phases of a net that starts
    ``fresh`` in each: it had nothing to trade.
    """
    design = next(iter(own.values())).design
    between = [
        _entry(
            design,
            {"from": before, "to": after},
            [(run, before, run, after) for run in own.values()],
            float("inf") if fresh else margin,
        )
        for before, after in pairwise(design.phases)
    ]
    paired = pairs_with(own, baseline)
    beside = [
        _entry(design, {"phase": phase}, [(base, phase, run, phase) for run, base in paired], margin)
        for phase in design.phases
    ]
    return {"between_phases": between, "against_baseline": beside}


def _entry(
    design: Design, where: Mapping[str, str], moves: Sequence[tuple[ShortcutRun, str, ShortcutRun, str]], margin: float
) -> dict[str, Any]:
    """T per pair of cues over the seeds; a move goes from a run at a phase to a run at a phase."""
    entry: dict[str, Any] = dict(where)
    for weighting in WEIGHTINGS:
        ends = [
            (gaps_of(one, before, weighting), gaps_of(other, after, weighting)) for one, before, other, after in moves
        ]
        values = {
            f"{shrinks} -> {grows}": [
                trade((start[shrinks], end[shrinks]), (start[grows], end[grows])) for start, end in ends
            ]
            for shrinks, grows in permutations(design.cues, 2)
        }
        entry[weighting] = {
            name: {**summary.to_dict(), "certain": _is_trade(summary, margin)}
            for name, summary in summarise_all(values).items()
        }
    return entry


def _is_trade(found: Summary, margin: float) -> bool:
    return found.mean is not None and found.ci95 is not None and found.mean > margin and found.ci95[0] > 0
