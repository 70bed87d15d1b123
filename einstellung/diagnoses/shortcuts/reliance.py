"""Reliance on a cue as verdicts measure it: by twins where every run has them, otherwise by main effects over all patterns.

A gap sees only the images on which all other cues are common. Where a model is right on nearly all of these whatever the cue
shows, it can lose nothing: the gap is bounded by the ceiling, and a method that takes the other cue away seems to widen it. Twins
are the same images with one cue swapped, whatever the other cues show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from einstellung.diagnoses.shortcuts.card import JudgedBasis, Reliance
from einstellung.diagnoses.shortcuts.estimates import Basis, GapEstimate, RelianceDifference
from einstellung.diagnoses.shortcuts.gaps import main_effect
from einstellung.diagnoses.shortcuts.images import ImageIntervals
from einstellung.diagnoses.shortcuts.runs import Runs, ShortcutRun, pairs_with
from einstellung.diagnoses.shortcuts.splits import group_split
from einstellung.diagnoses.wording import run_name
from einstellung.metrics.arithmetic import difference
from einstellung.metrics.curves import SAME_ACCURACY
from einstellung.metrics.eri import cue_delta
from einstellung.metrics.proportions import wilson_interval
from einstellung.metrics.statistics import p_beyond, p_within, paired_t_test, summarise


def cue_reliance(run: ShortcutRun, phase: str, cue: str, change: str = "swapped") -> float | None:
    r"""What a cue is worth by twins: :math:`\Delta_k = Acc(common_k) - Acc(swapped_k)`, or with ``covered`` instead."""
    return cue_delta(run.value(phase, f"{cue}_common"), run.value(phase, f"{cue}_{change}"))


def reliance(run: ShortcutRun, phase: str, place: int, by: Basis, turned: bool = False) -> float | None:
    """What a run loses where a cue is uncommon; ``turned``: its common value is the one against the label."""
    if by == "twins":
        found = cue_reliance(run, phase, run.design.cues[place])
    else:
        found = main_effect(run.patterns(phase), place)
    return -found if turned and found is not None else found


def find_basis(runs: Mapping[str, Runs], cues: Sequence[str], phases: Sequence[str]) -> JudgedBasis:
    """Twins if every run has those of these cues at the scored epoch of these phases; otherwise main effects, and why."""
    lacking, measured = [], False
    for method, own in runs.items():
        for seed, run in own.items():
            for phase in phases:
                absent = [cue for cue in cues if phase in run.chosen and cue_reliance(run, phase, cue) is None]
                measured = measured or (phase in run.chosen and len(absent) < len(cues))
                lacking += [f"{cue} in {run_name((method, seed))} after {phase}" for cue in absent]
    named = " and ".join(cues)
    if not measured:
        return JudgedBasis(
            by="main effects", why=f"no twins of {named} ({cues[0]}_common, {cues[0]}_swapped) were measured"
        )
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        return JudgedBasis(by="main effects", why=f"twins are missing: {lacking[0]}{more}")
    return JudgedBasis(by="twins")


def judged_reliance(
    method: str,
    runs: Mapping[str, Runs],
    phase: str,
    place: int,
    by: Basis,
    baseline: str | None,
    margin: float,
    images: ImageIntervals | None = None,
) -> Reliance:
    """The reliance of a method on a cue at the end of a phase, and minus the baseline's, paired by seed."""
    own, compared = runs[method], runs[baseline] if baseline is not None else {}
    design = next(iter(own.values())).design
    cue, turned = design.cues[place], design.turned_in(phase, "alone")[place]
    losses = [reliance(run, phase, place, by, turned) for run in own.values()]
    pairs = [tuple(reliance(one, phase, place, by, turned) for one in pair) for pair in pairs_with(own, compared)]
    apart = [difference(ours, theirs) for ours, theirs in pairs]
    of_baseline = summarise([theirs for _, theirs in pairs]).mean
    intervals = (images.reliance(method, cue), images.reliance_difference(method, cue)) if images else (None, None)
    return Reliance(
        by=by,
        loss=GapEstimate.of(summarise(losses), intervals[0]),
        difference=RelianceDifference(
            **vars(summarise(apart)),
            images95=intervals[1],
            p=paired_t_test(apart).p,
            p_unchanged=_p_unchanged(apart, of_baseline, margin),
        ),
        ceiling=at_ceiling(own, phase) if by == "main effects" else {},
    )


def _p_unchanged(apart: Sequence[float | None], of_baseline: float | None, margin: float) -> float | None:
    """Of the test that reliance stays as it was; where the baseline has none, that it did not grow."""
    if of_baseline is not None and of_baseline <= margin:
        return p_beyond(apart, margin, "below")
    return p_within(apart, margin)


def at_ceiling(own: Runs, phase: str) -> dict[str, float]:
    """The patterns on which a method cannot be told from one that makes no mistake, with its mean accuracy.

    That is so if the mean over seeds lies in the 95 % Wilson interval of n right answers to n images, n being the images of the
    pattern; where n is not known, only if it is 1.
    """
    runs = list(own.values())
    design = runs[0].design
    found = {}
    for pattern in design.patterns:
        acc = summarise([run.patterns(phase)[pattern] for run in runs]).mean
        images = sum(runs[0].images.get(group_split(label, pattern), 0) for label in design.labels)
        lowest = wilson_interval(1.0, images)[0] if images else 1 - SAME_ACCURACY
        if acc is not None and acc >= lowest:
            found[pattern] = acc
    return found
