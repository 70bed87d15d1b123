"""``python -m benchmarks verdicts``: the operating characteristic of every verdict word.

Updates ``einstellung/diagnoses/rigidity/error_rates.yaml``, from which reports take the line under a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import yaml

from benchmarks.measuring import row
from benchmarks.verdicts.controls import BASELINE, CLASSES, CONTROLS, Runs, runs
from benchmarks.verdicts.resampling import HIGH_RIGIDITY, UNDECIDED, Pool, Rate, rates, shares
from einstellung.diagnoses.rigidity.error_rates import FILE
from einstellung.diagnoses.rigidity.floor import Floor
from einstellung.diagnoses.rigidity.measurements import RunMeasures
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.files import write_text

SEEDS = (3, 5, 8, 12)
MORE_SEEDS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
STUDIES, RESAMPLES = 1000, 60
AT_MOST, AT_LEAST, ENOUGH = 0.05, 0.90, 0.80
FEWEST_RUNS = 60  # that a rate rests on
WORDS = ("red-flag", "benign-avoidance", "benign-transfer", "shared-shortcut", "cue-harmful", "saturated")
SETTINGS = RigiditySettings()
FLOOR = Floor.of(CLASSES)


def measure(short: bool) -> dict[str, Any]:
    """All rows; the short form draws fewer studies and does not update the file of rates."""
    studies, resamples = (200, 10) if short else (STUDIES, RESAMPLES)
    found = {name: runs(name, SETTINGS) for name in CONTROLS}
    nulls, positives = null_pools(found), power_pools(found)
    pools = {id(pool): pool for pool in (*nulls.values(), *positives.values())}  # a pool may stand for several words
    with ProcessPoolExecutor() as workers:
        work = partial(_of_pool, studies=studies, resamples=resamples)
        rates_of = dict(zip(pools, workers.map(work, pools.values()), strict=True))
        wrong = {name: _only(rates_of[id(pool)], false_words(name, pool)) for name, pool in nulls.items()}
        power = {word: _only(rates_of[id(pool)], (word,)) for word, pool in positives.items()}
        found_with = workers.map(partial(seeds_for, studies=studies), positives, positives.values(), power.values())
        needed = dict(zip(positives, found_with, strict=True))
    if not short:
        write_text(FILE, as_yaml(wrong, power, needed, studies))
    rows = [_size_row([*nulls.values(), *positives.values()])]
    return {"rows": [*rows, *_false_rows(wrong, nulls), *_power_rows(power, needed, positives)]}


def _of_pool(pool: Pool, studies: int, resamples: int) -> dict[int, Mapping[str, Rate]]:
    """The rates of a pool by number of seeds."""
    every = (*WORDS, HIGH_RIGIDITY, UNDECIDED)
    return {n: rates(pool, n, every, SETTINGS, FLOOR, studies, resamples) for n in SEEDS}


def _only(by_seeds: Mapping[int, Mapping[str, Rate]], words: Sequence[str]) -> dict[int, Mapping[str, Rate]]:
    return {n: {word: found[word] for word in (*words, UNDECIDED)} for n, found in by_seeds.items()}


def null_pools(found: Mapping[str, Mapping[str, Runs]]) -> dict[str, Pool]:
    """Null pools: the history has no effect, or the cue is not predictive."""
    scratch = found["cue"][BASELINE]
    no_cue, independent = found["no-cue"], found["independent"]
    return {
        "scratch runs dealt into two arms, with a cue": Pool(scratch, scratch, dealt=True),
        "scratch runs dealt into two arms, general transfer planted in one": Pool(
            # sooner and better, with the cue and without: reliance is the same, and high
            scratch,
            scratch,
            dealt=True,
            plant=partial(shifted, delay=-6.0, accuracy=0.05),
        ),
        "scratch runs dealt into two arms, no cue": Pool(no_cue[BASELINE], no_cue[BASELINE], dealt=True),
        "scratch runs dealt into two arms, cue always": Pool(found["always"][BASELINE], {}, dealt=True),
        "sgd against scratch, no cue": Pool(no_cue[BASELINE], no_cue["sgd"]),
        "sgd against scratch, cue independent of the label": Pool(independent[BASELINE], independent["sgd"]),
    }


def false_words(name: str, pool: Pool) -> tuple[str, ...]:
    """The certain words that are false in a null pool."""
    words = ["red-flag", "benign-avoidance", HIGH_RIGIDITY]
    arm = pool.baseline if pool.dealt else pool.method
    reliance = float(np.mean([run.accuracies.delta or 0.0 for run in arm.values()]))
    if reliance > SETTINGS.margins.SFR_rel:
        words.append("benign-transfer")
    if "no cue" in name:
        words.append("cue-harmful")
    return tuple(words)


def power_pools(found: Mapping[str, Mapping[str, Runs]]) -> dict[str, Pool]:
    """For every word a pool in which it is true: the positive control, or an effect planted in real runs."""
    scratch, no_cue = found["cue"][BASELINE], found["no-cue"][BASELINE]
    unpaired, blind = Pool(scratch, scratch, dealt=True), Pool(no_cue, no_cue, dealt=True)
    habit = Pool(scratch, found["habit"]["gpm"])
    harmed = {seed: shifted(run, masked=0.1) for seed, run in no_cue.items()}
    return {
        "red-flag": habit,
        HIGH_RIGIDITY: habit,
        "shared-shortcut": unpaired,
        "saturated": Pool(found["always"][BASELINE], {}, dealt=True),
        # later and worse than scratch, no reliance in either
        "benign-transfer": replace(blind, plant=partial(shifted, delay=4.0, accuracy=-0.15)),
        # sooner and worse than a scratch model that relies on the cue, no reliance
        "benign-avoidance": Pool(scratch, no_cue, plant=partial(shifted, delay=-6.0, accuracy=-0.15)),
        # covering the cue helps scratch by 10 points
        "cue-harmful": Pool(harmed, no_cue),
    }


def shifted(run: RunMeasures, delay: float = 0.0, accuracy: float = 0.0, masked: float = 0.0) -> RunMeasures:
    """A run with an effect planted: later, and with other accuracies on the shortcut classes."""

    def moved(value: float | None, by: float) -> float | None:
        return None if value is None else min(1.0, max(0.0, value + by))

    own = run.accuracies
    accuracies = replace(own, SC_patch=moved(own.SC_patch, accuracy), SC_mask=moved(own.SC_mask, accuracy + masked))
    return replace(run, E=None if run.E is None else max(1.0, run.E + delay), accuracies=accuracies)


def seeds_for(word: str, pool: Pool, measured: Mapping[int, Mapping[str, Rate]], studies: int) -> int | None:
    """The smallest number of seeds of the grid at which the word is found in 80 % of studies; None beyond the grid."""
    for seeds in SEEDS:
        if measured[seeds][word].share >= ENOUGH:
            return seeds
    rng = np.random.default_rng(7)
    for seeds in MORE_SEEDS:
        if shares(pool, seeds, max(100, studies // 20), rng, SETTINGS, FLOOR).get(word, 0.0) >= ENOUGH:
            return seeds
    return None


def as_yaml(
    wrong: Mapping[str, Mapping[int, Mapping[str, Rate]]],
    power: Mapping[str, Mapping[int, Mapping[str, Rate]]],
    needed: Mapping[str, int | None],
    studies: int,
) -> str:
    """By number of seeds: of every word the highest rate of false alarms over the null pools and its power, and of every pool
    the share of studies without a certain verdict.
    """
    table: dict[str, Any] = {
        "source": f"python -m benchmarks verdicts: {studies} studies resampled for every pool and number of seeds",
        "seeds_for_80_percent": dict(needed),
        "seeds": {},
    }
    for n in SEEDS:
        false_alarms = {}
        for word in (*WORDS, HIGH_RIGIDITY):
            known = [(found[n][word], name) for name, found in wrong.items() if word in found[n]]
            if known:
                rate, name = max(known, key=lambda one: (one[0].share, one[0].high))
                false_alarms[word] = {**_plain(rate), "control": name}
        table["seeds"][n] = {
            "false_alarms": false_alarms,
            "power": {word: _plain(found[n][word]) for word, found in power.items()},
            "undecided": {
                "controls": {word: _plain(found[n][UNDECIDED]) for word, found in power.items()},
                "null studies": {name: _plain(found[n][UNDECIDED]) for name, found in wrong.items()},
            },
        }
    return "# Written by `python -m benchmarks verdicts`.\n" + yaml.safe_dump(table, sort_keys=False, width=120)


def _plain(rate: Rate) -> dict[str, Any]:
    return {"share": round(rate.share, 4), "ci95": [round(rate.low, 4), round(rate.high, 4)]}


def _words(rate: Rate) -> str:
    return f"{100 * rate.share:.1f} % ({100 * rate.low:.1f} to {100 * rate.high:.1f})"


def _by_seeds(rates: Mapping[int, Mapping[str, Rate]], word: str) -> str:
    return "; ".join(f"{n} seeds {_words(rates[n][word])}" for n in SEEDS)


def _runs(pool: Pool) -> str:
    return f"{pool.size} {'runs' if pool.dealt else 'pairs of runs'}"


def _size_row(pools: Sequence[Pool]) -> dict[str, Any]:
    fewest = min(pool.runs for pool in pools)
    return row("runs behind a rate, at the fewest", str(fewest), f"at least {FEWEST_RUNS}", fewest >= FEWEST_RUNS)


def _false_rows(
    wrong: Mapping[str, Mapping[int, Mapping[str, Rate]]], nulls: Mapping[str, Pool]
) -> list[dict[str, Any]]:
    rows = []
    for name, by_seeds in wrong.items():
        for word in by_seeds[SEEDS[0]]:
            shown = _by_seeds(by_seeds, word)
            if word == UNDECIDED:
                rows.append(row(f"{name} ({_runs(nulls[name])}): no certain verdict", shown, "no target", None))
            else:
                reached = all(by_seeds[n][word].share <= AT_MOST for n in SEEDS)
                rows.append(row(f"{name}: false '{word}'", shown, "at most 5 %", reached))
    return rows


def _power_rows(
    power: Mapping[str, Mapping[int, Mapping[str, Rate]]],
    needed: Mapping[str, int | None],
    positives: Mapping[str, Pool],
) -> list[dict[str, Any]]:
    rows = []
    for word, by_seeds in power.items():
        shown = _by_seeds(by_seeds, word)
        enough = f"80 % with {needed[word]} seeds" if needed[word] else f"80 % needs more than {MORE_SEEDS[-1]} seeds"
        if word == "red-flag":
            reached = by_seeds[8][word].share >= AT_LEAST
            rows.append(
                row("positive control (habit): 'red-flag' found", f"{shown}; {enough}", "at least 90 % with 8", reached)
            )
        else:
            rows.append(row(f"power of '{word}'", f"{shown}; {enough}", "no target", None))
        rows.append(
            row(
                f"... no certain verdict ({_runs(positives[word])})",
                _by_seeds(by_seeds, UNDECIDED),
                "no target",
                None,
            )
        )
    return rows
