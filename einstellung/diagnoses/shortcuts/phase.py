"""One method at the end of one phase: ID accuracy, gaps, worst group, cue preference, and the same against the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from einstellung.diagnoses.shortcuts.facets import Runs, history_facets, pairs_with, reliance_record
from einstellung.diagnoses.shortcuts.gaps import (
    SMALLEST_GAP,
    Turned,
    amplification,
    cue_preference,
    difference,
    in_distribution,
    in_terms_of_labels,
    shortcut_gaps,
    turned_cues,
)
from einstellung.diagnoses.shortcuts.runs import Design, ShortcutRun, Weights
from einstellung.diagnoses.shortcuts.splits import group_split, subsets_of
from einstellung.metrics.ratios import ratio_of_means
from einstellung.metrics.statistics import paired_t_test, summarise, summarise_all

Record = dict[str, Any]
#: What a gap is measured from. ``own`` and ``fixed``: ID accuracy with the weights of the phase, or with those that all phases
#: share. ``common``: accuracy where every cue goes with the label. ``alone``: accuracy where every cue is as is common in the
#: phase, which is the same unless a cue is turned there.
WEIGHTINGS = ("own", "fixed", "common", "alone")


def turned_in(design: Design, phase: str, weighting: str) -> Turned:
    """The cues whose common value is the one against the label: in the phase itself or, with fixed weights, in those.

    ``common`` knows no phase, so that gaps of different phases can be compared by it.
    """
    weights = design.fixed if weighting == "fixed" else design.weights.get(phase)
    return (False,) * len(design.cues) if weighting == "common" or weights is None else turned_cues(weights)


def weights_for(design: Design, phase: str, weighting: str, turned: Turned) -> Weights | None:
    """The weights of the patterns: the phase's own, those that all phases share, or all weight on one pattern.

    With the weights of a phase, one cue's gap depends on the others': where these grow, accuracy on the whole falls, and
    the gap seems to shrink. Beside the pattern in which all are common, a gap is of its own cues alone, whatever the
    correlations are.
    """
    if weighting in ("common", "alone"):
        all_common = in_terms_of_labels("1" * len(design.cues), turned)
        return {pattern: float(pattern == all_common) for pattern in design.patterns}
    return design.weights.get(phase) if weighting == "own" else design.fixed


def gaps_of(
    run: ShortcutRun, phase: str, weighting: str = "own", turned: Turned | None = None
) -> dict[str, float | None]:
    """Every gap of a run at the chosen epoch of a phase; ``turned``: in another sense than that of the weighting."""
    design = run.design
    turned = turned if turned is not None else turned_in(design, phase, weighting)
    return shortcut_gaps(run.patterns(phase), design.cues, weights_for(design, phase, weighting, turned), turned)


def phase_record(
    method: str, runs: Mapping[str, Runs], phase: str, baseline: str | None, scratch: str | None
) -> Record:
    """Everything about a method at the end of a phase, over its seeds."""
    own = runs[method]
    every = list(own.values())
    design = every[0].design
    patterns = [run.patterns(phase) for run in every]
    groups = [run.groups(phase) for run in every]
    preferences = [cue_preference(found, design.cues) for found in groups]
    by_group = {group_split(*group): [found[group] for found in groups] for group in design.groups}
    record: Record = {
        "patterns": _summaries({pattern: [found[pattern] for found in patterns] for pattern in design.patterns}),
        "groups": _summaries(by_group),
        "worst_group": summarise([run.worst_group(phase) for run in every]).to_dict(),
        "worst_group_name": _lowest(by_group),
        "preference": _summaries({what: [found[what] for found in preferences] for what in preferences[0]}),
        "chosen_epoch": {str(run.seed): run.chosen.get(phase) for run in every},
        "choices": {str(run.seed): run.choices.get(phase) for run in every},
    }
    for weighting in WEIGHTINGS:
        weights = weights_for(design, phase, weighting, turned_in(design, phase, weighting))
        whole = [in_distribution(found, weights) for found in patterns]
        record[weighting] = {
            "ID": summarise(whole).to_dict(),
            "gaps": _summaries(_columns([gaps_of(run, phase, weighting) for run in every])),
            **against(own, runs[baseline] if baseline is not None else {}, phase, weighting),
        }
    fresh = runs[scratch] if scratch is not None and scratch != method else {}
    record["reliance"] = reliance_record(own, fresh, phase)
    record["facets"] = history_facets(method, own, scratch, runs, phase)
    return record


def against(own: Runs, baseline: Runs, phase: str, weighting: str) -> Record:
    """Every gap beside the baseline's of the same phase and seed: difference, paired t test, amplification.

    Amplification is given per seed (a summary of the ratios) and as the ratio of the means with Fieller's interval.
    """
    pairs = pairs_with(own, baseline)
    ours = [gaps_of(run, phase, weighting) for run, _ in pairs]
    theirs = [gaps_of(base, phase, weighting) for _, base in pairs]
    names = subsets_of(next(iter(own.values())).design.cues)
    columns = {name: ([gaps[name] for gaps in ours], [gaps[name] for gaps in theirs]) for name in names}
    differences = {
        name: [difference(gap, base) for gap, base in zip(*both, strict=True)] for name, both in columns.items()
    }
    tests = {name: paired_t_test(found) for name, found in differences.items()}
    return {
        "difference": {name: {**summary, "p": tests[name].p} for name, summary in _summaries(differences).items()},
        "amplification": {
            name: {
                **ratio_of_means(*both, below=-SMALLEST_GAP).to_dict(),
                "per_seed": summarise([amplification(*pair) for pair in zip(*both, strict=True)]).to_dict(),
            }
            for name, both in columns.items()
        },
    }


def _lowest(by_group: Mapping[str, Sequence[float | None]]) -> str | None:
    """The group with the lowest mean accuracy; None where one was not measured."""
    means = {name: summarise(values).mean for name, values in by_group.items()}
    known = {name: mean for name, mean in means.items() if mean is not None}
    return min(known, key=lambda name: known[name]) if len(known) == len(means) else None


def _columns(rows: Sequence[Mapping[str, float | None]]) -> dict[str, list[float | None]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def _summaries(values: Mapping[str, Sequence[float | None]]) -> Record:
    return {name: summary.to_dict() for name, summary in summarise_all(values).items()}
