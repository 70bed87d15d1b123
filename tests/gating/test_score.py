"""The gate's numbers, worked by hand, and what must hold for any predictions."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from einstellung.errors import InputError
from einstellung.gating import gate
from einstellung.metrics.bounded_means import bounded_mean
from einstellung.metrics.statistics import holm
from tests.gating.tables import drawn, predictions

# ten examples; d = (after: cue - covered) - (before: cue - covered)
BEFORE = {"cue": [1, 1, 1, 1, 1, 1, 1, 0, 0, 0], "covered": [1, 1, 1, 1, 1, 0, 0, 1, 0, 0]}
AFTER = {"cue": [1, 1, 1, 1, 0, 1, 1, 1, 1, 0], "covered": [1, 1, 0, 0, 1, 0, 0, 0, 0, 1]}
D = [0, 0, 1, 1, -1, 0, 0, 2, 1, -1]


def test_worked_by_hand():
    found = gate(predictions(BEFORE), predictions(AFTER))
    assert found.delta_before == pytest.approx(0.1)  # 7 of 10 less 6 of 10
    assert found.delta_after == pytest.approx(0.4)  # 8 of 10 less 4 of 10
    assert found.rise == pytest.approx(0.3) == pytest.approx(np.mean(D))
    assert found.ci95 == bounded_mean(D, -2, 2).interval
    assert found.p == bounded_mean(D, -2, 2).p
    assert (found.n, found.verdict) == (10, "inconclusive")
    cue, covered = found.flips["cue"], found.flips["covered"]
    assert (cue.negative, cue.positive) == (pytest.approx(0.1), pytest.approx(0.2))
    assert (covered.negative, covered.positive) == (pytest.approx(0.3), pytest.approx(0.1))
    exact = binomtest(1, 10).proportion_ci(0.95, method="exact")
    assert cue.ci95 == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert found.flips["deployed"] == cue
    assert found.accuracy["covered"].change == pytest.approx(-0.2)


def test_the_keys_that_pipelines_read():
    keys = ["verdict", "delta_before", "delta_after", "rise", "ci95", "p", "flips", "accuracy", "groups", "limits"]
    found = json.loads(json.dumps(gate(predictions(BEFORE), predictions(AFTER)).to_json(), allow_nan=False))
    assert set(keys) <= set(found)
    assert found["limits"] == {"max_delta": 0.02, "max_flips": None}
    assert list(map(type, found["ci95"])) == [float, float]


def test_rows_are_matched_by_id_not_by_position():
    shuffled = predictions(AFTER).sample(frac=1, random_state=1)
    straight, turned = (gate(predictions(BEFORE), after) for after in (predictions(AFTER), shuffled))
    assert turned.rise == straight.rise
    assert turned.ci95 == straight.ci95
    assert turned.flips == straight.flips


def test_deployed_counts_every_example_once():
    clean_before = predictions({"clean": [1, 1, 1, 1]})
    clean_after = predictions({"clean": [0, 0, 1, 1]})
    clean_before["id"] = clean_after["id"] = ["x0", "y1", "y2", "y3"]  # x0 has its cue in use
    found = gate(
        pd.concat([predictions(BEFORE), clean_before]), pd.concat([predictions(AFTER), clean_after]), max_flips=0.5
    )
    assert found.flips["clean"].negative == pytest.approx(2 / 4)
    assert (found.flips["deployed"].n, found.flips["deployed"].negative) == (13, pytest.approx(2 / 13))
    assert set(found.checks) == {"reliance", "flips"}


def test_a_scratch_model_gives_the_relative_index_and_leaves_the_verdict():
    scratch = {"cue": [1] * 6 + [0] * 4, "covered": [1] * 5 + [0] * 5}
    alone = gate(predictions(BEFORE), predictions(AFTER))
    found = gate(predictions(BEFORE), predictions(AFTER), predictions(scratch))
    assert found.baseline.delta_baseline == pytest.approx(0.1)
    assert found.baseline.sfr_rel_before == pytest.approx(0.0)
    assert found.baseline.sfr_rel_after == pytest.approx(0.3)
    assert found.model_copy(update={"baseline": None, "sources": alone.sources}) == alone


def test_groups_and_classes_are_corrected_for_their_number():
    before, after = drawn(300, 0.9, 0.8, 1), drawn(300, 0.95, 0.7, 2)
    groups = {f"x{place}": f"g{place % 3}" for place in range(300)}
    before["group"], after["group"] = (frame["id"].map(groups) for frame in (before, after))
    found = gate(before, after).groups["group"]
    assert [one.n for one in found.rows] == [100, 100, 100]
    assert [one.rise for one in found.rows] == sorted((one.rise for one in found.rows), reverse=True)
    assert found.worst == found.rows[0].name
    assert [one.p_holm for one in found.rows] == holm([one.p for one in found.rows])
    right = {}
    for role, frame in (("before", before), ("after", after)):
        own = frame[frame["group"] == found.worst].assign(right=lambda f: (f["label"] == f["prediction"]).astype(int))
        wide = own.pivot(index="id", columns="condition", values="right")
        right[role] = wide["cue"] - wide["covered"]
    d = (right["after"] - right["before"]).to_numpy()
    assert found.rows[0].ci95 == pytest.approx(bounded_mean(d, -2, 2, 1 - 0.05 / 3).interval)


def test_small_slices_are_left_out_and_counted():
    found = gate(predictions(BEFORE), predictions(AFTER)).groups["label"]
    assert (found.rows, found.worst, found.left_out) == ((), None, 2)


def test_calibration_of_the_prediction_and_of_all_classes():
    before = predictions({"cue": [1, 0], "covered": [1, 1]}, probability=[0.75, 0.75, 1.0, 1.0])
    after = predictions({"cue": [1, 1], "covered": [1, 1]}, probability=[0.75, 0.75, 1.0, 1.0])
    found = gate(before, after).calibration["cue"]
    assert (found.ece_before, found.ece_after) == (pytest.approx(0.25), pytest.approx(0.25))
    assert found.brier_before == pytest.approx((0.25**2 + 0.75**2) / 2)
    assert (found.brier_after, found.brier) == (pytest.approx(0.25**2), "prediction")
    assert gate(before.drop(columns="probability"), after).calibration == {}


def test_seeds_are_averaged_within_an_example():
    frames = []
    for outcomes in (BEFORE, AFTER):
        one = predictions(outcomes, seed=1)
        frames.append(pd.concat([one, one.assign(seed=2)]))
    twice, once = gate(*frames), gate(predictions(BEFORE), predictions(AFTER))
    assert (twice.n, twice.rise) == (10, once.rise)  # the second pair says nothing new, and is not counted as if it did
    assert twice.ci95 == pytest.approx(once.ci95)
    assert twice.flips["cue"].ci95 == pytest.approx(once.flips["cue"].ci95)
    assert [row.rise for row in twice.seeds] == [pytest.approx(0.3)] * 2


def test_seeds_of_one_model_only_are_left_out_and_named():
    before = pd.concat([predictions(BEFORE, seed=seed) for seed in (1, 2, 3)])
    after = pd.concat([predictions(AFTER, seed=seed) for seed in (3, 1, 7)])
    found = gate(before, after)
    assert [row.seed for row in found.seeds] == ["1", "3"]
    assert "left out: 2, 7" in found.warnings[0]


@given(st.lists(st.tuples(*[st.booleans()] * 4), min_size=1, max_size=30))
@settings(max_examples=25, deadline=None)  # reads two tables an example
def test_the_update_backwards_has_the_opposite_rise(outcomes):
    b_cue, b_covered, a_cue, a_covered = (list(map(int, column)) for column in zip(*outcomes, strict=True))
    one = predictions({"cue": b_cue, "covered": b_covered})
    other = predictions({"cue": a_cue, "covered": a_covered})
    there, back = gate(one, other), gate(other, one)
    assert there.rise == pytest.approx(-back.rise)
    assert there.rise == pytest.approx(there.delta_after - there.delta_before)
    assert there.ci95 == pytest.approx((-back.ci95[1], -back.ci95[0]), abs=1e-6)
    assert there.flips["cue"].negative == back.flips["cue"].positive
    assert gate(one, one).rise == 0


def test_decisions():
    before = drawn(2000, 0.9, 0.8, 1)
    assert gate(before, drawn(2000, 0.92, 0.75, 2)).verdict == "fail"
    assert gate(before, before).verdict == "pass"
    assert gate(
        before[before["id"].isin([f"x{i}" for i in range(200)])], before.iloc[[*range(200), *range(2000, 2200)]]
    ).verdict == (
        "inconclusive"  # nothing changes, but 200 pairs are too few for 0.02
    )
    flipped = gate(before, drawn(2000, 0.8, 0.7, 2), max_flips=0.01)
    assert (flipped.verdict, flipped.checks["flips"]) == ("fail", "fail")
    assert flipped.checks["reliance"] != "fail"


def one_label_other() -> pd.DataFrame:
    return predictions(AFTER).replace({"label": {"cat": "fox"}})


def other_groups(frame: pd.DataFrame, group: str) -> pd.DataFrame:
    return frame.assign(group=group)


BAD = {
    "other ids": (
        predictions(BEFORE),
        predictions(AFTER).replace({"id": {"x3": "z3"}}),
        "1 ids of before (cue) are not in after (cue), e.g. 'x3'",
    ),
    "more ids": (
        predictions({name: right[:9] for name, right in BEFORE.items()}),
        predictions(AFTER),
        "1 ids of after (cue) are not in before (cue), e.g. 'x9'",
    ),
    "covered ids": (
        predictions(BEFORE).iloc[:-1],
        predictions(AFTER).iloc[:-1],
        "1 ids of before (cue) are not in before (covered), e.g. 'x9'",
    ),
    "labels": (predictions(BEFORE), one_label_other(), "id 'x1' has the label 'cat' in before and 'fox' in after"),
    "groups": (
        other_groups(predictions(BEFORE), "a"),
        other_groups(predictions(AFTER), "b"),
        "id 'x0' has the group 'a' in before and 'b' in after",
    ),
    "conditions": (
        predictions({**BEFORE, "clean": [1]}),
        predictions(AFTER),
        "after has no rows with the condition 'clean', before has",
    ),
    "seeds": (
        pd.concat([predictions(BEFORE, seed=seed) for seed in (1, 2)]),
        pd.concat([predictions(AFTER, seed=seed) for seed in (3, 4)]),
        "no seed in common: before has 1, 2; after has 3, 4",
    ),
    "no table": (predictions(BEFORE), 7, "after is int: give a DataFrame, a file or a results folder"),
}


@pytest.mark.parametrize("case", BAD)
def test_predictions_that_cannot_be_paired(case):
    before, after, words = BAD[case]
    with pytest.raises(InputError) as refused:
        gate(before, after)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_delta": -0.1}, "--max-delta is -0.1: give a number from 0 to 2"),
        ({"max_delta": 3.0}, "--max-delta is 3"),
        ({"max_delta": float("nan")}, "--max-delta is nan"),
        ({"max_delta": "2 %"}, "--max-delta is 2 %"),
        ({"max_flips": 1.5}, "--max-flips is 1.5: give a number from 0 to 1"),
        ({"method": ["a", "b", "c"]}, "--method names 3 methods"),
    ],
)
def test_limits_that_no_share_can_have(limits, words):
    with pytest.raises(InputError, match=words):
        gate(predictions(BEFORE), predictions(AFTER), **limits)


@pytest.mark.parametrize(("risen", "words"), [(("a",), "in group 'a' ("), (("a", "b"), "in groups 'a', 'b' (")])
def test_groups_in_which_reliance_rose_are_named(risen, words):
    old = drawn(1200, 0.9, 0.85, 1)
    old["group"] = old["id"].map(lambda name: "ab"[int(name[1:]) % 2])
    new = old.copy()
    hit = (new["condition"] == "covered") & new["group"].isin(risen) & (new["id"].str[1:].astype(int) % 3 > 0)
    new.loc[hit, "prediction"] = new.loc[hit, "label"].map(lambda name: "dog" if name == "cat" else "cat")
    (warning,) = (one for one in gate(old, new).warnings if "in group" in one)
    assert words in warning
