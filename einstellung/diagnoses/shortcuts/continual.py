"""Gaps from phase to phase: carry-over (one outlives its correlation) and trade (one shrinks while another grows).

Either is *certain* if it is beyond the margin and the 95 % interval over seeds agrees; with one seed nothing is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, permutations

from einstellung.diagnoses.shortcuts.card import (
    WEIGHTINGS,
    BaselineTrade,
    CarryOver,
    GapLeft,
    PhaseTrade,
    Trade,
    Trades,
    Weighting,
)
from einstellung.diagnoses.shortcuts.design import Design
from einstellung.diagnoses.shortcuts.gaps import Turned, trade
from einstellung.diagnoses.shortcuts.runs import Runs, ShortcutRun, pairs_with
from einstellung.metrics.arithmetic import difference
from einstellung.metrics.ratios import SMALLEST_GAP, ratio_of_means
from einstellung.metrics.statistics import Summary, summarise, summarise_all


def carry_over(own: Runs, margin: float, *, fresh: bool = False, scratch: Runs | None = None) -> tuple[CarryOver, ...]:
    r"""For every cue and phase without its correlation: the gap that is left, and its share of the gap when it was there.

    .. math:: C_k(t) = gap_k(t), \qquad share = \overline{gap_k(t)} / \overline{gap_k(t')}

    with t' the last phase before t in which the cue went with the label, or against it: uncommon is, in both, what was uncommon
    in t'. Means over seeds, Fieller's interval. The share is null unless the gap at t' is below -0.01. Of the three weightings,
    ``common`` is that of this cue alone. It is ``certain`` that the gap was carried over if at t' the whole interval of that
    gap was below -margin, and the gap left is below -margin with its interval below 0; never of a net that starts ``fresh``.
    Where there is such a net, ``scratch``, the same must hold of what is left minus what that net has, paired by seed: a gap
    that needs no history was not carried over.
    """
    design = next(iter(own.values())).design
    found = []
    for place, cue in enumerate(design.cues):
        for phase, had in design.correlation_left(place).items():
            # a cue whose correlation is gone has no value that is common in the phase: no fourth weighting
            common = _gap_left(own, scratch or {}, place, phase, had, "common")
            certain = (
                not fresh
                and _below(common.gap_before, -margin)
                and _is_left(common.gap, margin)
                and (common.minus_fresh is None or _is_left(common.minus_fresh, margin))
            )
            found.append(
                CarryOver(
                    cue=cue,
                    phase=phase,
                    had=had,
                    own=_gap_left(own, scratch or {}, place, phase, had, "own"),
                    fixed=_gap_left(own, scratch or {}, place, phase, had, "fixed"),
                    common=common,
                    certain=certain,
                )
            )
    return tuple(found)


def _gap_left(own: Runs, scratch: Runs, place: int, phase: str, had: str, weighting: Weighting) -> GapLeft:
    design = next(iter(own.values())).design
    cue = design.cues[place]
    now, then = (_as_in(design, moment, weighting, place, had) for moment in (phase, had))
    left = [run.gaps(phase, weighting, now)[cue] for run in own.values()]
    before = [run.gaps(had, weighting, then)[cue] for run in own.values()]
    against_fresh = [
        difference(run.gaps(phase, weighting, now)[cue], other.gaps(phase, weighting, now)[cue])
        for run, other in pairs_with(own, scratch)
    ]
    return GapLeft(
        gap=summarise(left),
        gap_before=summarise(before),
        share=ratio_of_means(left, before, below=-SMALLEST_GAP),
        minus_fresh=summarise(against_fresh) if against_fresh else None,
    )


def _as_in(design: Design, phase: str, weighting: Weighting, place: int, had: str) -> Turned:
    """The sense of a weighting in a phase, but of one cue that of the phase that had its correlation."""
    turned = list(design.turned_in(phase, weighting))
    turned[place] = design.turned_in(had, "own")[place]
    return tuple(turned)


def _below(gap: Summary, bound: float) -> bool:
    return gap.ci95 is not None and gap.ci95[1] < bound


def _is_left(gap: Summary, margin: float) -> bool:
    return _below(gap, 0.0) and gap.mean is not None and gap.mean < -margin


def trades(own: Runs, baseline: Runs, margin: float, *, fresh: bool = False) -> Trades:
    """T of every ordered pair of cues: from each phase to the next, and within every phase from the baseline to the method.

    A trade is ``certain`` if T is above the margin and its interval above 0; never between the phases of a net that starts
    ``fresh`` in each: it had nothing to trade.
    """
    design = next(iter(own.values())).design
    between = [
        PhaseTrade(
            before=before,
            after=after,
            **_traded(
                design,
                [(run, before, run, after) for run in own.values()],
                float("inf") if fresh else margin,
            ),
        )
        for before, after in pairwise(design.phases)
    ]
    paired = pairs_with(own, baseline)
    against = [
        BaselineTrade(phase=phase, **_traded(design, [(base, phase, run, phase) for run, base in paired], margin))
        for phase in design.phases
    ]
    return Trades(between_phases=tuple(between), against_baseline=tuple(against))


def _traded(
    design: Design, moves: Sequence[tuple[ShortcutRun, str, ShortcutRun, str]], margin: float
) -> dict[Weighting, Mapping[str, Trade]]:
    """T per pair of cues over the seeds, in every weighting; a move goes from a run at a phase to a run at a phase."""
    found: dict[Weighting, Mapping[str, Trade]] = {}
    for weighting in WEIGHTINGS:
        ends = [(one.gaps(before, weighting), other.gaps(after, weighting)) for one, before, other, after in moves]
        values = {
            f"{shrinks} -> {grows}": [
                trade((start[shrinks], end[shrinks]), (start[grows], end[grows])) for start, end in ends
            ]
            for shrinks, grows in permutations(design.cues, 2)
        }
        found[weighting] = {
            name: Trade(**vars(summary), certain=_is_trade(summary, margin))
            for name, summary in summarise_all(values).items()
        }
    return found


def _is_trade(found: Summary, margin: float) -> bool:
    return found.mean is not None and found.ci95 is not None and found.mean > margin and found.ci95[0] > 0
