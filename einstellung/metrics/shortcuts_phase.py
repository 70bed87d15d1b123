"""One method at the end of one phase: ID accuracy, gaps, worst group, cue preference, and the same against the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from einstellung.metrics.ratios import ratio_of_means
from einstellung.metrics.shortcuts_facets import Runs, history_facets, pairs_with, reliance_record
from einstellung.metrics.shortcuts_gaps import (
    SMALLEST_GAP,
    amplification,
    cue_preference,
    difference,
    in_distribution,
    shortcut_gaps,
)
from einstellung.metrics.shortcuts_runs import ShortcutRun, Weights
from einstellung.metrics.shortcuts_splits import group_split, subsets_of
from einstellung.metrics.statistics import paired_t_test, summarise, summarise_all

Record = dict[str, Any]
WEIGHTINGS = ("own", "fixed", "common")


def weights_for(run: ShortcutRun, phase: str, weighting: str) -> Weights | None:
    """The weights of the patterns: the phase's own, those that all phases share, or all weight on the all-common pattern.

    With the weights of another phase, one cue's gap depends on the others': where these grow, accuracy on the whole falls, and
    the gap seems to shrink. Beside the all-common pattern, a gap is of its own cues alone, whatever the correlations are.
    """
    if weighting == "common":
        return {pattern: float("0" not in pattern) for pattern in run.design.patterns}
    return run.design.weights.get(phase) if weighting == "own" else run.design.fixed


def gaps_of(run: ShortcutRun, phase: str, weighting: str = "own") -> dict[str, float | None]:
    """Every gap of a run at the chosen epoch of a phase."""
    return shortcut_gaps(run.patterns(phase), run.design.cues, weights_for(run, phase, weighting))


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
    }
    for weighting in WEIGHTINGS:
        whole = [
            in_distribution(found, weights_for(run, phase, weighting))
            for run, found in zip(every, patterns, strict=True)
        ]
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
                **ratio_of_means(*both, smallest=SMALLEST_GAP).to_dict(),
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
