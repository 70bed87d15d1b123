"""The operating characteristic of verdicts, on runs made of noise whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from benchmarks.verdicts import controls, table
from benchmarks.verdicts.resampling import HIGH_RIGIDITY, UNDECIDED, Pool, judge, rates, shares
from einstellung.diagnoses.rigidity.error_rates import FILE
from einstellung.diagnoses.rigidity.floor import Floor
from einstellung.diagnoses.rigidity.measurements import Accuracies, PhaseAccuracies, RunMeasures
from einstellung.diagnoses.rigidity.settings import RigiditySettings

SETTINGS, FLOOR = RigiditySettings(), Floor.of(36)


def noisy_run(
    seed: int, rng: np.random.Generator, time: float = 8.0, patched: float = 0.8, masked: float = 0.4
) -> RunMeasures:
    noise = rng.normal(0.0, 0.03, 3)
    found = Accuracies(patched + noise[0], masked + noise[1], 0.7 + noise[2], None, None, None, None, None)
    nothing = Accuracies(*[None] * 8)
    reached = float(max(1, round(time + rng.normal(0.0, 1.0))))
    return RunMeasures(
        "m",
        seed,
        reached,
        (reached,) * 7,
        12.0,
        1.0,
        1.0,
        12.0,
        found,
        nothing,
        {},
        PhaseAccuracies(((None, None),) * 2, None),
        None,
    )


def noisy_runs(count: int, seed: int = 0, **means: float) -> dict[int, RunMeasures]:
    rng = np.random.default_rng(seed)
    return {number: noisy_run(number, rng, **means) for number in range(count)}


@pytest.fixture(scope="module")
def scratch() -> dict[int, RunMeasures]:
    return noisy_runs(60)


@pytest.mark.parametrize("seeds", [3, 8])
def test_two_arms_of_the_same_runs_are_hardly_ever_told_apart(scratch, seeds):
    found = shares(Pool(scratch, scratch, dealt=True), seeds, 300, np.random.default_rng(1), SETTINGS, FLOOR)
    for word in ("red-flag", "benign-avoidance", "benign-transfer", HIGH_RIGIDITY):
        assert found.get(word, 0.0) <= 0.05


def test_a_large_effect_is_found_and_is_found_more_often_with_more_seeds(scratch):
    pool = Pool(scratch, noisy_runs(60, 1, time=4.0, patched=0.9, masked=0.36))
    few, many = (shares(pool, n, 200, np.random.default_rng(2), SETTINGS, FLOOR) for n in (3, 8))
    assert few.get("red-flag", 0.0) < many["red-flag"]
    assert many["red-flag"] > 0.9


def test_a_study_has_as_many_different_runs_as_seeds(scratch):
    pool = Pool(scratch, scratch, dealt=True)
    baseline, method = pool.draw(np.random.default_rng(0), 12)
    drawn = [run.accuracies.SC_patch for arm in (baseline, method) for run in arm.values()]
    assert len(set(drawn)) == 24
    assert list(baseline) == list(method) == list(range(12))


def test_paired_arms_stay_paired(scratch):
    moved = {seed: table.shifted(run, accuracy=0.05) for seed, run in scratch.items()}
    baseline, method = Pool(scratch, moved).draw(np.random.default_rng(0), 10)
    for seed in range(10):
        assert method[seed].accuracies.SC_patch == pytest.approx(baseline[seed].accuracies.SC_patch + 0.05)


def test_the_interval_holds_the_share_and_widens_with_few_runs(scratch):
    effect = {seed: table.shifted(run, delay=-3.0, accuracy=0.05, masked=-0.08) for seed, run in scratch.items()}
    wide = rates(Pool(dict(list(scratch.items())[:10]), effect), 5, ("red-flag",), SETTINGS, FLOOR, 100, 8)["red-flag"]
    narrow = rates(Pool(scratch, effect), 5, ("red-flag",), SETTINGS, FLOOR, 100, 8)["red-flag"]
    assert wide.low <= wide.share <= wide.high
    assert narrow.high - narrow.low <= wide.high - wide.low


def test_an_undecided_study_says_so(scratch):
    baseline, method = Pool(scratch, scratch, dealt=True).draw(np.random.default_rng(3), 3)
    assert judge(baseline, method, SETTINGS, FLOOR) == (UNDECIDED,)


def test_which_words_are_false_follows_from_the_pool(scratch):
    dealt = Pool(scratch, scratch, dealt=True)
    assert "benign-transfer" in table.false_words("with a cue", dealt)
    blind = noisy_runs(60, 3, masked=0.8)
    words = table.false_words("sgd against scratch, no cue", Pool(blind, blind))
    assert "benign-transfer" not in words
    assert "cue-harmful" in words


def test_every_control_is_a_command_of_the_product():
    words = controls.command("habit", "python")
    assert words[:6] == ["python", "-m", "benchmarks.einstellung_command", "run", "--preset", "demo"]
    assert "cue.habit=same" in words


def test_a_rate_rests_on_sixty_stored_runs_none_of_which_chose_the_control():
    found = {name: controls.runs(name, SETTINGS) for name in controls.CONTROLS}
    for pools in (table.null_pools(found), table.power_pools(found)):
        assert all(pool.runs >= table.FEWEST_RUNS for pool in pools.values())
    assert min(found["habit"]["gpm"]) > controls.CONTROLS["habit"].seen > 0


def test_the_stored_rates_are_complete():
    stored = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    assert list(stored["seeds"]) == list(table.SEEDS)
    for at in stored["seeds"].values():
        for rate in (*at["false_alarms"].values(), *at["power"].values()):
            low, high = rate["ci95"]
            assert 0 <= low <= rate["share"] <= high <= 1
        assert set(at["power"]) == set(at["undecided"]["controls"]) == {*table.WORDS, HIGH_RIGIDITY}
        assert set(at["undecided"]["null studies"]) >= {rate["control"] for rate in at["false_alarms"].values()}
        for kind in at["undecided"].values():
            assert all(0 <= rate["ci95"][0] <= rate["share"] <= rate["ci95"][1] <= 1 for rate in kind.values())
        assert {"red-flag", "benign-avoidance", HIGH_RIGIDITY} <= set(at["false_alarms"])
