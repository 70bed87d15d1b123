"""Checks of a timeline of several shortcuts; they run with every score and are shown with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from einstellung.checks import Check
from einstellung.diagnoses.checks import (
    same_budget_over_seeds,
    same_images,
    seeds_are_paired,
    seeds_differ,
    twins_are_paired,
    twins_change_something,
)
from einstellung.diagnoses.shortcuts.design import Design
from einstellung.diagnoses.shortcuts.runs import Runs
from einstellung.diagnoses.shortcuts.settings import DEFAULT_BASELINE, SelectionRule
from einstellung.diagnoses.shortcuts.splits import CHANGES, GROUP, TWINS, VALIDATION, describe_split
from einstellung.diagnoses.wording import counted, listed, run_name
from einstellung.timeline import Timeline


def shortcut_checks(
    timeline: Timeline, design: Design, runs: Mapping[str, Runs], baseline: str | None, rule: SelectionRule
) -> list[Check]:
    """All checks; ``baseline`` is the name of the method that mitigates nothing, None if there is none."""
    twins = [(f"{cue}_common", f"{cue}_{change}") for cue in design.cues for change in CHANGES]
    checks: list[Callable[[], Check]] = [
        lambda: groups_are_measured(design, runs),
        lambda: groups_are_equal(timeline, design),
        lambda: weights_are_known(design),
        lambda: baseline_is_there(timeline, baseline),
        lambda: seeds_are_paired(timeline, baseline),
        lambda: selection_had_a_choice(design, runs, rule),
        lambda: phases_are_there(timeline, design),
        lambda: twins_are_paired(timeline, twins),
        lambda: twins_change_something(timeline, twins),
        lambda: same_images(timeline),
        lambda: same_budget_over_seeds(timeline),
        lambda: seeds_differ(timeline),
        lambda: split_names_are_understood(timeline, design),
    ]
    return [check() for check in checks]


def groups_are_measured(design: Design, runs: Mapping[str, Runs]) -> Check:
    """Every group of the balanced test, at the chosen epoch of every phase of every run."""
    name = "every group is evaluated at the selected epoch of every phase"
    lacking, moments = [], 0
    for method, own in runs.items():
        for seed, run in own.items():
            if not run.chosen:
                lacking.append(f"{run_name((method, seed))} has nothing after epoch 0")
            for phase in run.chosen:
                moments += 1
                if absent := [split for split in design.splits() if run.value(phase, split) is None]:
                    some = f"{', '.join(absent[:4])}{', ...' if len(absent) > 4 else ''}"
                    lacking.append(f"{run_name((method, seed))} after {phase}: {some}")
    detail = f"{counted(len(design.groups), 'group')} at {counted(moments, 'end')} of phases"
    return Check(name, not lacking, listed(lacking) or detail)


def groups_are_equal(timeline: Timeline, design: Design) -> Check:
    """A balanced test: as many images in every group, or shares of predictions would weigh groups unequally."""
    name = "all test groups have the same number of images"
    frame = timeline.frame
    sizes = {}
    for split in design.splits(GROUP):
        if counts := sorted({int(n) for n in frame.loc[frame["split"] == split, "n"].dropna()}):
            sizes[split] = counts
    if not sizes:
        return Check(name, None, "image counts were not recorded")
    distinct = sorted({size for found in sizes.values() for size in found})
    if len(distinct) > 1:
        return Check(name, False, listed(f"{split}: {' or '.join(map(str, found))}" for split, found in sizes.items()))
    return Check(name, True, f"{distinct[0]:,} images in each of {counted(len(sizes), 'group')}")


def weights_are_known(design: Design) -> Check:
    """The weights of ID accuracy come from the correlations of the training images and sum to 1."""
    name = "the weights of ID accuracy are known and sum to 1"
    known = {phase: weights for phase, weights in design.weights.items() if weights is not None}
    if lacking := [phase for phase in design.phases if phase not in known]:
        return Check(name, None if not known else False, f"no training correlations of {', '.join(lacking)}")
    odd = [f"{phase}: {sum(w.values()):g}" for phase, w in known.items() if not np.isclose(sum(w.values()), 1.0)]
    words = listed(f"{phase} " + ", ".join(f"{p} {w:.4g}" for p, w in found.items()) for phase, found in known.items())
    return Check(name, not odd, listed(odd) or words)


def baseline_is_there(timeline: Timeline, baseline: str | None) -> Check:
    """Without plain training there is nothing to amplify."""
    name = "there is a baseline without mitigation"
    if baseline is None:
        return Check(name, None, f"no method '{DEFAULT_BASELINE}' among {', '.join(timeline.methods)}")
    return Check(name, True, f"{baseline}, {counted(len(timeline.seeds(baseline)), 'seed')}")


def selection_had_a_choice(design: Design, runs: Mapping[str, Runs], rule: SelectionRule) -> Check:
    """Selection by validation needs epochs to select from: those at which all groups of validation and test were measured."""
    name = "worst-group validation accuracy could choose between epochs"
    if rule == "last":
        return Check(name, None, "the last epoch of every phase is scored; no selection by validation groups")
    counts, single = {}, set()
    for method, own in runs.items():
        for seed, run in own.items():
            if (phase := design.last) not in run.choices:
                continue
            if run.looks[phase] == 1:
                single.add(method)
            else:
                counts[f"{run_name((method, seed))}, {phase}"] = run.choices[phase]
    few = [f"{where}: {counted(count, 'epoch')}" for where, count in counts.items() if count < 2]
    fewest, most = min(counts.values(), default=0), max(counts.values(), default=0)
    among = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    words = [f"among {among} epochs of {design.last}, by {len(design.splits(VALIDATION))} groups"] if counts else []
    words += [f"with a single result: {', '.join(sorted(single))}"] if single else []
    return Check(name, not few, listed(few) or "; ".join(words))


def phases_are_there(timeline: Timeline, design: Design) -> Check:
    """A run that lacks a phase has no gaps in it and cannot be compared there."""
    name = "every run has every phase"
    lacking = [
        f"{run_name(run)} has no rows of {', '.join(absent)}"
        for run in timeline.runs
        if (absent := [phase for phase in design.phases if phase not in timeline.phases(*run)])
    ]
    detail = f"{counted(len(design.phases), 'phase')} in {counted(len(timeline.runs), 'run')}"
    return Check(name, not lacking, listed(lacking) or detail)


def split_names_are_understood(timeline: Timeline, design: Design) -> Check:
    """Other splits are ignored; one that begins like a group's name is taken for a typo."""
    name = "split names are recognised"
    strange = [split for split in timeline.splits if describe_split(split, design.cues) is None]
    slips = [split for split in strange if split.lower().startswith((f"{GROUP}_", f"{VALIDATION}_"))]
    slips += [split for split in strange if split.endswith(tuple(f"_{kind}" for kind in TWINS))]
    if slips:
        return Check(name, False, f"unrecognised: {', '.join(slips)}")
    aside = f"; ignored: {', '.join(strange)}" if strange else ""
    return Check(name, True, f"{counted(len(timeline.splits) - len(strange), 'known split')}{aside}")
