"""From a timeline of several shortcuts to a card: gaps, reliance, what phases do to them, facets and verdicts.

Every image shows several cues, each of which goes with the label in most training images. On a balanced test, the gap of a cue
is what a model loses where that cue alone is uncommon; its twins are the same images with the cue swapped. A method that takes
away one reliance may add another (Li et al., "A Whac-A-Mole
Dilemma: Shortcuts Come in Multiples Where Mitigating One Amplifies Others").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from einstellung.diagnoses.baseline import resolve_baseline
from einstellung.diagnoses.shortcuts.card import FixedWeights, GroupSizes, PhaseEnd, ShortcutsCard, ShortcutsRecord
from einstellung.diagnoses.shortcuts.checks import shortcut_checks
from einstellung.diagnoses.shortcuts.continual import all_trades, carry_overs
from einstellung.diagnoses.shortcuts.design import Design, common_values, make_design
from einstellung.diagnoses.shortcuts.images import ImageIntervals, image_intervals
from einstellung.diagnoses.shortcuts.phase_end import phase_end
from einstellung.diagnoses.shortcuts.published import published_study
from einstellung.diagnoses.shortcuts.reliance import find_basis
from einstellung.diagnoses.shortcuts.runs import Runs, measure_run, rule_of, selection_rule
from einstellung.diagnoses.shortcuts.settings import (
    DEFAULT_BASELINE,
    SCRATCH,
    Correlations,
    SelectionRule,
    ShortcutsSettings,
)
from einstellung.diagnoses.shortcuts.splits import patterns_of, subsets_of
from einstellung.diagnoses.shortcuts.verdict import judge_methods
from einstellung.diagnoses.wording import counted, listed_seeds
from einstellung.metrics.clusters import RESAMPLES
from einstellung.metrics.image_pairs import Predictions
from einstellung.results.config import StudyConfig
from einstellung.timeline import Timeline

#: Asked for the predictions of single images at the epoch that a rule chooses in the last phase, and what could not be read.
ReadPredictions = Callable[[SelectionRule], tuple[Predictions, Sequence[str]]]

#: Asked for the source that test images share, by image, and what could not be read.
ReadSources = Callable[[], tuple[pd.DataFrame | None, Sequence[str]]]


def score_shortcuts(
    timeline: Timeline,
    settings: ShortcutsSettings | None = None,
    *,
    cues: Sequence[str] | None = None,
    correlations: Correlations | None = None,
    weights: Mapping[str, float] | None = None,
    predictions: ReadPredictions | None = None,
    sources: ReadSources | None = None,
    config: StudyConfig | None = None,
    failures: Sequence[str] = (),
) -> ShortcutsCard:
    """Score a timeline whose splits are groups of several cues.

    ``cues`` and ``correlations``: as a stream's proof states them, where the settings do not; without correlations, ID accuracy
    and gaps are null. ``weights``: of patterns, the same for all phases, beside each phase's own; those of the first phase if
    not given. ``failures``: a sentence for every run that failed.

    >>> import pandas as pd
    >>> A = {"11": 1.0, "10": 0.9, "01": 0.8, "00": 0.3}
    >>> rows = [("erm", 1, "T1", 5, f"group_{y}_{p}", acc, None, 100) for y in (0, 1) for p, acc in A.items()]
    >>> columns = ["method", "seed", "phase", "epoch", "split", "acc", "loss", "n"]
    >>> card = score_shortcuts(Timeline(pd.DataFrame(rows, columns=columns)), correlations=[0.95, 0.95])
    >>> end = card.end("erm").own
    >>> round(end.ID.mean, 3), round(end.gaps["cue 1"].mean, 3)
    (0.984, -0.184)
    """
    settings = settings or ShortcutsSettings()
    (card,) = score_by_margin(
        timeline,
        settings,
        (settings.margin,),
        cues=cues,
        correlations=correlations,
        weights=weights,
        predictions=predictions,
        sources=sources,
        config=config,
        failures=failures,
    )
    return card


def score_by_margin(
    timeline: Timeline,
    settings: ShortcutsSettings,
    margins: Sequence[float],
    *,
    cues: Sequence[str] | None = None,
    correlations: Correlations | None = None,
    weights: Mapping[str, float] | None = None,
    predictions: ReadPredictions | None = None,
    sources: ReadSources | None = None,
    config: StudyConfig | None = None,
    failures: Sequence[str] = (),
) -> list[ShortcutsCard]:
    """A card for every margin, whatever the settings' own: runs and intervals over images are measured once."""
    design = make_design(timeline, settings.cues or cues, settings.correlations or correlations, weights)
    baseline = resolve_baseline(timeline, settings.baseline, DEFAULT_BASELINE)
    scratch = next((name for name in SCRATCH if name in timeline.methods), None)
    rule = selection_rule(timeline, design, settings.final)
    runs = {
        method: {seed: measure_run(timeline, method, seed, design, settings, rule) for seed in timeline.seeds(method)}
        for method in timeline.methods
    }
    checks = shortcut_checks(timeline, design, runs, baseline, rule)
    basis = {phase: {cue: find_basis(runs, [cue], [phase]) for cue in design.cues} for phase in design.phases}
    warnings = [*failures, *_warnings(runs, design, baseline)]
    images: ImageIntervals | None = None
    if predictions is not None:
        found, unread = predictions(rule)
        if found:
            shared, odd = sources() if sources is not None else (None, [])
            images, check = image_intervals(runs, design, baseline, found, basis[design.last], shared)
            checks.append(check)
            warnings += odd
            if images is None:
                warnings.append(f"verdicts use only the intervals over seeds: {check.detail}")
        warnings += unread if found else [f"{one} (in {counted(len(unread), 'run')})" for one in unread[:1]]

    def judged(margin: float) -> ShortcutsCard:
        def end_of(method: str, phase: str) -> PhaseEnd:
            over_images = images if phase == design.last else None
            return phase_end(method, runs, phase, baseline, scratch, basis[phase], margin, over_images)

        ends = {method: {phase: end_of(method, phase) for phase in design.phases} for method in runs}
        carried = carry_overs(runs, design, margin, scratch)
        traded = all_trades(runs, design, baseline, margin, scratch)
        named_baseline = baseline or settings.baseline or DEFAULT_BASELINE
        verdicts = judge_methods(
            {method: own[design.last] for method, own in ends.items()},
            design,
            basis[design.last],
            baseline=named_baseline,
            scratch=scratch,
            margin=margin,
            level=settings.level,
        )
        counts = _image_counts(runs, design)
        return ShortcutsCard(
            cues=design.cues,
            labels=design.labels,
            patterns=design.patterns,
            gaps=tuple(subsets_of(design.cues)),
            phases=design.phases,
            correlations=design.correlations,
            common_values={phase: common_values(design.cues, own) for phase, own in design.correlations.items()},
            weights=design.weights,
            fixed_weights=FixedWeights(weights=design.fixed, source=design.fixed_source) if design.fixed else None,
            baseline=named_baseline,
            scratch=scratch,
            margin=margin,
            level=settings.level,
            tau=settings.tau,
            window=settings.window,
            smoothing=settings.smoothing,
            final=rule,
            final_by_phase={phase: rule_of(phase, design, rule) for phase in design.phases},
            images=counts,
            image_resamples=RESAMPLES if images is not None else None,
            image_clusters=images.clusters if images is not None else None,
            basis=basis[design.last],
            methods={
                method: ShortcutsRecord(
                    n_seeds=len(own),
                    phases=ends[method],
                    carry_over=carried[method],
                    trade=traded[method],
                    per_seed=_per_seed(own),
                    verdict=verdicts[method],
                )
                for method, own in runs.items()
            },
            checks=tuple(checks),
            warnings=tuple(warnings),
            informed_of=_informed_of(config, list(runs), design.cues),
            reported=published_study(list(runs), design, rule, counts, config),
        )

    return [judged(margin) for margin in margins]


def _per_seed(own: Runs) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for seed, run in own.items():
        last = run.design.last
        found[str(seed)] = {
            "chosen_epoch": run.chosen.get(last),
            **{f"A{pattern}": value for pattern, value in run.patterns(last).items()},
            **{f"{name} gap": gap for name, gap in run.gaps(last).items()},
            "worst_group": run.worst_group(last),
        }
    return found


def _image_counts(runs: Mapping[str, Runs], design: Design) -> GroupSizes:
    counts = {run.images.get(split) for own in runs.values() for run in own.values() for split in design.splits()}
    one = counts.pop() if len(counts) == 1 else None
    if one is None:
        return GroupSizes(group=None, pattern=None, test=None)
    pattern = one * len(design.labels)
    return GroupSizes(group=one, pattern=pattern, test=pattern * len(patterns_of(len(design.cues))))


def _informed_of(config: StudyConfig | None, methods: Sequence[str], cues: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The methods that know only some of the cues, and which."""
    known = {method: config.learners.get(method, {}).get("cues") for method in methods} if config is not None else {}
    return {method: tuple(own) for method, own in known.items() if own and set(own) < set(cues)}


def _warnings(runs: Mapping[str, Runs], design: Design, baseline: str | None) -> list[str]:
    found = []
    if lacking := [phase for phase in design.phases if design.weights[phase] is None]:
        found.append(
            f"no training correlations of {', '.join(lacking)}: ID accuracy and gaps are null for them; give the share "
            "of images in which each cue is common (--correlations .95,.95)"
        )
    if baseline is None:
        found.append(f"no method '{DEFAULT_BASELINE}' in the timeline: there is no amplification and no verdict")
    if len(design.labels) < 2:
        found.append("all groups belong to a single class: a model that always predicts it would look good")
    for method, own in runs.items():
        if baseline is not None and method != baseline and (alone := sorted(own.keys() - runs[baseline].keys())):
            left = "it" if len(alone) == 1 else "them"
            found.append(f"no {baseline} run for {listed_seeds(alone)} of {method}: paired measures leave {left} out")
    return found
