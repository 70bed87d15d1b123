"""From a timeline of several shortcuts to a card: gaps, amplification, what phases do to them, facets and verdicts.

Every image shows several cues, each of which goes with the label in most training images. On a balanced test, the gap of a cue
is what a model loses where that cue is uncommon. A method that closes one gap may open another (Li et al., "A Whac-A-Mole
Dilemma: Shortcuts Come in Multiples Where Mitigating One Amplifies Others").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from einstellung.diagnoses.shortcuts.checks import shortcut_checks
from einstellung.diagnoses.shortcuts.continual import NO_CORRELATION, carry_over, trades
from einstellung.diagnoses.shortcuts.facets import Runs
from einstellung.diagnoses.shortcuts.gaps import EQUAL, checked_weights, pattern_weights
from einstellung.diagnoses.shortcuts.images import with_image_intervals
from einstellung.diagnoses.shortcuts.phase import gaps_of, phase_record
from einstellung.diagnoses.shortcuts.runs import Design, Weights, measure_run, rule_of, selection_rule
from einstellung.diagnoses.shortcuts.settings import DEFAULT_BASELINE, SCRATCH, ShortcutRule, ShortcutSettings
from einstellung.diagnoses.shortcuts.splits import (
    default_cues,
    is_shortcuts,
    labels_and_width,
    patterns_of,
    phases_of,
    subsets_of,
)
from einstellung.diagnoses.shortcuts.verdict import with_verdicts
from einstellung.diagnoses.wording import listed_seeds
from einstellung.errors import InputError
from einstellung.metrics.image_pairs import Predictions
from einstellung.registry import suggestion
from einstellung.timeline import Timeline

KIND = "shortcuts"
WITH_LABEL, AGAINST_LABEL, NEITHER = "with the label", "against the label", "neither"
Card = dict[str, Any]
Correlations = Mapping[str, Sequence[float]] | Sequence[float]


def shortcut_score(
    timeline: Timeline,
    settings: ShortcutSettings | None = None,
    *,
    cues: Sequence[str] | None = None,
    correlations: Correlations | None = None,
    weights: Mapping[str, float] | None = None,
    predictions: Callable[[ShortcutRule], Predictions] | None = None,
) -> Card:
    """Score a timeline whose splits are groups of several cues; plain values, ready for strict JSON: undefined is null.

    ``cues``: their names in the order of a pattern's digits. ``correlations``: the share of training images in which each
    cue is common, of every phase by name, or once for all; without them ID accuracy and gaps are null. ``weights``: of
    patterns, the same for all phases, beside each phase's own; those of the first phase if not given. ``predictions``:
    asked for those of single images at the epoch that this rule chooses in the last phase, for intervals over images.

    >>> import pandas as pd
    >>> A = {"11": 1.0, "10": 0.9, "01": 0.8, "00": 0.3}
    >>> rows = [("erm", 1, "T1", 5, f"group_{y}_{p}", acc, None, 100) for y in (0, 1) for p, acc in A.items()]
    >>> columns = ["method", "seed", "phase", "epoch", "split", "acc", "loss", "n"]
    >>> card = shortcut_score(Timeline(pd.DataFrame(rows, columns=columns)), correlations=[0.95, 0.95])
    >>> end = card["methods"]["erm"]["phases"]["T1"]["own"]
    >>> round(end["ID"]["mean"], 3), round(end["gaps"]["cue 1"]["mean"], 3)
    (0.984, -0.184)
    """
    settings = settings or ShortcutSettings()
    if not is_shortcuts(timeline):
        raise InputError("no groups of several shortcuts in the timeline: it has no split such as group_0_11")
    design, known = _design(timeline, cues, correlations, weights)
    baseline = _baseline(timeline, settings.baseline)
    scratch = next((name for name in SCRATCH if name in timeline.methods), None)
    rule = selection_rule(timeline, design, settings.final)
    runs = {
        method: {seed: measure_run(timeline, method, seed, design, settings, rule) for seed in timeline.seeds(method)}
        for method in timeline.methods
    }
    card = {
        "kind": KIND,
        "cues": list(design.cues),
        "labels": list(design.labels),
        "patterns": list(design.patterns),
        "gaps": list(subsets_of(design.cues)),
        "phases": list(design.phases),
        "correlations": {phase: list(found) for phase, found in known.items()},
        "common_values": {phase: common_values(design.cues, found) for phase, found in known.items()},
        "weights": {phase: dict(found) if found else None for phase, found in design.weights.items()},
        "fixed_weights": {"weights": dict(design.fixed), "source": _source(design, weights)} if design.fixed else None,
        "baseline": baseline or settings.baseline or DEFAULT_BASELINE,
        "scratch": scratch,
        **settings.to_dict(),
        "final": rule,
        "final_by_phase": {phase: rule_of(phase, design, rule) for phase in design.phases},
        "images": _images(runs, design),
        "image_resamples": None,
        "methods": {method: _record(method, runs, known, baseline, scratch, settings.margin) for method in runs},
        "checks": [check.to_dict() for check in shortcut_checks(timeline, design, runs, baseline, rule)],
        "warnings": _warnings(runs, design, baseline),
    }
    if predictions is not None and (found := predictions(rule)):
        card = with_image_intervals(card, runs, design, baseline, found)
    return with_verdicts(card)


def _design(
    timeline: Timeline,
    cues: Sequence[str] | None,
    correlations: Correlations | None,
    weights: Mapping[str, float] | None,
) -> tuple[Design, dict[str, Sequence[float]]]:
    """The design of the study, and the correlations of every phase that they are known of."""
    labels, widths = labels_and_width(timeline.splits)
    if len(widths) > 1:
        raise InputError(
            f"the groups have patterns of {' and '.join(map(str, widths))} digits: every group needs one digit per cue"
        )
    (width,) = widths
    names = tuple(cues) if cues else default_cues(timeline.splits, width)
    if odd := [name for name in names if not name.strip() or "+" in name or " -> " in name]:
        raise InputError(
            f"'{odd[0]}' cannot name a cue: names of gaps put cues together by '+' and ' -> '; choose another name"
        )
    if len(names) != width or len(set(names)) != width:
        raise InputError(
            f"{len(names)} names of cues ({', '.join(names)}) for groups with {width} digits: one name for each is needed"
        )
    phases = phases_of(timeline)
    known = _by_phase(correlations, phases, width)
    of_phase: dict[str, Weights | None] = {
        phase: pattern_weights(known[phase]) if phase in known else None for phase in phases
    }
    fixed = checked_weights(weights, width) if weights is not None else of_phase[phases[0]]
    return Design(labels, names, phases, of_phase, fixed), known


def _by_phase(correlations: Correlations | None, phases: Sequence[str], width: int) -> dict[str, Sequence[float]]:
    given = correlations or {}
    by_phase = dict(given) if isinstance(given, Mapping) else dict.fromkeys(phases, given)
    for phase, found in by_phase.items():
        if len(found) != width:
            raise InputError(f"{len(found)} correlations of {phase} for {width} cues: one for each cue is needed")
    return {phase: by_phase[phase] for phase in phases if phase in by_phase}


def common_values(cues: Sequence[str], correlations: Sequence[float]) -> dict[str, str]:
    """What is common of every cue in a phase's training images.

    >>> common_values(["background", "co-object", "watermark"], [0.95, 0.05, 0.5])
    {'background': 'with the label', 'co-object': 'against the label', 'watermark': 'neither'}
    """
    words = {True: WITH_LABEL, False: AGAINST_LABEL}
    return {
        cue: NEITHER if abs(rho - NO_CORRELATION) <= EQUAL else words[rho > NO_CORRELATION]
        for cue, rho in zip(cues, correlations, strict=True)
    }


def _source(design: Design, weights: Mapping[str, float] | None) -> str:
    return "given" if weights is not None else design.phases[0]


def _baseline(timeline: Timeline, asked: str | None) -> str | None:
    """The method that mitigates nothing, as the timeline spells it; one asked for by name must be there."""
    wanted = asked or DEFAULT_BASELINE
    if wanted in timeline.methods:
        return wanted
    if asked is not None:
        raise InputError(f"no baseline '{asked}' in the timeline: {suggestion(asked, timeline.methods)}")
    return None


def _record(
    method: str,
    runs: Mapping[str, Runs],
    correlations: Mapping[str, Sequence[float]],
    baseline: str | None,
    scratch: str | None,
    margin: float,
) -> Card:
    own = runs[method]
    design = next(iter(own.values())).design
    last = design.phases[-1]
    per_seed = {}
    for seed, run in own.items():
        per_seed[str(seed)] = {
            "chosen_epoch": run.chosen.get(last),
            **{f"A{pattern}": value for pattern, value in run.patterns(last).items()},
            **{f"{name} gap": gap for name, gap in gaps_of(run, last).items()},
            "worst_group": run.worst_group(last),
        }
    return {
        "n_seeds": len(own),
        "phases": {phase: phase_record(method, runs, phase, baseline, scratch) for phase in design.phases},
        "carry_over": carry_over(
            own,
            correlations,
            margin,
            fresh=method == scratch,
            scratch=runs[scratch] if scratch is not None and scratch != method else None,
        ),
        "trade": trades(
            own, runs[baseline] if baseline is not None and baseline != method else {}, margin, fresh=method == scratch
        ),
        "per_seed": per_seed,
    }


def _images(runs: Mapping[str, Runs], design: Design) -> dict[str, int | None]:
    """Test images of a group and of a pattern (all classes); None where they were not recorded or differ."""
    counts = {run.images.get(split) for own in runs.values() for run in own.values() for split in design.splits()}
    one = counts.pop() if len(counts) == 1 else None
    each = len(design.labels)
    return {
        "group": one,
        "pattern": None if one is None else one * each,
        "test": None if one is None else one * each * len(patterns_of(len(design.cues))),
    }


def _warnings(runs: Mapping[str, Runs], design: Design, baseline: str | None) -> list[str]:
    found = []
    if lacking := [phase for phase in design.phases if design.weights[phase] is None]:
        found.append(
            f"no training correlations of {', '.join(lacking)}: ID accuracy and gaps are null there; "
            "give the share of images in which each cue is common (--correlations .95,.95)"
        )
    if baseline is None:
        found.append(f"no method '{DEFAULT_BASELINE}' in the timeline: there is no amplification and no verdict")
    if len(design.labels) < 2:
        found.append("groups of a single class: a model that always gives it would look good")
    for method, own in runs.items():
        if baseline is not None and method != baseline and (alone := sorted(own.keys() - runs[baseline].keys())):
            left = "it" if len(alone) == 1 else "them"
            found.append(f"no {baseline} run for {listed_seeds(alone)} of {method}: paired measures leave {left} out")
    return found
