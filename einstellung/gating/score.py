"""From matched predictions to the gate's numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from einstellung.errors import InputError
from einstellung.gating.pairs import AFTER, BASELINE, BEFORE, FloatArray, Measured, Paired, deployed, pair
from einstellung.gating.predictions import CUE, Predictions
from einstellung.gating.result import (
    AccuracyChange,
    CalibrationChange,
    FlipShare,
    GateResult,
    Limits,
    Relative,
    SeedRow,
    Slice,
    Slices,
)
from einstellung.gating.verdict import DEPLOYED, judge, overall, summary
from einstellung.metrics.bounded_means import BoundedMean, bounded_mean
from einstellung.metrics.calibration import expected_calibration_error
from einstellung.metrics.proportions import exact_interval
from einstellung.metrics.statistics import holm, summarise

FEWEST_IN_SLICE = 20  # below, an interval of a rise spans more than half of its scale and says nothing
_DECIMALS = 12  # equal means of seeds differ by rounding in floats


def score(models: Mapping[str, Predictions], limits: Limits) -> GateResult:
    """Compare ``before`` and ``after`` and, where it is given, ``baseline``."""
    paired = pair(models)
    gains = {role: paired.gain(role) for role in models}
    rise = _mean(gains[AFTER] - gains[BEFORE], 2.0)
    deltas = {role: _mean(gain, 1.0) for role, gain in gains.items()}
    flips = {
        DEPLOYED: _flips(deployed(paired, BEFORE), deployed(paired, AFTER)),
        **{name: _flips(one.right[BEFORE], one.right[AFTER]) for name, one in paired.conditions.items()},
    }
    checks = judge(rise.mean, rise.interval, flips[DEPLOYED], limits)
    groups = _groups(paired)
    return GateResult(
        verdict=overall(checks),
        summary=summary(checks, rise.mean, rise.interval, rise.n, flips[DEPLOYED], limits),
        checks=checks,
        delta_before=deltas[BEFORE].mean,
        delta_before_ci95=deltas[BEFORE].interval,
        delta_after=deltas[AFTER].mean,
        delta_after_ci95=deltas[AFTER].interval,
        rise=rise.mean,
        ci95=rise.interval,
        p=rise.p,
        n=rise.n,
        flips=flips,
        accuracy={name: _accuracy(one) for name, one in paired.conditions.items()},
        groups=groups,
        limits=limits,
        baseline=_relative(gains) if BASELINE in models else None,
        calibration={name: _calibration(one) for name, one in paired.conditions.items() if one.confidence},
        seeds=_seed_rows(paired),
        warnings=(*paired.warnings, *_warnings(paired, groups, limits)),
        sources={role: given.name for role, given in models.items()},
    )


def checked_limits(max_delta: float, max_flips: float | None) -> Limits:
    """The limits; values that no share can have are refused."""
    for name, value, highest, example in (("delta", max_delta, 2, 0.02), ("flips", max_flips, 1, 0.01)):
        if value is not None and (not isinstance(value, int | float) or not 0 <= value <= highest):
            raise InputError(f"--max-{name} is {value}: give a number from 0 to {highest}, e.g. {example}")
    return Limits(max_delta=max_delta, max_flips=max_flips)


def _mean(values: FloatArray, bound: float, level: float = 0.95) -> BoundedMean:
    """Over examples; several seeds are averaged within an example first, because they share it."""
    return bounded_mean(np.round(values.mean(axis=1), _DECIMALS), -bound, bound, level)


def _flips(before: FloatArray, after: FloatArray) -> FlipShare:
    negative = float((before * (1 - after)).mean())
    positive = float(((1 - before) * after).mean())
    return FlipShare(n=len(before), negative=negative, ci95=exact_interval(negative, len(before)), positive=positive)


def _accuracy(measured: Measured) -> AccuracyChange:
    before, after = measured.right[BEFORE], measured.right[AFTER]
    change = _mean(after - before, 1.0)
    return AccuracyChange(
        n=change.n, before=float(before.mean()), after=float(after.mean()), change=change.mean, ci95=change.interval
    )


def _groups(paired: Paired) -> dict[str, Slices]:
    found = {"group": _slices(paired, paired.groups)} if paired.groups is not None else {}
    return found | {"label": _slices(paired, paired.labels)}


def _slices(paired: Paired, names: pd.Series) -> Slices:
    """Rise and accuracy with the cue by group or class; intervals are Bonferroni's, p values Holm's."""
    cue = paired.conditions[CUE]
    before, after = paired.gain(BEFORE), paired.gain(AFTER)
    codes, distinct = pd.factorize(names.reindex(cue.ids))
    members = [np.flatnonzero(codes == code) for code in range(len(distinct))]
    large = [(str(name), rows) for name, rows in zip(distinct, members, strict=True) if len(rows) >= FEWEST_IN_SLICE]
    level = 1 - 0.05 / max(1, len(large))
    rises = [_mean(after[rows] - before[rows], 2.0, level) for _, rows in large]
    adjusted = holm([rise.p for rise in rises])
    slices = []
    for (name, rows), rise, p_holm in zip(large, rises, adjusted, strict=True):
        assert p_holm is not None
        was, now = cue.right[BEFORE][rows], cue.right[AFTER][rows]
        slices.append(
            Slice(
                name=name,
                n=len(rows),
                accuracy_before=float(was.mean()),
                accuracy_after=float(now.mean()),
                negative_flips=float((was * (1 - now)).mean()),
                delta_before=float(before[rows].mean()),
                delta_after=float(after[rows].mean()),
                rise=rise.mean,
                ci95=rise.interval,
                p=rise.p,
                p_holm=p_holm,
            )
        )
    ordered = sorted(slices, key=lambda one: (-one.rise, one.name))
    return Slices(
        worst=ordered[0].name if ordered else None,
        lowest_accuracy=min(ordered, key=lambda one: one.accuracy_after).name if ordered else None,
        rows=tuple(ordered),
        left_out=len(distinct) - len(large),
        fewest=FEWEST_IN_SLICE,
    )


def _relative(gains: Mapping[str, FloatArray]) -> Relative:
    before, after = (_mean(gains[role] - gains[BASELINE], 2.0) for role in (BEFORE, AFTER))
    return Relative(
        delta_baseline=float(gains[BASELINE].mean()),
        sfr_rel_before=before.mean,
        sfr_rel_before_ci95=before.interval,
        sfr_rel_after=after.mean,
        sfr_rel_after_ci95=after.interval,
    )


def _calibration(measured: Measured) -> CalibrationChange:
    ece, brier = {}, {}
    for role in (BEFORE, AFTER):
        confidence, right = measured.confidence[role], measured.right[role]
        ece[role] = expected_calibration_error(confidence.ravel(), right.ravel() > 0)
        brier[role] = measured.brier[role] if measured.brier else (confidence - right) ** 2
    changes = (brier[AFTER] - brier[BEFORE]).mean(axis=1)
    before, after = ece[BEFORE], ece[AFTER]
    assert before is not None
    assert after is not None
    return CalibrationChange(
        n=len(changes),
        ece_before=before,
        ece_after=after,
        brier="all classes" if measured.brier else "prediction",
        brier_before=float(brier[BEFORE].mean()),
        brier_after=float(brier[AFTER].mean()),
        brier_ci95=summarise(changes.tolist()).ci95,
    )


def _seed_rows(paired: Paired) -> tuple[SeedRow, ...]:
    """One row a pair of models; none where there is only one pair."""
    if len(paired.seeds) == 1:
        return ()
    before, after = paired.gain(BEFORE).mean(axis=0), paired.gain(AFTER).mean(axis=0)
    return tuple(
        SeedRow(seed=seed, delta_before=float(b), delta_after=float(a), rise=float(a - b))
        for seed, b, a in zip(paired.seeds, before, after, strict=True)
    )


def _warnings(paired: Paired, groups: Mapping[str, Slices], limits: Limits) -> list[str]:
    found = []
    for kind, slices in groups.items():
        risen = [one.name for one in slices.rows if one.rise > limits.max_delta and one.p_holm < 0.05]
        if risen:
            shown = ", ".join(f"'{name}'" for name in risen[:3]) + (
                f" and {len(risen) - 3} more" if len(risen) > 3 else ""
            )
            what = "class" if kind == "label" else kind
            what += ("es" if kind == "label" else "s") if len(risen) > 1 else ""
            found.append(f"Reliance rose above the limit in {what} {shown} (Holm-adjusted p < 0.05).")
    covered = paired.conditions["covered"].right
    if all(float(covered[role].mean()) < 0.01 for role in (BEFORE, AFTER)):
        found.append(
            "With the cue covered both models are almost always wrong: Delta equals the accuracy with the cue."
        )
    if len(paired.seeds) > 1:
        found.append(
            f"The interval covers the choice of examples for these {len(paired.seeds)} pairs of models, not the choice of seeds."
        )
    return found
