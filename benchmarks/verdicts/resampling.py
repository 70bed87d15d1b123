"""Studies resampled from runs, each scored with the package's own verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import binomtest

from benchmarks.verdicts.controls import BASELINE, Runs
from einstellung.diagnoses.rigidity.assessment import assess
from einstellung.diagnoses.rigidity.floor import Floor
from einstellung.diagnoses.rigidity.measurements import RunMeasures
from einstellung.diagnoses.rigidity.methods import flag_certainty
from einstellung.diagnoses.rigidity.settings import RigiditySettings

HIGH_RIGIDITY = "high-rigidity"
UNDECIDED = "not conclusive"


@dataclass(frozen=True)
class Pool:
    """Runs of a baseline and of a method to draw studies from, paired by seed, or dealt from one set of runs.

    ``dealt``: both arms come from ``baseline``, without regard to seeds. ``plant``: an effect that is planted in the runs of
    the method.
    """

    baseline: Runs
    method: Runs
    dealt: bool = False
    plant: Callable[[RunMeasures], RunMeasures] | None = None

    @property
    def size(self) -> int:
        return len(self.baseline) if self.dealt else len(self.baseline.keys() & self.method.keys())

    @property
    def runs(self) -> int:
        """How many runs its studies are drawn from."""
        return self.size if self.dealt else 2 * self.size

    def resampled(self, rng: np.random.Generator) -> Pool:
        """The pool with its runs (pairs of runs) resampled with replacement."""
        keys = sorted(self.baseline if self.dealt else self.baseline.keys() & self.method.keys())
        drawn = [keys[place] for place in rng.integers(0, len(keys), len(keys))]
        baseline = {number: _as_seed(self.baseline[key], number) for number, key in enumerate(drawn)}
        if self.dealt:
            return replace(self, baseline=baseline)
        return replace(
            self, baseline=baseline, method={n: _as_seed(self.method[key], n) for n, key in enumerate(drawn)}
        )

    def draw(self, rng: np.random.Generator, seeds: int) -> tuple[Runs, Runs]:
        """The runs of a study with ``seeds`` seeds; with replacement only where there are not enough."""
        if self.dealt:
            keys = list(self.baseline)
            chosen = rng.choice(len(keys), 2 * seeds, replace=2 * seeds > len(keys))
            arms = [[self.baseline[keys[place]] for place in part] for part in (chosen[:seeds], chosen[seeds:])]
        else:
            keys = sorted(self.baseline.keys() & self.method.keys())
            places = rng.choice(len(keys), seeds, replace=seeds > len(keys))
            arms = [[arm[keys[place]] for place in places] for arm in (self.baseline, self.method)]
        own, other = ({number: _as_seed(run, number) for number, run in enumerate(arm)} for arm in arms)
        return own, other if self.plant is None else {seed: self.plant(run) for seed, run in other.items()}


def _as_seed(run: RunMeasures, seed: int) -> RunMeasures:
    return replace(run, seed=seed)


def judge(baseline: Runs, method: Runs, settings: RigiditySettings, floor: Floor) -> tuple[str, ...]:
    """The certain words of one study with a single method: its pattern and the high-rigidity flag, or that it is undecided."""
    found = assess("method", {BASELINE: baseline, "method": method}, BASELINE, settings, floor)
    assert found.decision is not None
    words = []
    if found.decision.certainty(found.p) == "holds":
        words.append(str(found.decision.pattern))
    if flag_certainty(found, found.flag_p) == "holds":
        words.append(HIGH_RIGIDITY)
    return tuple(words) or (UNDECIDED,)


def shares(
    pool: Pool, seeds: int, studies: int, rng: np.random.Generator, settings: RigiditySettings, floor: Floor
) -> dict[str, float]:
    """The share of studies with each certain word."""
    counts: Counter[str] = Counter()
    for _ in range(studies):
        counts.update(judge(*pool.draw(rng, seeds), settings, floor))
    return {word: count / studies for word, count in counts.items()}


@dataclass(frozen=True)
class Rate:
    """A share of studies with its 95 % interval by resampling runs."""

    share: float
    low: float
    high: float


def rates(
    pool: Pool,
    seeds: int,
    words: Sequence[str],
    settings: RigiditySettings,
    floor: Floor,
    studies: int,
    resamples: int,
) -> Mapping[str, Rate]:
    """The share of studies with each word, with the wider of two intervals: of the shares in pools whose runs were drawn anew,
    and the exact binomial one of the number of studies.
    """
    rng = np.random.default_rng((20260101, seeds))
    found = shares(pool, seeds, studies, rng, settings, floor)
    again = [shares(pool.resampled(rng), seeds, max(25, studies // 6), rng, settings, floor) for _ in range(resamples)]
    made = {}
    for word in words:
        spread = [one.get(word, 0.0) for one in again]
        low, high = np.quantile(spread, [0.025, 0.975]) if spread else (0.0, 1.0)
        share = found.get(word, 0.0)
        exact = binomtest(round(share * studies), studies).proportion_ci()
        made[word] = Rate(share, min(float(low), exact.low), max(float(high), exact.high))
    return made
