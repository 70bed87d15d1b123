"""Does the order of the tasks confound? Cumulative minus joint training on unconfounded images, paired by seed.

Both end with the same data; only cumulative training saw it task after task. If it stays below joint training by more than the
margin, confounding is insidious. That is certain only with at least :data:`FEWEST_SEEDS` pairs, an interval that lies below the
negative margin as a whole, and a one-sided t test against it with p <= :data:`LEVEL`.
"""

from __future__ import annotations

from collections.abc import Mapping

from einstellung.diagnoses.confounding.card import MethodMeasurements, OrderEffect, OrderEvidence
from einstellung.diagnoses.confounding.splits import UNCONFOUNDED
from einstellung.diagnoses.wording import points
from einstellung.metrics.statistics import p_beyond, summarise

JOINT, CUMULATIVE = "joint", "cumulative"
FEWEST_SEEDS = 3
LEVEL = 0.05


def order_effect(methods: Mapping[str, MethodMeasurements], margin: float) -> OrderEffect | None:
    """The paired difference and how sure it is; None without a seed that both methods have."""
    if JOINT not in methods or CUMULATIVE not in methods:
        return None
    cumulative, joint = methods[CUMULATIVE].per_seed, methods[JOINT].per_seed
    differences = {}
    for seed, values in cumulative.items():
        one, other = values[UNCONFOUNDED], joint.get(seed, {}).get(UNCONFOUNDED)
        if one is not None and other is not None:
            differences[seed] = one - other
    if not differences:
        return None
    paired = list(differences.values())
    difference, uncut = summarise(paired, bounds=(-1.0, 1.0)), summarise(paired).ci95
    below, above = p_beyond(paired, -margin, "below"), p_beyond(paired, -margin, "above")
    assert difference.mean is not None
    evidence: OrderEvidence = "by the means only" if difference.mean < -margin else "not conclusive"
    if len(paired) >= FEWEST_SEEDS and difference.ci95 is not None and below is not None and above is not None:
        if difference.ci95[1] < -margin and below <= LEVEL:
            evidence = "certain"
        elif difference.ci95[0] > -margin and above <= LEVEL:
            evidence = "ruled out"
    return OrderEffect(
        difference=difference,
        half_width=None if uncut is None else (uncut[1] - uncut[0]) / 2,
        per_seed=differences,
        p_below_margin=below,
        margin=margin,
        evidence=evidence,
    )


def describe_order(effect: OrderEffect) -> str:
    """The difference with its interval and test, and what follows.

    >>> summary, pair = summarise([-0.2, -0.1]), {"1": -0.2, "2": -0.1}
    >>> describe_order(OrderEffect(difference=summary, half_width=0.635, per_seed=pair, p_below_margin=0.25, margin=0.1,
    ...     evidence="by the means only"))
    'cumulative minus joint training -15.0 ± 63.5 points over 2 seeds (p 0.250 for below -10.0): by the means only'
    """
    difference, seeds = effect.difference, len(effect.per_seed)
    assert difference.mean is not None
    words = f"cumulative minus joint training {points(difference.mean)}"
    if effect.half_width is None or effect.p_below_margin is None:
        return f"{words} points with one seed: {effect.evidence}"
    test = f"p {effect.p_below_margin:.3f} for below {points(-effect.margin)}"
    return f"{words} ± {points(effect.half_width)} points over {seeds} seeds ({test}): {effect.evidence}"
