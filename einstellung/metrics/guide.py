"""The implementation guide's variant of the index: one composite score per run, without a baseline.

It answers another question than the triplet (how slowly T1 was learned, how much masking costs, how patched and NSC
accuracy compare) and is reported under its own name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from einstellung.metrics.baseline import resolve_baseline
from einstellung.metrics.curves import TOLERANCE, checkpoint_epoch, times_to_thresholds, value_at
from einstellung.metrics.log_checks import Check, log_checks
from einstellung.metrics.measurements import final_rule
from einstellung.metrics.settings import FinalRule, ScoreSettings
from einstellung.metrics.statistics import mean_and_sd
from einstellung.timeline import NSC, SC_MASK, SC_PATCH, T1_ALL, Timeline

THRESHOLD = 0.8
LONGEST_DELAY = 50.0
WEIGHTS = (0.4, 0.4, 0.2)
BANDS = (0.3, 0.6)


def adaptation_delay(epochs: Any, acc: Any, threshold: float = THRESHOLD) -> float | None:
    r"""First epoch of T1 at which T1 accuracy reaches the threshold; None if it never does.

    .. math:: AD = \min\{e > 0 : A_{T1}(e) \ge 0.8\}

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
    r"""Patched accuracy against that on images without the cue.

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


@dataclass(frozen=True)
class GuideRun:
    """The guide's numbers of one run, and why its score is undefined where it is."""

    adaptation_delay: float | None
    performance_deficit: float | None
    shortcut_feature_reliance: float | None
    eri_score: float | None
    checkpoint_epoch: float | None
    why_undefined: str | None

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*GUIDE_METRICS, "checkpoint_epoch", "why_undefined")}


GUIDE_METRICS = ("adaptation_delay", "performance_deficit", "shortcut_feature_reliance", "eri_score")


@dataclass(frozen=True)
class GuideCard:
    """The guide variant of a whole timeline."""

    final: FinalRule
    runs: dict[str, dict[int, GuideRun]]
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "variant": "guide",
            "final": self.final,
            "threshold": THRESHOLD,
            "methods": {method: _method(runs) for method, runs in self.runs.items()},
            "checks": [check.to_dict() for check in self.checks],
            "warnings": list(self.warnings),
        }


def _method(runs: dict[int, GuideRun]) -> dict[str, Any]:
    facets = {name: _spread([getattr(run, name) for run in runs.values()]) for name in GUIDE_METRICS}
    reasons: dict[str, list[str]] = {}
    for seed, run in runs.items():
        if run.why_undefined is not None:
            reasons.setdefault(run.why_undefined, []).append(str(seed))
    why = "; ".join(f"seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}: {why}" for why, seeds in reasons.items())
    return {
        "n_seeds": len(runs),
        **facets,
        "band": band(facets["eri_score"]["mean"]),
        "why_undefined": why or None,
        "per_seed": {str(seed): run.to_dict() for seed, run in runs.items()},
    }


def _spread(values: list[float | None]) -> dict[str, Any]:
    known = [value for value in values if value is not None]
    mean, sd, n = mean_and_sd(known)
    return {"mean": mean, "sd": sd, "min": min(known, default=None), "max": max(known, default=None), "n": n}


def guide_score(timeline: Timeline, settings: ScoreSettings | None = None) -> GuideCard:
    """Score every run the guide's way. Of the settings ``final`` counts, and for the checks the baseline's name."""
    settings = settings or ScoreSettings()
    rule, warnings = final_rule(timeline, settings.final)
    baseline = resolve_baseline(timeline, settings.baseline)
    runs: dict[str, dict[int, GuideRun]] = {}
    for method in timeline.methods:
        runs[method] = {seed: _run(timeline, method, seed, rule) for seed in timeline.seeds(method)}
    return GuideCard(rule, runs, tuple(log_checks(timeline, baseline)), tuple(warnings))


def _run(timeline: Timeline, method: str, seed: int, rule: FinalRule) -> GuideRun:
    epochs, acc = timeline.curve(method, seed, "T1", T1_ALL)
    delay = adaptation_delay(epochs, acc)
    checkpoint = checkpoint_epoch(timeline.curves(method, seed, "T2"), rule)
    patched, masked, nonshortcut = (
        value_at(*timeline.curve(method, seed, "T2", split), checkpoint) for split in (SC_PATCH, SC_MASK, NSC)
    )
    deficit = None if patched is None or masked is None else performance_deficit(patched, masked)
    reliance = None if patched is None or nonshortcut is None else shortcut_feature_reliance(patched, nonshortcut)
    missing = [
        split
        for split, value in zip((SC_PATCH, SC_MASK, NSC), (patched, masked, nonshortcut), strict=True)
        if value is None
    ]
    reasons = []
    if delay is None and len(acc) == 0:
        reasons.append(f"no {T1_ALL} curve in T1")
    elif delay is None:
        reasons.append(f"{T1_ALL} never reached {THRESHOLD:g} in T1 (best {acc.max():.3f})")
    if missing:
        reasons.append(f"{', '.join(missing)} not measured at the final checkpoint")
    score = composite_score(delay, deficit, reliance)
    return GuideRun(delay, deficit, reliance, score, checkpoint, " and ".join(reasons) or None)
