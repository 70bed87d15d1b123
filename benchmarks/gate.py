"""``einstellung gate``: its time on 10,000 pairs, its false failures and passes, the coverage of its interval, its power.

Pairs of models are drawn from a threshold model: an example has a difficulty that both models share, a part of its own for each
model, and noise for each condition. Reliance and accuracy are then known, at floors and ceilings too.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtri

from benchmarks.measuring import Spread, core_seconds, row, wall_seconds
from einstellung.gating.result import Interval
from einstellung.gating.verdict import judge_rise
from einstellung.metrics.bounded_means import bounded_mean

Right = npt.NDArray[np.float64]
LIMIT = 0.02  # the default of --max-delta
SIZES = (200, 500, 2000)
SECONDS = 2.0
FALSE_FAILURES, FALSE_PASSES, DETECTED = 0.05, 0.05, 0.9


@dataclass(frozen=True)
class Setting:
    """True accuracies of the old model with the cue and covered, the true rise, and how much two models have in common."""

    name: str
    cue: float
    covered: float
    shared: float = 0.7
    rise: float = 0.0
    swaps: bool = False  # the rise is in few examples, whose both answers change

    def outcomes(self, n: int, draws: np.random.Generator) -> tuple[Right, Right]:
        """By example, right with the cue minus right covered: of the old and of the new model."""
        if self.swaps:
            swapped = draws.random(n) < self.rise / 2
            return np.where(swapped, -1.0, 0.0), np.where(swapped, 1.0, 0.0)
        common = draws.normal(size=n)
        gains = []
        for rise in (0.0, self.rise):
            own = draws.normal(size=n)
            latent = np.sqrt(self.shared) * common + np.sqrt(0.6 * (1 - self.shared)) * own
            noise = np.sqrt(0.4 * (1 - self.shared))
            # half of a rise is gained with the cue, half is lost with the cue covered, where there is room
            up = min(rise / 2, 0.999 - self.cue) if rise else 0.0
            right = [
                latent + noise * draws.normal(size=n) < ndtri(accuracy)
                for accuracy in (self.cue + up, self.covered - (rise - up))
            ]
            gains.append(right[0].astype(float) - right[1])
        return gains[0], gains[1]


MIDDLE = Setting("accuracy 0.90 with the cue, 0.70 covered", 0.9, 0.7)
SETTINGS = (
    MIDDLE,
    replace(MIDDLE, name="the same, models that share little", shared=0.3),
    Setting("ceiling: 0.995 and 0.99", 0.995, 0.99),
    Setting("floor: 0.02 and 0.01", 0.02, 0.01),
    Setting("cue is all: 0.99 and 0.01", 0.99, 0.01),
)
ABOVE = 0.025  # a true rise above the limit: a pass is false
RISEN = (
    replace(MIDDLE, rise=ABOVE),
    replace(SETTINGS[2], rise=ABOVE),
    Setting("few examples, each by 2", 1.0, 1.0, rise=ABOVE, swaps=True),
)


def score_interval(d: Right) -> Interval:
    return bounded_mean(d, -2, 2).interval


def wald_interval(d: Right) -> Interval:
    """The usual paired interval, which the gate does not use: mean and standard error of the sample."""
    half = 1.959964 * float(d.std(ddof=1)) / np.sqrt(len(d))
    return float(d.mean()) - half, float(d.mean()) + half


def adjusted_interval(d: Right) -> Interval:
    """Bonett and Price's idea for one pair of shares: an example of +1 and one of -1 added."""
    more = np.concatenate([d, [1.0, -1.0]])
    half = 1.959964 * float(more.std()) / np.sqrt(len(more))
    return float(more.mean()) - half, float(more.mean()) + half


INTERVALS: dict[str, Callable[[Right], Interval]] = {
    "score": score_interval,
    "Wald": wald_interval,
    "adjusted Wald": adjusted_interval,
}


def pairs(setting: Setting, n: int, repeats: int, seed: int = 0) -> Iterator[Right]:
    draws = np.random.default_rng([n, *setting.name.encode(), *([seed] if seed else [])])
    for _ in range(repeats):
        before, after = setting.outcomes(n, draws)
        yield after - before


def rates(setting: Setting, n: int, repeats: int, seed: int = 0) -> dict[str, Any]:
    """Shares of verdicts, and for every interval how often it holds the true rise."""
    held = dict.fromkeys(INTERVALS, 0)
    verdicts: dict[str, list[str]] = {name: [] for name in INTERVALS}
    for d in pairs(setting, n, repeats, seed):
        for name, of in INTERVALS.items():
            low, high = of(d)
            held[name] += int(low <= setting.rise + 1e-12 and setting.rise - 1e-12 <= high)
            verdicts[name].append(judge_rise(float(d.mean()), (low, high), LIMIT))
    shares = {verdict: verdicts["score"].count(verdict) / repeats for verdict in ("fail", "pass", "inconclusive")}
    return {
        "verdicts": shares,
        "coverage": {name: count / repeats for name, count in held.items()},
        "passes": {name: given.count("pass") / repeats for name, given in verdicts.items()},
    }


def measure(short: bool) -> dict[str, Any]:
    repeats = 200 if short else 1000
    rows = _timed(3 if short else 7)
    for setting in SETTINGS:
        for n in SIZES:
            found = rates(setting, n, repeats)
            share = found["verdicts"]["fail"]
            words = ", ".join(f"{name} {value:.3f}" for name, value in found["coverage"].items())
            rows.append(
                row(
                    f"false failures, {repeats:,} null pairs, n = {n:,}, {setting.name}",
                    f"{share:.1%} (pass {found['verdicts']['pass']:.1%}; coverage: {words})",
                    f"at most {FALSE_FAILURES:.0%}",
                    share <= FALSE_FAILURES,
                    **found,
                )
            )
    rows += [] if short else [_coverage_again()]
    for setting in RISEN:
        for n in SIZES:
            found = rates(setting, n, repeats)
            words = ", ".join(f"{name} {value:.1%}" for name, value in found["passes"].items() if name != "score")
            rows.append(
                row(
                    f"false passes, true rise {ABOVE}, {repeats:,} pairs of models, n = {n:,}, {setting.name}",
                    f"{found['verdicts']['pass']:.1%} (with other intervals: {words})",
                    f"at most {FALSE_PASSES:.0%}",
                    found["verdicts"]["pass"] <= FALSE_PASSES,
                    **found,
                )
            )
    for setting in SETTINGS[:2]:
        found = rates(replace(setting, rise=0.05), 2000, repeats)
        share = found["verdicts"]["fail"]
        rows.append(
            row(
                f"rise of 0.05 detected, {repeats:,} pairs of models, n = 2,000, {setting.name}",
                f"{share:.1%} (false passes {found['verdicts']['pass']:.1%})",
                f"at least {DETECTED:.0%}",
                share >= DETECTED,
                **found,
            )
        )
    return {"rows": rows}


def _coverage_again() -> dict[str, Any]:
    """Of the cell whose 1,000 pairs gave the lowest coverage, on other draws: whether that was chance."""
    setting, n, repeats = SETTINGS[3], 2000, 12_000
    found = rates(setting, n, repeats, seed=1)
    words = ", ".join(f"{name} {value:.3f}" for name, value in found["coverage"].items())
    return row(f"coverage on {repeats:,} other null pairs, n = {n:,}, {setting.name}", words, **found)


def _timed(repeats: int) -> list[dict[str, Any]]:
    """What a user waits, and what of it the command itself needs: the first depends on whoever else is at work."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.csv" for name in ("before", "after")]
        for seed, path in enumerate(paths):
            predictions(10_000, seed).to_csv(path, index=False)
        command = [sys.executable, "-m", "benchmarks.einstellung_command", "gate", "--json"]
        command += ["--before", str(paths[0]), "--after", str(paths[1]), "--inconclusive", "pass", "--max-delta", "1"]
        run = partial(subprocess.run, command, check=True, capture_output=True)
        took = Spread.of([wall_seconds(run) for _ in range(repeats)])
        used = Spread.of([core_seconds(run) for _ in range(repeats)])
    what = "`einstellung gate --json`, 10,000 pairs (two files of 30,000 rows with groups and probabilities)"
    return [
        row(what, took.words(2, "s"), f"at most {SECONDS:g} s", took.median <= SECONDS),
        row("the same in core-seconds", used.words(2, "core-s")),
    ]


def predictions(n: int, seed: int) -> pd.DataFrame:
    """Examples of ten classes and four groups, with the cue, covered and clean."""
    draws, shared = np.random.default_rng(seed), np.random.default_rng(99)
    label, group = shared.integers(0, 10, n), shared.integers(0, 4, n)
    parts = []
    for condition, accuracy in (("cue", 0.9), ("covered", 0.7), ("clean", 0.88)):
        right = draws.random(n) < accuracy
        parts.append(
            pd.DataFrame(
                {
                    "id": np.arange(n),
                    "label": label,
                    "prediction": np.where(right, label, (label + 1) % 10),
                    "condition": condition,
                    "group": group,
                    "probability": draws.uniform(0.5, 1, n).round(4),
                }
            )
        )
    return pd.concat(parts)
