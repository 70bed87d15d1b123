"""Methods against the baseline: on random timelines against the naive implementation, by symmetries, by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einstellung.diagnoses.rigidity.score import score
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from tests.metrics.timelines import rows, run, timeline

from .naive import Naive

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
        cue = draw(st.sampled_from([cue, cue, 500]))  # now and then, the cue is all there is
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
    st.sampled_from([None, 3, 60]),
)
def test_agrees_with_the_naive_implementation(table, how, final, classes):
    tau, window, smoothing = how
    naive = Naive(table, tau=tau, window=window, smoothing=smoothing, final=final)
    how = {"tau": float(tau), "window": window, "smoothing": smoothing, "final": final, "classes": classes}
    choice = RigiditySettings(**how, tau_grid=(0.3, 0.45))
    card = score(timeline(table), choice).to_json()
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
            agrees_on_the_pattern(found, naive, method, classes)


def agrees_on_the_pattern(found, naive, method, classes=None):
    assert found["pattern"] == naive.pattern(method, classes)
    assert found["saturated"] == naive.saturated(method, classes)
    assert found["unlearned"] == naive.unlearned(method, classes)
    for name, expected in (("p", naive.p(method, classes)), ("p_holm", naive.p_holm(classes)[method])):
        assert found[name] == (None if expected is None else pytest.approx(expected, rel=1e-6, abs=1e-12)), name
    fewest = min(
        (len(naive.paired_values(method)[one["facet"]]) for one in found["conditions"] if one["facet"] != "NSC_lowest"),
        default=0,
    )
    if found["pattern"] != "ambiguous":
        sure = found["p_holm"] is not None and found["p_holm"] <= 0.05 and all(c["sure"] for c in found["conditions"])
        sure = sure and not naive.doubtful(method, classes)
        assert found["certainty"] == ("too few seeds" if fewest < 3 else "holds" if sure else "leans")


@st.composite
def complete_tables(draw):
    """Three methods, two or three seeds, everything measured and tau within reach, so that the facets decide."""
    table = []
    seeds = draw(st.sampled_from([(1, 2), (1, 2, 3)]))
    known = draw(st.sampled_from([0, 10, 200, 350]))
    for method in ("scratch_t2", "sgd", "derpp"):
        start, top = draw(st.integers(100, 310)), draw(st.integers(330, 360))
        cue = draw(st.sampled_from([*CUES, 490]))
        for seed in seeds:
            patched = [min(top + seed, start + 45 * i + draw(st.integers(-2, 2))) / 500 for i in range(8)]
            masked = [max(0.0, round(500 * acc - cue) / 500) for acc in patched]
            table += run(method, seed, patched, masked, [(known + draw(st.integers(0, 4))) / 500] * 8)
    return table


@settings(max_examples=80, deadline=None)
@given(complete_tables(), st.sampled_from([None, 10, 60]))
def test_the_pattern_and_its_certainty_are_the_naive_ones(table, classes):
    methods = score(timeline(table), RigiditySettings(classes=classes)).to_json()["methods"]
    naive = Naive(table)
    for method in ("sgd", "derpp"):
        agrees_on_the_pattern(methods[method], naive, method, classes)


def same(found, expected):
    if found is None or expected is None:
        return found is None and expected is None
    return abs(found - float(expected)) < 1e-12


curve = st.lists(accuracy, min_size=6, max_size=6)


@settings(max_examples=40, deadline=None)
@given(curve, curve, curve, curve)
def test_swapping_the_models_of_a_timeline_flips_the_triplet(first, first_masked, second, second_masked):
    table = timeline(run("a", 1, first, first_masked), run("b", 1, second, second_masked))
    ab = score(table, RigiditySettings(baseline="a")).to_json()["methods"]["b"]
    ba = score(table, RigiditySettings(baseline="b")).to_json()["methods"]["a"]
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
        return score(table).to_json()["methods"]["a"]

    assert delay(0)["AD"] == delay(shift)["AD"]
    assert delay(0)["AD_tau"] == delay(shift)["AD_tau"]


@settings(max_examples=40, deadline=None)
@given(curve, curve)
def test_a_denser_threshold_grid_contains_the_coarse_one(first, second):
    table = timeline(run("scratch_t2", 1, first, first), run("a", 1, second, second))
    coarse = score(table, RigiditySettings(tau_grid=(0.3, 0.6))).to_json()["methods"]["a"]["AD_tau"]
    grid = tuple(round(0.3 + 0.025 * k, 3) for k in range(13))
    dense = score(table, RigiditySettings(tau_grid=grid)).to_json()["methods"]["a"]["AD_tau"]
    assert len(dense) == 13
    assert "0.325" in dense
    assert coarse == {tau: dense[tau] for tau in ("0.30", "0.60")}


def example(acc_task=False):
    table = [
        *run("scratch_t2", 1, {0: 0.02, 1: 0.5, 2: 0.8}, {0: 0.02, 1: 0.3, 2: 0.4}, T1_all={0: 0.02, 2: 0.0}),
        *rows("scratch_t2", 1, "T2", "T2_nonshortcut_normal", {0: 0.05, 1: 0.4, 2: 0.5}, n=1500),
        *run("sgd", 1, {0: 0.1, 1: 0.6, 2: 0.7}, {0: 0.1, 1: 0.3, 2: 0.4}, T1_all={0: 0.65, 1: 0.3, 2: 0.2}),
        *rows("sgd", 1, "T2", "T2_nonshortcut_normal", {0: 0.06, 1: 0.4, 2: 0.5}, n=1500),
        *rows("sgd", 1, "T1", "T1_all", [0.4, 0.6]),
    ]
    if acc_task:
        for row in table:
            row["acc_task"] = min(1.0, row["acc"] + 0.1)
    return table


def test_two_phases_of_a_timeline_by_hand():
    """T2 accuracy weighs 500 SC and 1,500 NSC images: sgd (.7 + 3 * .5) / 4 = .55, scratch (.8 + 1.5) / 4 = .575."""
    card = score(timeline(example())).to_json()["methods"]
    sgd = {name: summary["mean"] for name, summary in card["sgd"]["continual"].items()}
    assert sgd["average_accuracy"] == pytest.approx((0.2 + 0.55) / 2)
    assert sgd["BWT"] == pytest.approx(0.2 - 0.6)
    assert sgd["forgetting"] == pytest.approx(0.4)
    assert sgd["FWT"] == pytest.approx((0.1 + 3 * 0.06) / 4 - (0.02 + 3 * 0.05) / 4)
    assert sgd["intransigence"] == pytest.approx(0.575 - 0.55)
    scratch = {name: summary["mean"] for name, summary in card["scratch_t2"]["continual"].items()}
    assert scratch["average_accuracy"] == pytest.approx(0.575 / 2)
    assert scratch["BWT"] is scratch["FWT"] is scratch["intransigence"] is None
    assert card["sgd"]["continual_task"] is None
    assert card["sgd"]["task_incremental"] is None


def test_task_incremental_accuracies_have_their_own_entries():
    sgd = score(timeline(example(acc_task=True))).to_json()["methods"]["sgd"]
    assert sgd["task_incremental"]["SC_patch"]["mean"] == pytest.approx(0.8)
    assert sgd["task_incremental"]["T1"]["mean"] == pytest.approx(0.3)
    assert sgd["task_incremental"]["T1_after_T1"]["mean"] == pytest.approx(0.7)
    assert sgd["continual_task"]["average_accuracy"]["mean"] == pytest.approx((0.3 + 0.65) / 2)
    assert sgd["continual"]["average_accuracy"]["mean"] == pytest.approx((0.2 + 0.55) / 2)
