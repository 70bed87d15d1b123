"""The facets: by hand, by their symmetries, and against the naive implementation on random timelines."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einstellung.metrics.eri import (
    adaptation_delay,
    censored_side,
    cue_delta,
    performance_deficit,
    relative_reliance,
    relative_sensitivity,
)
from einstellung.diagnoses.rigidity.score import ScoreSettings, score

from .naive import Naive
from .timelines import rows, run, timeline

maybe = st.one_of(st.none(), st.floats(-50, 50))


def test_the_recorded_run_by_hand():
    """SGD patched .81, masked .33; scratch patched .76, masked .19."""
    delta_cl, delta_s = cue_delta(0.81, 0.33), cue_delta(0.76, 0.19)
    assert delta_cl == pytest.approx(0.48)
    assert delta_s == pytest.approx(0.57)
    assert performance_deficit(0.76, 0.81) == pytest.approx(-0.05)
    assert relative_reliance(delta_cl, delta_s) == pytest.approx(-0.09)
    assert relative_sensitivity(delta_cl, delta_s) == pytest.approx(-0.09)
    assert relative_sensitivity(-0.3, 0.1) == pytest.approx(0.2)


@pytest.mark.parametrize(
    "facet", [adaptation_delay, performance_deficit, cue_delta, relative_reliance, relative_sensitivity]
)
@given(maybe, maybe)
def test_swapping_the_models_flips_the_sign(facet, a, b):
    if a is None or b is None:
        assert facet(a, b) is None
    else:
        assert facet(a, b) == -facet(b, a)


def test_censoring_names_the_side():
    assert censored_side(None, None, "sgd", "scratch") == "both"
    assert censored_side(None, 3.0, "sgd", "scratch") == "sgd"
    assert censored_side(3.0, None, "sgd", "scratch") == "scratch"
    assert censored_side(3.0, 3.0, "sgd", "scratch") is None


accuracy = st.integers(0, 500).map(lambda k: k / 500)


CUES = [50, 60, 45, 55, 150, 5, 0, -20]  # what masking costs, in images of 500


@st.composite
def tables(draw):
    """Rows of three methods: paired and unpaired seeds, missing splits, odd grids, with and without T1 and T2_val."""
    with_val = draw(st.booleans())
    grid = draw(st.sampled_from([[1, 2, 3, 4, 5], [0, 1, 2, 3], [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5], [1, 2, 4, 7]]))
    table = []
    for method in ("scratch_t2", "sgd", "derpp"):
        start, slope, cue = draw(st.integers(150, 320)), draw(st.integers(0, 90)), draw(st.sampled_from(CUES))
        for seed in draw(st.sampled_from([{1, 2, 3}, {1, 2, 3}, {1, 2}, {3}, {2, 4}])):
            for split in ("T2_shortcut_normal", "T2_shortcut_masked", "T2_nonshortcut_normal", "T1_all", "T2_val"):
                if (split == "T2_val" and not with_val) or draw(st.integers(0, 30)) == 30:
                    continue
                points = {}
                for e in grid:
                    if split == "T2_shortcut_masked" and draw(st.integers(0, 15)) == 15:
                        continue  # an epoch at which the masked images were not measured
                    level = start + slope * e - (cue if split == "T2_shortcut_masked" else 0) + draw(st.integers(-3, 3))
                    points[e] = min(500, max(0, round(level))) / 500
                table += rows(method, seed, "T2", split, points)
            if method != "scratch_t2" and draw(st.booleans()):
                table += rows(method, seed, "T1", "T1_all", {e: draw(accuracy) for e in (1, 2)})
    return table


SEEDED = ("E", "AD", "PD", "SFR_rel", "CSR_rel", "delta", "SC_patch", "SC_mask", "NSC", "T1", "T1_after_T1")
FACETS = (*SEEDED[1:], "delta_S")


@settings(max_examples=100, deadline=None)
@given(
    tables().filter(bool),
    st.sampled_from([("0.6", 3, "trailing"), ("0.4", 3, "centred"), ("0.5", 2, "trailing"), ("0.3", 1, "none")]),
    st.sampled_from(["auto", "last"]),
)
def test_agrees_with_the_naive_implementation(table, how, final):
    tau, window, smoothing = how
    naive = Naive(table, tau=tau, window=window, smoothing=smoothing, final=final)
    choice = ScoreSettings(tau=float(tau), window=window, smoothing=smoothing, final=final, tau_grid=(0.3, 0.45))
    card = score(timeline(table), choice).to_dict()
    assert card["final"] == naive.rule
    has_baseline = "scratch_t2" in card["methods"]
    for method, found in card["methods"].items():
        for seed, values in found["per_seed"].items():
            expected = naive.facts(method, int(seed))
            for name in (*SEEDED, "checkpoint_epoch"):
                assert same(values[name], expected[name]), (method, seed, name)
            assert found["AD"]["censored"].get(seed) == expected["censored"]
        for key, threshold in (("0.30", "0.3"), ("0.45", "0.45")):
            mean, n = naive.mean_delay(method, threshold)
            assert found["AD_tau"][key]["n"] == n
            assert same(found["AD_tau"][key]["mean"], mean)
        for name in FACETS:
            mean, n = naive.mean(method, name)
            assert found[name]["n"] == n
            assert same(found[name]["mean"], mean)
        if method != "scratch_t2" and has_baseline:
            assert found["pattern"] == naive.pattern(method)


@st.composite
def complete_tables(draw):
    """Two methods, two seeds, everything measured and tau within reach, so that the facets decide."""
    table = []
    for method in ("scratch_t2", "sgd"):
        start, top = draw(st.integers(100, 310)), draw(st.integers(330, 360))
        cue = draw(st.sampled_from(CUES))
        for seed in (1, 2):
            patched = [min(top + seed, start + 45 * i) / 500 for i in range(8)]
            table += run(method, seed, patched, [max(0.0, round(500 * acc - cue) / 500) for acc in patched])
    return table


@settings(max_examples=60, deadline=None)
@given(complete_tables())
def test_the_pattern_is_the_naive_one(table):
    assert score(timeline(table)).to_dict()["methods"]["sgd"]["pattern"] == Naive(table).pattern("sgd")


def same(found, expected):
    if found is None or expected is None:
        return found is None and expected is None
    return abs(found - float(expected)) < 1e-12


curve = st.lists(accuracy, min_size=6, max_size=6)


@settings(max_examples=40, deadline=None)
@given(curve, curve, curve, curve)
def test_swapping_the_models_of_a_timeline_flips_the_triplet(first, first_masked, second, second_masked):
    table = timeline(run("a", 1, first, first_masked), run("b", 1, second, second_masked))
    ab = score(table, ScoreSettings(baseline="a")).to_dict()["methods"]["b"]
    ba = score(table, ScoreSettings(baseline="b")).to_dict()["methods"]["a"]
    for facet in ("AD", "PD", "SFR_rel", "CSR_rel"):
        if ab[facet]["mean"] is None:
            assert ba[facet]["mean"] is None
        else:
            assert ab[facet]["mean"] == -ba[facet]["mean"]
    assert ab["AD"]["censored"].keys() == ba["AD"]["censored"].keys()


@settings(max_examples=40, deadline=None)
@given(curve, curve, st.integers(1, 40))
def test_shifting_both_curves_in_time_leaves_the_delay_alone(first, second, shift):
    def delay(by):
        def moved(acc):
            return {epoch + by: value for epoch, value in enumerate(acc, start=1)}

        table = timeline(run("scratch_t2", 1, moved(first), moved(first)), run("a", 1, moved(second), moved(second)))
        return score(table).to_dict()["methods"]["a"]

    assert delay(0)["AD"] == delay(shift)["AD"]
    assert delay(0)["AD_tau"] == delay(shift)["AD_tau"]


@settings(max_examples=40, deadline=None)
@given(curve, curve)
def test_a_denser_threshold_grid_contains_the_coarse_one(first, second):
    table = timeline(run("scratch_t2", 1, first, first), run("a", 1, second, second))
    coarse = score(table, ScoreSettings(tau_grid=(0.3, 0.6))).to_dict()["methods"]["a"]["AD_tau"]
    grid = tuple(round(0.3 + 0.025 * k, 3) for k in range(13))
    dense = score(table, ScoreSettings(tau_grid=grid)).to_dict()["methods"]["a"]["AD_tau"]
    assert len(dense) == 13
    assert "0.325" in dense
    assert coarse == {tau: dense[tau] for tau in ("0.30", "0.60")}
