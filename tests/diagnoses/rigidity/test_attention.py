"""Attention summed up: against formulas written out here, over seeds, and with a reason for every gap."""

from __future__ import annotations

import json
from statistics import fmean, stdev

import numpy as np
import pytest

from einstellung.diagnoses.rigidity.attention import KEYS, attention_of_run, attention_summary, judge
from einstellung.results.attention_files import ROLLOUT, AttentionRun, read_attention

from .attention_made import PULLS, SPLITS, corner_map, share, weight, write_attention

SEEDS = (1, 2, 3)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attention")
    for method in PULLS:
        for seed in SEEDS:
            write_attention(folder / f"runs/{method}-seed{seed}", method, seed)
    found, problems = read_attention(folder, [(method, seed) for method in PULLS for seed in SEEDS])
    assert problems == []
    return found


def plain(runs):
    return attention_summary(runs).model_dump(mode="json")


def cosine(one, other):
    return float((one * other).sum() / np.sqrt((one**2).sum() * (other**2).sum()))


def by_hand(method, seed, factor=1):
    """The measures of a place whose corner weighs ``factor`` times as much."""
    cue, clean, masked = (
        factor * weight(method, "T2", 8.0, f"T2_shortcut_{kind}", seed) for kind in ("normal", "clean", "masked")
    )
    before, own = (factor * weight(method, "T1", 8.0, split, seed) for split in ("T2_shortcut_normal", "T1_all"))
    return {
        "AS_cue": share(cue),
        "AS_clean": share(clean),
        "AS_masked": share(masked),
        "SAG": (share(cue) - share(clean)) / (share(clean) + 1e-8),
        "CTAS": cosine(corner_map(before), corner_map(cue)),
        "CTAS_own": cosine(corner_map(own), corner_map(cue)),
        "ADI": 0.01 * seed,
    }


@pytest.mark.parametrize("method", ["sgd", "derpp"])
def test_every_measure_is_that_of_its_formula(runs, method):
    record = plain(runs)["methods"][method]
    expected = {seed: by_hand(method, seed) for seed in SEEDS}
    assert record["n_seeds"] == 3
    assert record["why_undefined"] == {}
    for key in KEYS:
        values = [own[key] for own in expected.values()]
        estimate = record["rollout"][key]
        assert estimate["mean"] == pytest.approx(fmean(values), rel=1e-6), key
        assert estimate["sd"] == pytest.approx(stdev(values), rel=1e-4), key
        assert estimate["n"] == 3
        for seed in SEEDS:
            assert record["per_seed"][str(seed)][key] == pytest.approx(expected[seed][key], rel=1e-6)
    assert record["per_seed"]["1"]["epoch"] == 8.0


def test_heads_have_their_own_values(runs):
    heads = {(place["layer"], place["head"]): place for place in plain(runs)["methods"]["sgd"]["heads"]}
    assert list(heads) == [("1", "1"), ("1", "2"), ("1", "mean"), ("2", "1"), ("2", "2"), ("2", "mean")]
    for (layer, head), factor in {("1", "2"): 2, ("2", "2"): 4}.items():
        for key in KEYS:
            values = [by_hand("sgd", seed, factor)[key] for seed in SEEDS]
            assert heads[layer, head][key]["mean"] == pytest.approx(fmean(values), rel=1e-6), key
    singles = [by_hand("sgd", 2, factor)["AS_cue"] for factor in (2, 4)]
    assert judge(runs["sgd", 2], ("2", "mean"))["AS_cue"][0] == pytest.approx(fmean(singles))


def test_a_model_without_a_first_phase_has_no_similarity(runs):
    record = plain(runs)["methods"]["scratch_t2"]
    assert record["rollout"]["CTAS"] == {"mean": None, "sd": None, "n": 0}
    assert record["rollout"]["AS_cue"]["n"] == 3
    assert set(record["why_undefined"]) == {"CTAS", "CTAS_own"}
    assert record["why_undefined"]["CTAS"] == "no phase T1 ended before T2 began, so there is no earlier map"


def test_the_summary_is_strict_json(runs):
    summary = plain(runs)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert plain({}) == {"at": "the end of T2", "methods": {}}


def without(run, splits=(), maps=True):
    """A run that did not look at some splits, or left no maps."""
    readings = {key: reading for key, reading in run.readings.items() if key[1] not in splits}
    arrays = {name: array for name, array in run.arrays.items() if name.split("/")[-1] not in splits}
    return AttentionRun(readings, arrays if maps else {})


def test_what_was_not_measured_is_named(runs):
    run = without(runs["sgd", 1], splits=("T2_shortcut_clean", "T1_all"))
    judged = judge(run, ROLLOUT)
    assert judged["AS_clean"] == (None, "T2_shortcut_clean was not measured at the end of T2")
    assert judged["SAG"] == judged["AS_clean"]
    assert judged["CTAS_own"] == (None, "T1_all was not measured at the end of T1")
    assert judged["CTAS"][1] is None
    assert judge(without(runs["sgd", 1], maps=False), ROLLOUT)["CTAS"] == (None, "no maps were stored")
    first = AttentionRun({key: value for key, value in run.readings.items() if key[0][0] == "T1"}, run.arrays)
    assert set(judge(first, ROLLOUT).values()) == {(None, "phase T2 was not measured")}


def test_minus_the_entropy_is_no_share(runs):
    run = runs["sgd", 1]
    readings = {key: reading._replace(boxed=False, AS=-2.0) for key, reading in run.readings.items()}
    judged = judge(AttentionRun(readings, run.arrays), ROLLOUT)
    assert judged["AS_cue"] == (None, "T2_shortcut_normal has no cue box")
    assert judged["SAG"][0] is None
    assert judged["CTAS"][0] is not None


def test_a_single_image_has_no_diversity(runs):
    run = runs["sgd", 1]
    readings = {key: reading._replace(ADI=None) for key, reading in run.readings.items()}
    assert judge(AttentionRun(readings), ROLLOUT)["ADI"] == (None, "undefined for a single image")


def test_seeds_that_lack_something_are_counted_out_and_said(runs):
    some = {("sgd", 1): runs["sgd", 1], ("sgd", 2): without(runs["sgd", 2], maps=False)}
    record = plain(some)["methods"]["sgd"]
    assert (record["rollout"]["CTAS"]["n"], record["rollout"]["AS_cue"]["n"]) == (1, 2)
    assert record["why_undefined"]["CTAS"] == "no maps were stored"


def test_a_run_in_full_has_gain_and_similarity_at_every_moment(runs):
    rows = attention_of_run(runs["sgd", 3])
    assert len(rows) == len(runs["sgd", 3].readings)
    found = {(row["phase"], row["epoch"], row["split"], row["layer"], row["head"]): row for row in rows}
    row = found["T2", 4.0, "T2_shortcut_normal", "1", "1"]
    cue, clean = (share(weight("sgd", "T2", 4.0, f"T2_shortcut_{kind}", 3)) for kind in ("normal", "clean"))
    assert row["SAG"] == pytest.approx((cue - clean) / clean, rel=1e-6)
    maps = [corner_map(weight("sgd", *moment, "T2_shortcut_normal", 3)) for moment in (("T1", 8.0), ("T2", 4.0))]
    assert row["CTAS"] == pytest.approx(cosine(*maps), rel=1e-6)
    assert {found["T2", 4.0, split, "rollout", ""]["SAG"] is None for split in SPLITS} == {True, False}
    assert found["T2", 8.0, "T1_all", "rollout", ""]["CTAS"] == pytest.approx(1)  # looks at phase 1 as before
    assert all(row["CTAS"] is None for row in rows if row["phase"] == "T1")
    assert all(row["CTAS"] is None for row in attention_of_run(runs["scratch_t2", 1]))
