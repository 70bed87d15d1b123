"""The gate's decision rule, and the line that states it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from einstellung.gating.result import FlipShare, Interval, Limits, Relative, Verdict
from einstellung.report.notation import number

RELIANCE, FLIPS = "reliance", "flips"
DEPLOYED = "deployed"


def judge_rise(rise: float, ci95: Interval, limit: float) -> Verdict:
    """Fail: the rise is above the limit and its interval above 0. Pass: the whole interval is at or below the limit.

    >>> judge_rise(0.05, (0.01, 0.09), 0.02), judge_rise(0.0, (-0.01, 0.01), 0.02), judge_rise(0.01, (-0.02, 0.04), 0.02)
    ('fail', 'pass', 'inconclusive')
    """
    if ci95[0] > 0 and rise > limit:
        return "fail"
    return "pass" if ci95[1] <= limit else "inconclusive"


def judge_flips(ci95: Interval, limit: float) -> Verdict:
    """Fail: the whole interval is above the limit. Pass: it is at or below it.

    >>> judge_flips((0.02, 0.04), 0.01), judge_flips((0.0, 0.01), 0.01), judge_flips((0.005, 0.02), 0.01)
    ('fail', 'pass', 'inconclusive')
    """
    if ci95[0] > limit:
        return "fail"
    return "pass" if ci95[1] <= limit else "inconclusive"


def overall(checks: Mapping[str, Verdict]) -> Verdict:
    """One failure fails; all must pass to pass."""
    found = set(checks.values())
    return "fail" if "fail" in found else "pass" if found == {"pass"} else "inconclusive"


def judge(rise: float, ci95: Interval, flips: FlipShare, limits: Limits) -> dict[str, Verdict]:
    """The verdict of every limit that is set."""
    checks: dict[str, Verdict] = {RELIANCE: judge_rise(rise, ci95, limits.max_delta)}
    if limits.max_flips is not None:
        checks[FLIPS] = judge_flips(flips.ci95, limits.max_flips)
    return checks


def summary(
    checks: Mapping[str, Verdict], rise: float, ci95: Interval, n: int, flips: FlipShare, limits: Limits
) -> str:
    """The verdict in one line: what decided it first."""
    order = {"fail": 0, "inconclusive": 1, "pass": 2}
    parts = {
        RELIANCE: reliance_words(checks[RELIANCE], rise, ci95, n, limits.max_delta),
        **({FLIPS: flip_words(checks[FLIPS], flips, limits.max_flips)} if limits.max_flips is not None else {}),
    }
    said = [parts[name] for name in sorted(checks, key=lambda name: order[checks[name]])]
    return f"{overall(checks).upper()}: {'; '.join(said)}"


def reliance_words(verdict: Verdict, rise: float, ci95: Interval, n: int, limit: float) -> str:
    """What the data say about reliance. Without a model from scratch nobody can say 'rigid'."""
    measured = f"{number(rise, signed=True)} {bracket(ci95)}"
    if verdict == "fail":
        return f"reliance rose by {measured}, above the limit {limit:g}"
    if verdict == "pass":
        fell = " (it fell)" if ci95[1] < 0 else ""
        return f"reliance changed by {measured}{fell}, within the limit {limit:g}"
    return f"reliance changed by {measured}, not conclusive for the limit {limit:g}{more_pairs(rise, ci95, n, limit)}"


def flip_words(verdict: Verdict, flips: FlipShare, limit: float) -> str:
    measured = f"negative flips {number(flips.negative)} [{number(flips.ci95[0])}, {number(flips.ci95[1])}]"
    words = {"fail": "above", "pass": "within", "inconclusive": "not conclusive for"}
    return f"{measured}, {words[verdict]} the limit {limit:g}"


def more_pairs(rise: float, ci95: Interval, n: int, limit: float) -> str:
    """How many pairs would settle it if the estimates stay as they are; nothing where the rise is at the limit."""
    distance, half = (limit - rise, ci95[1] - rise) if rise <= limit else (rise, rise - ci95[0])
    if distance <= 1e-9:
        return ""
    needed = n * (half / distance) ** 2
    if needed > 1e6:
        return ""
    digits = 10 ** max(0, math.floor(math.log10(needed)) - 1)
    return f" (about {math.ceil(needed / digits) * digits:,} pairs would settle it)"


def rigidity_words(relative: Relative) -> str:
    """What a model from scratch adds: only then can reliance be called rigidity."""
    after = f"SFR_rel is {number(relative.sfr_rel_after, signed=True)} {bracket(relative.sfr_rel_after_ci95)} after the update"
    before = f"{number(relative.sfr_rel_before, signed=True)} {bracket(relative.sfr_rel_before_ci95)} before it"
    if relative.sfr_rel_after_ci95[0] > 0:
        meaning = "the new model relies on the cue more than a model trained from scratch, a sign of rigidity"
    elif relative.sfr_rel_after_ci95[1] < 0:
        meaning = "the new model relies on the cue less than a model trained from scratch, no sign of rigidity"
    else:
        meaning = "no difference from a model trained from scratch is shown"
    return f"{after} and was {before}: {meaning}."


def bracket(ci95: Interval) -> str:
    return f"[{number(ci95[0], signed=True)}, {number(ci95[1], signed=True)}]"
