"""From phase to phase: carry-over (reliance on a cue outlives its correlation) and trade (one reliance shrinks, another grows).

Either is judged by twins or by main effects, as verdicts are, and *certain* if it is beyond the margin, its 95 % interval over
seeds agrees, and p is at most .05 after Holm's correction over methods, with at least three seeds. Gaps stand beside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, permutations

from einstellung.diagnoses.shortcuts.card import BaselineTrade, CarryOver, GapLeft, PhaseTrade, RelianceLeft, Trades
from einstellung.diagnoses.shortcuts.certainty import holm_over, why_uncertain
from einstellung.diagnoses.shortcuts.design import Design
from einstellung.diagnoses.shortcuts.estimates import WEIGHTINGS, Basis, Trade, Weighting
from einstellung.diagnoses.shortcuts.gaps import Turned, trade
from einstellung.diagnoses.shortcuts.reliance import find_basis, reliance
from einstellung.diagnoses.shortcuts.runs import Runs, ShortcutRun, pairs_with
from einstellung.metrics.arithmetic import difference
from einstellung.metrics.ratios import SMALLEST_GAP, ratio_of_means
from einstellung.metrics.statistics import Summary, paired_t_test, summarise, summarise_all

#: From a run at a phase to a run at a phase.
Move = tuple[ShortcutRun, str, ShortcutRun, str]


def carry_overs(
    runs: Mapping[str, Runs], design: Design, margin: float, scratch: str | None
) -> dict[str, tuple[CarryOver, ...]]:
    r"""For every method, cue and phase without its correlation: what is left of the reliance on it, and of its gap.

    .. math:: C_k(t) = R_k(t), \qquad share = \overline{gap_k(t)} / \overline{gap_k(t')}

    with t' the last phase before t in which the cue went with the label, or against it: uncommon is, in both, what was
    uncommon in t'. It is ``certain`` that reliance was carried over if at t' its whole interval was above the margin,
    and what is left is above the margin with its interval above 0; never of a net that starts fresh. Where there is
    such a net, ``scratch``, the same must hold of what is left minus what that net has, paired by seed: what needs no
    history was not carried over. The test is of that difference or, without such a net, of what is left; Holm's
    correction is over all methods but the fresh net. The share of the gap is null unless the gap at t' is below -0.01;
    of its weightings, ``common`` is that of this cue alone.
    """
    found: dict[str, list[CarryOver]] = {method: [] for method in runs}
    for place, cue in enumerate(design.cues):
        for phase, had in design.correlation_left(place).items():
            basis = find_basis(runs, [cue], [had, phase])
            fresh = {method: runs[scratch] if scratch is not None and scratch != method else {} for method in runs}
            left = {
                method: _reliance_left(own, fresh[method], place, phase, had, basis.by) for method, own in runs.items()
            }
            corrected = holm_over({method: one.p for method, one in left.items() if method != scratch})
            for method, own in runs.items():
                judged = left[method].model_copy(update={"p_holm": corrected.get(method)})
                why = (
                    "it is retrained from scratch in every phase"
                    if method == scratch
                    else _why_not_carried(judged, margin)
                )
                gaps = {
                    weighting: _gap_left(own, fresh[method], place, phase, had, weighting)
                    # a cue whose correlation is gone has no value that is common in the phase: no fourth weighting
                    for weighting in WEIGHTINGS[:3]
                }
                found[method].append(
                    CarryOver(cue=cue, phase=phase, had=had, **gaps, judged=judged, certain=why is None, why=why)
                )
    return {method: tuple(entries) for method, entries in found.items()}


def _reliance_left(own: Runs, scratch: Runs, place: int, phase: str, had: str, by: Basis) -> RelianceLeft:
    design = next(iter(own.values())).design
    turned = design.turned_in(had, "own")[place]
    left = [reliance(run, phase, place, by, turned) for run in own.values()]
    pairs = pairs_with(own, scratch)
    against_fresh = [
        difference(reliance(run, phase, place, by, turned), reliance(other, phase, place, by, turned))
        for run, other in pairs
    ]
    return RelianceLeft(
        by=by,
        left=summarise(left),
        before=summarise([reliance(run, had, place, by, turned) for run in own.values()]),
        minus_fresh=summarise(against_fresh) if pairs else None,
        p=paired_t_test(against_fresh if pairs else left).p,
        p_holm=None,
    )


def _why_not_carried(judged: RelianceLeft, margin: float) -> str | None:
    tested = judged.left if judged.minus_fresh is None else judged.minus_fresh
    if tested.mean is None or judged.left.mean is None or judged.before.mean is None:
        return "not measured in both phases"
    if judged.before.ci95 is not None and judged.before.ci95[0] <= margin:
        return "earlier reliance was not conclusively above the margin"
    if not _is_beyond(judged.left, margin):
        return "the remaining reliance is not conclusively above 0 and the margin"
    if not _is_beyond(tested, margin):
        return "a network trained from scratch relies as much, within margin and interval"
    return why_uncertain(tested.n, judged.p_holm)


def _is_beyond(found: Summary, margin: float) -> bool:
    """Above the margin, and the interval, where there is one, above 0."""
    return found.mean is not None and found.mean > margin and (found.ci95 is None or found.ci95[0] > 0)


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


def all_trades(
    runs: Mapping[str, Runs], design: Design, baseline: str | None, margin: float, scratch: str | None
) -> dict[str, Trades]:
    """T of every ordered pair of cues: from each phase to the next, and within every phase from the baseline to the method.

    A trade is ``certain`` if T is above the margin, its interval above 0 and p at most .05 after Holm's correction over
    methods; never between the phases of a net that starts fresh in each: it had nothing to trade.
    """
    between: dict[str, list[PhaseTrade]] = {method: [] for method in runs}
    against: dict[str, list[BaselineTrade]] = {method: [] for method in runs}
    for before, after in pairwise(design.phases):
        moves = {method: [(run, before, run, after) for run in own.values()] for method, own in runs.items()}
        judged = _judged_trades(runs, design, moves, "common", margin, {scratch})
        for method, moved in moves.items():
            gaps = _gap_trades(design, moved)
            between[method].append(PhaseTrade(before=before, after=after, **gaps, judged=judged[method]))
    for phase in design.phases:
        compared = runs[baseline] if baseline is not None else {}
        moves = {
            method: [(base, phase, run, phase) for run, base in pairs_with(own, compared if method != baseline else {})]
            for method, own in runs.items()
        }
        judged = _judged_trades(runs, design, moves, "alone", margin, {scratch, baseline})
        for method, moved in moves.items():
            against[method].append(BaselineTrade(phase=phase, **_gap_trades(design, moved), judged=judged[method]))
    return {
        method: Trades(between_phases=tuple(between[method]), against_baseline=tuple(against[method]))
        for method in runs
    }


def _judged_trades(
    runs: Mapping[str, Runs],
    design: Design,
    moves: Mapping[str, Sequence[Move]],
    sense: Weighting,
    margin: float,
    never: set[str | None],
) -> dict[str, dict[str, Trade]]:
    """T of the reliance on every pair of cues, by method; ``sense``: what is common, by the label or in the phase."""
    found: dict[str, dict[str, Trade]] = {method: {} for method in runs}
    phases = sorted({phase for moved in moves.values() for _, one, _, other in moved for phase in (one, other)})
    for shrinks, grows in permutations(range(len(design.cues)), 2):
        pair = f"{design.cues[shrinks]} -> {design.cues[grows]}"
        by = find_basis(runs, [design.cues[shrinks], design.cues[grows]], phases).by

        def lost(run: ShortcutRun, phase: str, place: int, by: Basis = by) -> float | None:
            return reliance(run, phase, place, by, design.turned_in(phase, sense)[place])

        values = {
            method: [
                trade(
                    (_negative(lost(one, before, shrinks)), _negative(lost(other, after, shrinks))),
                    (_negative(lost(one, before, grows)), _negative(lost(other, after, grows))),
                )
                for one, before, other, after in moved
            ]
            for method, moved in moves.items()
        }
        tests = {method: paired_t_test(own).p for method, own in values.items()}
        corrected = holm_over({method: p for method, p in tests.items() if method not in never})
        for method, own in values.items():
            one = Trade(**vars(summarise(own)), by=by, certain=False, p=tests[method], p_holm=corrected.get(method))
            found[method][pair] = replace(one, certain=method not in never and _is_trade(one, margin))
    return found


def _negative(lost: float | None) -> float | None:
    return None if lost is None else -lost


def _is_trade(found: Trade, margin: float) -> bool:
    return found.ci95 is not None and _is_beyond(found, margin) and why_uncertain(found.n, found.p_holm) is None


def _gap_trades(design: Design, moves: Sequence[Move]) -> dict[Weighting, Mapping[str, Summary]]:
    """T of gaps per pair of cues over the seeds, in every weighting."""
    found: dict[Weighting, Mapping[str, Summary]] = {}
    for weighting in WEIGHTINGS:
        ends = [(one.gaps(before, weighting), other.gaps(after, weighting)) for one, before, other, after in moves]
        found[weighting] = summarise_all(
            {
                f"{shrinks} -> {grows}": [
                    trade((start[shrinks], end[shrinks]), (start[grows], end[grows])) for start, end in ends
                ]
                for shrinks, grows in permutations(design.cues, 2)
            }
        )
    return found
