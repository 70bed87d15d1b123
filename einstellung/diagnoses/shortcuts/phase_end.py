"""One method at the end of one phase: ID accuracy, gaps, worst group, cue preference, reliance, and the facets of a history.

Reliance is accuracy on test images in which a cue is common minus accuracy on the very same images with that cue alone swapped
to its other value, or covered. Against the model that starts fresh in every phase, paired by seed: SFR_rel is a cue's
reliance minus that model's; AD and PD say how much later and worse ID accuracy of a phase is reached than from scratch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from einstellung.diagnoses.shortcuts.card import CueReliance, HistoryFacets, JudgedBasis, MeasuredGaps, PhaseEnd
from einstellung.diagnoses.shortcuts.estimates import Amplification, GapDifference, GapEstimate, Weighting
from einstellung.diagnoses.shortcuts.gaps import cue_preference, in_distribution
from einstellung.diagnoses.shortcuts.images import ImageIntervals
from einstellung.diagnoses.shortcuts.reliance import cue_reliance, judged_reliance
from einstellung.diagnoses.shortcuts.runs import Runs, pairs_with
from einstellung.diagnoses.shortcuts.splits import CHANGES, TWINS, group_split, subsets_of
from einstellung.metrics.arithmetic import difference
from einstellung.metrics.eri import (
    adaptation_delay,
    censored_side,
    performance_deficit,
    relative_reliance,
)
from einstellung.metrics.ratios import SMALLEST_GAP, amplification, ratio_of_means
from einstellung.metrics.statistics import paired_t_test, summarise, summarise_all


def phase_end(
    method: str,
    runs: Mapping[str, Runs],
    phase: str,
    baseline: str | None,
    scratch: str | None,
    basis: Mapping[str, JudgedBasis],
    margin: float,
    images: ImageIntervals | None = None,
) -> PhaseEnd:
    """Everything about a method at the end of a phase, over its seeds; ``images``: intervals over images, if it is the last."""
    own = runs[method]
    every = list(own.values())
    design = every[0].design
    patterns = [run.patterns(phase) for run in every]
    groups = [run.groups(phase) for run in every]
    preferences = [cue_preference(found, design.cues) for found in groups]
    by_group = {group_split(*group): [found[group] for found in groups] for group in design.groups}

    def measured(weighting: Weighting) -> MeasuredGaps:
        weights = design.weights_for(phase, weighting, design.turned_in(phase, weighting))
        whole = summarise([in_distribution(found, weights) for found in patterns])
        gaps = summarise_all(_columns([run.gaps(phase, weighting) for run in every]))
        bounds = images.gaps(method, weighting) if images is not None else {}
        compared = runs[baseline] if baseline is not None else {}
        return MeasuredGaps(
            ID=whole,
            gaps={name: GapEstimate.of(gap, bounds.get(name)) for name, gap in gaps.items()},
            difference=differences(own, compared, phase, weighting, images),
            amplification=amplifications(own, compared, phase, weighting),
        )

    return PhaseEnd(
        patterns=summarise_all({pattern: [found[pattern] for found in patterns] for pattern in design.patterns}),
        groups=summarise_all(by_group),
        worst_group=summarise([run.worst_group(phase) for run in every]),
        worst_group_name=_lowest(by_group),
        preference=summarise_all({what: [found[what] for found in preferences] for what in preferences[0]}),
        chosen_epoch={str(run.seed): run.chosen.get(phase) for run in every},
        choices={str(run.seed): run.choices.get(phase) for run in every},
        own=measured("own"),
        fixed=measured("fixed"),
        common=measured("common"),
        alone=measured("alone"),
        reliance=reliances(own, runs[scratch] if scratch is not None and scratch != method else {}, phase),
        judged={
            cue: judged_reliance(method, runs, phase, place, basis[cue].by, baseline, margin, images)
            for place, cue in enumerate(design.cues)
        },
        facets=history_facets(method, scratch, runs, phase),
    )


def _gap_pairs(
    own: Runs, baseline: Runs, phase: str, weighting: Weighting
) -> dict[str, tuple[list[float | None], list[float | None]]]:
    """Every gap of a method and the baseline's of the same phase, by the seeds that they share."""
    pairs = pairs_with(own, baseline)
    ours = [run.gaps(phase, weighting) for run, _ in pairs]
    theirs = [base.gaps(phase, weighting) for _, base in pairs]
    names = subsets_of(next(iter(own.values())).design.cues)
    return {name: ([gaps[name] for gaps in ours], [gaps[name] for gaps in theirs]) for name in names}


def differences(
    own: Runs, baseline: Runs, phase: str, weighting: Weighting, images: ImageIntervals | None = None
) -> dict[str, GapDifference]:
    """Every gap minus the baseline's, with a paired t test."""
    found = {
        name: [difference(gap, base) for gap, base in zip(*both, strict=True)]
        for name, both in _gap_pairs(own, baseline, phase, weighting).items()
    }
    method = next(iter(own.values())).method
    bounds = images.differences(method, weighting) if images is not None else {}
    return {
        name: GapDifference(**vars(summary), images95=bounds.get(name), p=paired_t_test(found[name]).p)
        for name, summary in summarise_all(found).items()
    }


def amplifications(own: Runs, baseline: Runs, phase: str, weighting: Weighting) -> dict[str, Amplification]:
    """Every gap over the baseline's: the ratio of the means with Fieller's interval, and the ratios seed by seed."""
    return {
        name: Amplification(
            **vars(ratio_of_means(*both, below=-SMALLEST_GAP)),
            per_seed=summarise([amplification(*pair) for pair in zip(*both, strict=True)]),
        )
        for name, both in _gap_pairs(own, baseline, phase, weighting).items()
    }


def reliances(own: Runs, scratch: Runs, phase: str) -> dict[str, CueReliance]:
    """Per cue: the accuracies on its twins, the reliance on it, and that relative to a fresh net's."""
    found: dict[str, CueReliance] = {}
    pairs = pairs_with(own, scratch)
    for cue in next(iter(own.values())).design.cues:
        values = {kind: [run.value(phase, f"{cue}_{kind}") for run in own.values()] for kind in TWINS}
        for change in CHANGES:
            values[f"delta_{change}"] = [cue_reliance(run, phase, cue, change) for run in own.values()]
            values[f"SFR_rel_{change}"] = [
                relative_reliance(cue_reliance(run, phase, cue, change), cue_reliance(base, phase, cue, change))
                for run, base in pairs
            ]
        counts = {run.images.get(f"{cue}_common") for run in own.values()}
        found[cue] = CueReliance(**summarise_all(values), images=counts.pop() if len(counts) == 1 else None)
    return found


def history_facets(method: str, scratch: str | None, runs: Mapping[str, Runs], phase: str) -> HistoryFacets:
    """AD and PD of a phase against the method that starts fresh, and why one is undefined."""
    own = runs[method]
    first = phase == next(iter(own.values())).design.phases[0]
    pairs = pairs_with(own, runs[scratch]) if scratch is not None and scratch != method and not first else []
    watched = [pair for pair in pairs if all(phase in run.watched for run in pair)]
    delays = [adaptation_delay(run.reached[phase], base.reached[phase]) for run, base in watched]
    deficits = [performance_deficit(base.id_accuracy(phase), run.id_accuracy(phase)) for run, base in pairs]
    summaries = summarise_all({"AD": delays, "PD": deficits})
    censored = {
        str(run.seed): side
        for run, base in watched
        if (side := censored_side(run.reached[phase], base.reached[phase], method, base.method)) is not None
    }
    why = {
        name: _why_undefined(name, method, scratch, first, bool(pairs), bool(censored))
        for name, summary in summaries.items()
        if summary.mean is None
    }
    return HistoryFacets(**summaries, censored=censored, why=why)


def _why_undefined(facet: str, method: str, scratch: str | None, first: bool, paired: bool, censored: bool) -> str:
    if scratch is None:
        return "no method is retrained from scratch in every phase"
    if method == scratch:
        return "this is the network retrained from scratch"
    if first:
        return "the first phase has no training history"
    if not paired:
        return f"no seed in common with {scratch}"
    if facet == "AD":
        return "the threshold was not reached" if censored else "ID accuracy was not tracked over the phase"
    return "ID accuracy is unknown"


def _lowest(by_group: Mapping[str, Sequence[float | None]]) -> str | None:
    """The group with the lowest mean accuracy; None where one was not measured."""
    means = {name: summarise(values).mean for name, values in by_group.items()}
    known = {name: mean for name, mean in means.items() if mean is not None}
    return min(known, key=lambda name: known[name]) if len(known) == len(means) else None


def _columns(rows: Sequence[Mapping[str, float | None]]) -> dict[str, list[float | None]]:
    return {name: [row[name] for row in rows] for name in rows[0]}
