"""The implementation guide's 'Expected Results' and 'Scientific Validation' against what was measured.

A claim holds if the whole 95 % interval of the mean over seeds agrees with it, and fails if the whole interval disagrees.
Otherwise, or with fewer than three seeds or an undefined value, it cannot be told. Only the numbers are compared, not the causes
that the guide gives for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from einstellung.diagnoses.rigidity.patterns import FEWEST_SEEDS
from einstellung.guide.card import T1_AFTER_T1, GuideCard, GuideMethod, GuideRun
from einstellung.metrics.curves import TOLERANCE
from einstellung.metrics.statistics import Summary, summarise
from einstellung.timeline import NSC, SC_MASK, SC_PATCH, T1_ALL

Holds = Literal["yes", "no", "cannot be told"]

EXPECTED, VALIDATION = "Expected Results", "Scientific Validation"
REPLAY = ("er", "der", "derpp", "dgr")
REGULARISATION = ("ewc_on", "ewc")


@dataclass(frozen=True)
class Claim:
    """One claim for one method (or pair of groups): the comparison, its result, and whether the claim holds.

    ``why``: why it cannot be told; ``note``: what the comparison cannot show in any case.
    """

    source: str
    claim: str
    method: str
    compared: str
    measured: str
    n: int
    mean: float | None
    ci95: tuple[float, float] | None
    holds: Holds
    why: str | None
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "ci95": None if self.ci95 is None else list(self.ci95)}


@dataclass(frozen=True)
class _Range:
    """The range of a mean; ``strict``: the bounds are excluded."""

    low: float = -math.inf
    high: float = math.inf
    strict: bool = False

    def holds(self, low: float, high: float) -> bool:
        slack = TOLERANCE if self.strict else -TOLERANCE
        return low >= self.low + slack and high <= self.high - slack

    def fails(self, low: float, high: float) -> bool:
        slack = -TOLERANCE if self.strict else TOLERANCE
        return high < self.low - slack or low > self.high + slack


_ABOVE_0, _BELOW_0 = _Range(low=0.0, strict=True), _Range(high=0.0, strict=True)
_EXPECTED = (
    ("SGD", ("sgd",), "high rigidity: score above 0.6", _Range(low=0.6, strict=True)),
    ("EWC", REGULARISATION, "moderate rigidity: score from 0.4 to 0.6", _Range(0.4, 0.6)),
    ("DER++", ("derpp",), "lower rigidity: score from 0.3 to 0.5", _Range(0.3, 0.5)),
)
_DIFFERENCES = (
    ("T2 shortcut classes achieve higher accuracy than non-shortcut classes", (SC_PATCH, NSC), _ABOVE_0),
    ("accuracy drops when shortcuts are masked", (SC_PATCH, SC_MASK), _ABOVE_0),
    ("T1 performance degrades when shortcuts are present", (T1_ALL, T1_AFTER_T1), _BELOW_0),
)
_COMPARED = {T1_ALL: f"{T1_ALL} at the end of T2", T1_AFTER_T1: f"{T1_ALL} at the end of T1"}
_NOTES = {
    T1_AFTER_T1: "T1 is compared before and after a T2 with the cue; without a T2 that lacks it, the loss cannot be attributed "
    "to the cue"
}
_STRATEGIES = "replay methods show lower rigidity than regularisation methods"


def guide_claims(card: GuideCard) -> list[Claim]:
    """Every claim of the guide against a guide card.

    >>> card = GuideCard(baseline="scratch_t2", final="last", threshold=0.8, methods={})
    >>> [claim.holds for claim in guide_claims(card)][:2]
    ['cannot be told', 'cannot be told']
    """
    methods = card.methods
    return [*_expected(methods), *_validated(methods), _strategies(methods)]


def _expected(methods: Mapping[str, GuideMethod]) -> Iterator[Claim]:
    for name, spellings, words, where in _EXPECTED:
        found = [method for method in methods if method.lower() in spellings]
        if not found:
            yield _unmeasured(EXPECTED, f"{name}: {words}", spellings[0], "eri_score", f"no run of {spellings[0]}")
        for method in found:
            scores = _of_seeds(methods[method], lambda run: run.eri_score)
            why = methods[method].why_undefined
            yield _judged(EXPECTED, f"{name}: {words}", method, "eri_score", scores, where, "score {mean:.3f}", why)


def _validated(methods: Mapping[str, GuideMethod]) -> Iterator[Claim]:
    for claim, (first, second), where in _DIFFERENCES:
        compared = f"{_COMPARED.get(first, first)} minus {_COMPARED.get(second, second)}"
        measured = False
        for method, record in methods.items():
            pairs = [_pair(run.accuracies, first, second) for run in record.per_seed.values()]
            known = [pair for pair in pairs if pair is not None]
            if not known:
                continue
            measured = True
            means = [sum(side) / len(known) for side in zip(*known, strict=True)]
            words = f"{means[0]:.3f} against {means[1]:.3f}: {{mean:+.3f}}"
            differences = [None if pair is None else pair[0] - pair[1] for pair in pairs]
            one = _judged(VALIDATION, claim, method, compared, differences, where, words, None)
            yield replace(one, note=_NOTES.get(second))
        if not measured:
            yield _unmeasured(VALIDATION, claim, "all", compared, f"no run has both {first} and {second}")


def _pair(accuracies: Mapping[str, float | None], first: str, second: str) -> tuple[float, float] | None:
    one, other = accuracies.get(first), accuracies.get(second)
    return None if one is None or other is None else (one, other)


def _strategies(methods: Mapping[str, GuideMethod]) -> Claim:
    """Per seed: the mean score of the replay methods minus that of the regularisation methods."""
    groups = [[method for method in methods if method.lower() in family] for family in (REPLAY, REGULARISATION)]
    for members, family, known in zip(groups, ("replay", "regularisation"), (REPLAY, REGULARISATION), strict=True):
        if not members:
            why = f"no run of a {family} method ({', '.join(known)})"
            return _unmeasured(VALIDATION, _STRATEGIES, "all", "eri_score of the two groups", why)
    replay, regularisation = groups
    scores = {
        method: {seed: run.eri_score for seed, run in methods[method].per_seed.items()}
        for method in (*replay, *regularisation)
    }
    # A seed counts where every method of both groups has a score: otherwise the groups' means would change their members.
    seeds = dict.fromkeys(seed for own in scores.values() for seed in own)
    differences: list[float | None] = []
    for seed in seeds:
        own = [[scores[method].get(seed) for method in group] for group in groups]
        whole = [[value for value in group if value is not None] for group in own]
        complete = all(len(some) == len(group) for some, group in zip(whole, groups, strict=True))
        differences.append(_mean(whole[0]) - _mean(whole[1]) if complete else None)
    lacking = [f"{method}: {methods[method].why_undefined}" for method in scores if methods[method].why_undefined]
    return _judged(
        VALIDATION,
        _STRATEGIES,
        f"{', '.join(replay)} against {', '.join(regularisation)}",
        "mean eri_score of the replay methods minus that of the regularisation methods, seed by seed",
        differences,
        _BELOW_0,
        "difference {mean:+.3f}",
        "; ".join(lacking) or "no seed in which every method has a score",
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _of_seeds(record: GuideMethod, value: Callable[[GuideRun], float | None]) -> list[float | None]:
    return [value(run) for run in record.per_seed.values()]


def _judged(
    source: str,
    claim: str,
    method: str,
    compared: str,
    values: Sequence[float | None],
    where: _Range,
    words: str,
    why_undefined: str | None,
) -> Claim:
    summary = summarise(values)
    if summary.mean is None:
        return _unmeasured(source, claim, method, compared, why_undefined or "not measured")
    holds, why = _decision(summary, where)
    seeds = f"{summary.n} of {len(values)} seeds" if summary.n < len(values) else f"{summary.n} seeds"
    seeds = "1 seed" if len(values) == 1 else seeds
    interval = "" if summary.ci95 is None else "95 % interval {:.3f} to {:.3f}, ".format(*summary.ci95)
    measured = f"{words.format(mean=summary.mean)} ({interval}{seeds})"
    return Claim(source, claim, method, compared, measured, summary.n, summary.mean, summary.ci95, holds, why)


def _decision(summary: Summary, where: _Range) -> tuple[Holds, str | None]:
    mean, ci95 = summary.mean, summary.ci95
    assert mean is not None
    if summary.n < FEWEST_SEEDS or ci95 is None:
        points = "for" if where.holds(mean, mean) else "against"
        seeds = f"{summary.n} seed{'s' * (summary.n > 1)}"
        return "cannot be told", f"{seeds}: at least {FEWEST_SEEDS} are needed (the mean is {points} it)"
    if where.holds(*ci95):
        return "yes", None
    if where.fails(*ci95):
        return "no", None
    return "cannot be told", "the 95 % interval crosses the bound"


def _unmeasured(source: str, claim: str, method: str, compared: str, why: str) -> Claim:
    return Claim(source, claim, method, compared, "nothing", 0, None, None, "cannot be told", why)
