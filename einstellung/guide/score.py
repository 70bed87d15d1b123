"""The implementation guide's variant of the index: one composite score per run, without a baseline.

It measures something other than the triplet (how slowly T1 was learned, how much masking costs, how patched and NSC
accuracy compare) and is reported under its own name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from einstellung.diagnoses.baseline import resolve_baseline
from einstellung.diagnoses.rigidity.checks import log_checks
from einstellung.diagnoses.rigidity.measurements import final_rule, measure
from einstellung.diagnoses.rigidity.settings import DEFAULT_BASELINE, FinalRule, RigiditySettings
from einstellung.guide.card import (
    GUIDE_METRICS,
    T1_AFTER_T1,
    THRESHOLD,
    GuideCard,
    GuideEstimate,
    GuideMethod,
    GuideRun,
    GuideSettings,
)
from einstellung.metrics.curves import TOLERANCE, times_to_thresholds, unwatched_epochs
from einstellung.metrics.statistics import mean_and_sd
from einstellung.timeline import NSC, SC_MASK, SC_PATCH, T1_ALL, Timeline

LONGEST_DELAY = 50.0
WEIGHTS = (0.4, 0.4, 0.2)
BANDS = (0.3, 0.6)


def adaptation_delay(epochs: Any, acc: Any, threshold: float = THRESHOLD) -> float | None:
    r"""First epoch of T1 at which T1 accuracy reaches the threshold; None if it never does.

    .. math:: AD = \min\{e > 0 : A_{T1}(e) \ge \theta\}, \quad \theta = 0.8 \text{ by default}

    >>> adaptation_delay([1, 2, 3], [0.5, 0.8, 0.9])
    2.0
    """
    e, a = np.asarray(epochs, dtype=np.float64), np.asarray(acc, dtype=np.float64)
    return times_to_thresholds(e[e > TOLERANCE], a[e > TOLERANCE], [threshold])[0]


def performance_deficit(patched: float, masked: float) -> float:
    r"""Share of the patched accuracy that masking costs.

    .. math:: PD = \max(0, (A_{patch} - A_{mask}) / A_{patch}), \quad 0 \text{ if } A_{patch} = 0

    >>> performance_deficit(0.5, 0.25)
    0.5
    """
    return 0.0 if patched == 0 else max(0.0, (patched - masked) / patched)


def shortcut_feature_reliance(patched: float, nonshortcut: float) -> float:
    r"""Patched accuracy relative to accuracy on images without the cue.

    .. math:: SFR = A_{patch} / (A_{patch} + A_{NSC}), \quad 0.5 \text{ if both are } 0

    >>> shortcut_feature_reliance(0.75, 0.25)
    0.75
    """
    total = patched + nonshortcut
    return 0.5 if total == 0 else patched / total


def composite_score(AD: float | None, PD: float | None, SFR: float | None) -> float | None:
    r"""The guide's composite; None if a part is undefined.

    .. math:: 0.4 \min(AD / 50, 1) + 0.4\,PD + 0.2\,SFR

    >>> round(composite_score(25, 0.25, 0.75), 3)
    0.45
    """
    if AD is None or PD is None or SFR is None:
        return None
    a, b, c = WEIGHTS
    return a * min(AD / LONGEST_DELAY, 1.0) + b * PD + c * SFR


def band(score: float | None) -> str | None:
    """'low' below 0.3, 'high' above 0.6, 'moderate' between; None for an undefined score.

    >>> band(0.29), band(0.3), band(0.6), band(0.61)
    ('low', 'moderate', 'moderate', 'high')
    """
    if score is None:
        return None
    low, high = BANDS
    if score < low - TOLERANCE:
        return "low"
    return "high" if score > high + TOLERANCE else "moderate"


SUBSETS = (T1_ALL, SC_PATCH, SC_MASK, NSC)


def reasons_by_seed(reasons: Mapping[int, str | None]) -> str | None:
    """Every reason once, with the seeds it holds for; None where there is none.

    >>> reasons_by_seed({1: "no T1", 2: None, 3: "no T1"})
    'seeds 1, 3: no T1'
    """
    seeds: dict[str, list[str]] = {}
    for seed, why in reasons.items():
        if why is not None:
            seeds.setdefault(why, []).append(str(seed))
    sentences = [f"seed{'s' * (len(own) > 1)} {', '.join(own)}: {why}" for why, own in seeds.items()]
    return "; ".join(sentences) or None


def estimate(values: Sequence[float | None]) -> GuideEstimate:
    """An estimate over seeds; undefined values are left out.

    >>> estimate([0.25, None, 0.75])
    GuideEstimate(mean=0.5, sd=0.3535533905932738, min=0.25, max=0.75, n=2)
    """
    known = [value for value in values if value is not None]
    mean, sd, n = mean_and_sd(known)
    return GuideEstimate(mean, sd, min(known, default=None), max(known, default=None), n)


def guide_score(timeline: Timeline, settings: GuideSettings | None = None) -> GuideCard:
    """Score every run the guide's way."""
    settings = settings or GuideSettings()
    rule, warnings = final_rule(timeline, settings.final)
    baseline = resolve_baseline(timeline, settings.baseline, DEFAULT_BASELINE)
    runs = {
        method: {seed: _run(timeline, method, seed, settings, rule, baseline) for seed in timeline.seeds(method)}
        for method in timeline.methods
    }
    return GuideCard(
        baseline=baseline or settings.baseline or DEFAULT_BASELINE,
        final=rule,
        threshold=settings.guide_threshold,
        methods={method: _method(own) for method, own in runs.items()},
        checks=tuple(log_checks(timeline, baseline)),
        warnings=tuple(warnings),
    )


def _method(runs: Mapping[int, GuideRun]) -> GuideMethod:
    estimates = {name: estimate([getattr(run, name) for run in runs.values()]) for name in GUIDE_METRICS}
    return GuideMethod(
        n_seeds=len(runs),
        **estimates,
        band=band(estimates["eri_score"].mean),
        why_undefined=reasons_by_seed({seed: run.why_undefined for seed, run in runs.items()}),
        per_seed={str(seed): run for seed, run in runs.items()},
    )


def _run(
    timeline: Timeline, method: str, seed: int, settings: GuideSettings, rule: FinalRule, baseline: str | None
) -> GuideRun:
    epochs, acc = timeline.curve(method, seed, "T1", T1_ALL)
    # Where subsets are measured only at the end of a phase, the first measurement is not a crossing.
    end_only = len(acc) == 1 and epochs[0] > 1 and len(unwatched_epochs(timeline.curves(method, seed, "T2"))) > 0
    delay = None if end_only else adaptation_delay(epochs, acc, settings.guide_threshold)
    measured = measure(timeline, method, seed, RigiditySettings(), rule, baseline)
    own = measured.accuracies
    patched, masked, nonshortcut = own.SC_patch, own.SC_mask, own.NSC
    deficit = None if patched is None or masked is None else performance_deficit(patched, masked)
    reliance = None if patched is None or nonshortcut is None else shortcut_feature_reliance(patched, nonshortcut)
    accuracies = dict(zip(SUBSETS, (own.T1, patched, masked, nonshortcut), strict=True))
    reasons = []
    if delay is None and len(acc) == 0:
        reasons.append(f"no {T1_ALL} curve in T1")
    elif end_only:
        reasons.append(f"{T1_ALL} was measured only at the end of T1")
    elif delay is None:
        reasons.append(f"{T1_ALL} never reached {settings.guide_threshold:g} in T1 (best {acc.max():.3f})")
    if missing := [split for split in (SC_PATCH, SC_MASK, NSC) if accuracies[split] is None]:
        reasons.append(f"{', '.join(missing)} not measured at the final checkpoint")
    return GuideRun(
        adaptation_delay=delay,
        performance_deficit=deficit,
        shortcut_feature_reliance=reliance,
        eri_score=composite_score(delay, deficit, reliance),
        checkpoint_epoch=measured.checkpoint_epoch,
        accuracies={**accuracies, T1_AFTER_T1: own.T1_after_T1},
        why_undefined=" and ".join(reasons) or None,
    )
