"""The whole card: a worked example, baselines, seeds, checkpoints, gaps, and the shape of its JSON."""

from __future__ import annotations

import json

import pytest

from einstellung.diagnoses.rigidity.score import score
from einstellung.diagnoses.rigidity.settings import Margins, RigiditySettings
from einstellung.errors import InputError
from tests.metrics.timelines import rows, run, timeline


def card(*parts, **choice):
    result = score(timeline(*parts), RigiditySettings(**choice)).to_json()
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    return result


def worked():
    """Scratch reaches 0.6 after 5, 5 and never; sgd after 2, 3 and 1. A red flag."""
    table = run("scratch_t2", 42, [0.3, 0.5, 0.6, 0.6, 0.6, 0.7], [0.2, 0.3, 0.3, 0.3, 0.3, 0.4], [0.5] * 6)
    table += run("scratch_t2", 43, [0.2, 0.5, 0.6, 0.6, 0.6, 0.7], [0.2, 0.3, 0.3, 0.3, 0.3, 0.3], [0.5] * 6)
    table += run("scratch_t2", 44, [0.2, 0.4, 0.4, 0.4, 0.5, 0.5], [0.2, 0.3, 0.3, 0.3, 0.3, 0.3], [0.5] * 6)
    table += run("sgd", 42, [0.5, 0.7, 0.7, 0.8, 0.8, 0.8], [0.4, 0.3, 0.3, 0.3, 0.3, 0.3], [0.6] * 6)
    table += run("sgd", 43, [0.5, 0.6, 0.7, 0.8, 0.8, 0.9], [0.4, 0.3, 0.3, 0.3, 0.3, 0.3], [0.6] * 6)
    table += run("sgd", 44, [0.6, 0.6, 0.7, 0.8, 0.8, 0.8], [0.4, 0.3, 0.3, 0.3, 0.3, 0.2], [0.6] * 6)
    for seed, after, end in ((42, 0.65, 0.1), (43, 0.66, 0.2), (44, 0.64, 0.0)):
        table += rows("sgd", seed, "T1", "T1_all", [0.5, after])
        table += rows("sgd", seed, "T2", "T1_all", {0: after, 6: end})
    return table


def test_the_worked_example():
    result = card(worked())
    assert (result["variant"], result["baseline"], result["tau"], result["window"]) == ("paper", "scratch_t2", 0.6, 3)
    assert (result["kind"], result["schema_version"]) == ("rigidity", 2)
    assert (result["final"], result["margins"]) == ("last", {"AD": 1.0, "PD": 0.02, "SFR_rel": 0.02})
    sgd = result["methods"]["sgd"]
    assert sgd["n_seeds"] == 3
    # Smoothed scratch 42: .3 .4 .467 .567 .6; sgd 42: .5 .6; 43: .5 .55 .6; 44: .6 at once
    assert [sgd["per_seed"][seed]["E"] for seed in ("42", "43", "44")] == [2, 3, 1]
    assert [result["methods"]["scratch_t2"]["per_seed"][seed]["E"] for seed in ("42", "43", "44")] == [5, 5, None]
    assert [sgd["per_seed"][seed]["AD"] for seed in ("42", "43", "44")] == [-3, -2, None]
    assert sgd["AD"]["censored"] == {"44": "scratch_t2"}
    assert (sgd["AD"]["mean"], sgd["AD"]["n"], sgd["AD"]["sd"]) == (-2.5, 2, pytest.approx(0.5**0.5))
    assert sgd["PD"]["mean"] == pytest.approx((-0.1 - 0.2 - 0.3) / 3)
    assert sgd["PD"]["sd"] == pytest.approx(0.1)
    assert sgd["delta"]["mean"] == pytest.approx((0.5 + 0.6 + 0.6) / 3)
    assert sgd["delta_S"]["mean"] == pytest.approx((0.3 + 0.4 + 0.2) / 3)
    assert sgd["SFR_rel"]["mean"] == pytest.approx((0.2 + 0.2 + 0.4) / 3)
    assert sgd["CSR_rel"]["mean"] == pytest.approx((0.2 + 0.2 + 0.4) / 3)
    assert sgd["T1_after_T1"]["mean"] == pytest.approx(0.65)
    assert sgd["T1"]["mean"] == pytest.approx(0.1)
    assert sgd["NSC"]["mean"] == pytest.approx(0.6)
    assert (sgd["pattern"], sgd["certainty"], sgd["high_rigidity"]) == ("red-flag", "too few seeds", True)
    assert sgd["tests"]["PD"]["p"] == sgd["tests"]["PD"]["p_holm"] == pytest.approx(0.0742, abs=1e-4)
    # Two delays; the other conditions have three seeds. t = (-1 + 2.5) / .5 with one degree of freedom, and PD's -.2 / .0577.
    assert sgd["p"] == sgd["p_holm"] == pytest.approx(0.1024, abs=1e-4)
    assert sgd["high_rigidity_certainty"] == "too few seeds"
    assert sgd["saturated"] is sgd["unlearned"] is False
    assert sgd["PD_NSC"]["mean"] == pytest.approx(0.5 - 0.6)
    assert sgd["PD_specific"]["mean"] == pytest.approx(-0.2 + 0.1)
    assert sgd["share_lost"]["mean"] == pytest.approx((1 - 0.3 / 0.8 + 1 - 0.3 / 0.9 + 1 - 0.2 / 0.8) / 3)
    assert result["floor"] == {"level": 0.05, "chance": 0.05, "classes": None}
    assert (result["besides"], sgd["groups"]) == ([], {})
    assert sgd["survival"]["events"] == 3
    assert sgd["survival"]["restricted_mean_difference"]["value"] == pytest.approx(2 - (5 + 5 + 6) / 3)
    assert sgd["AD_tau"]["0.30"] == {"mean": 0.0 - 2 / 3, "sd": pytest.approx(0.5773502), "n": 3, "censored": {}}


def test_the_baseline_has_an_entry_of_the_same_shape_without_comparisons():
    result = card(worked())
    scratch, sgd = result["methods"]["scratch_t2"], result["methods"]["sgd"]
    assert scratch.keys() == sgd.keys()
    for facet in ("AD", "PD", "SFR_rel", "CSR_rel", "delta_S"):
        assert (scratch[facet]["mean"], scratch[facet]["n"], scratch[facet]["interval"]) == (None, 0, "none")
    for name in ("pattern", "certainty", "high_rigidity", "verdict", "next_probe"):
        assert scratch[name] is None
    assert scratch["conditions"] == []
    assert scratch["AD"]["censored"] == {}
    assert scratch["survival"]["restricted_mean_difference"] == {"value": None, "ci95": None}
    assert scratch["per_seed"]["42"]["paired"] is True
    assert scratch["T1_after_T1"]["n"] == 0


def test_the_baseline_never_has_an_accuracy_after_t1():
    scratch = run("scratch_t2", 1, {0: 0.1, 1: 0.5}, {0: 0.1, 1: 0.4}, T1_all={0: 0.02, 1: 0.0})
    result = card(scratch, run("sgd", 1, {0: 0.1, 1: 0.5}, {0: 0.1, 1: 0.4}, T1_all={0: 0.6, 1: 0.1}))
    assert result["methods"]["scratch_t2"]["per_seed"]["1"]["T1_after_T1"] is None
    assert result["methods"]["sgd"]["per_seed"]["1"]["T1_after_T1"] == 0.6  # no T1 rows: the model that enters T2


def test_a_method_that_starts_at_t2_has_no_accuracy_after_t1_and_forgets_nothing():
    """What an untrained net says of T1 is no accuracy after T1, be it above a tenth (8 superclasses: 1/8) or not."""
    curve = {0: 0.1, 1: 0.5}
    both = {"T2_nonshortcut_normal": {0: 0.05, 1: 0.6}}
    for untrained in (0.02, 0.125):
        result = card(
            run("scratch_t2", 1, curve, curve, T1_all={0: untrained, 1: 0.0}, **both),
            run("interleaved", 1, curve, curve, T1_all={0: untrained, 1: 0.7}, **both),
        )["methods"]["interleaved"]
        assert result["per_seed"]["1"]["T1_after_T1"] is None
        assert result["T1"]["mean"] == 0.7
        continual = {name: summary["mean"] for name, summary in result["continual"].items()}
        assert continual["BWT"] is continual["forgetting"] is continual["FWT"] is None
        assert continual["average_accuracy"] == pytest.approx((0.7 + 0.55) / 2)


def test_epochs_are_integers_where_they_are_whole():
    fractional = {0.5: 0.3, 1.0: 0.6, 1.5: 0.9}
    result = card(run("scratch_t2", 1, fractional, fractional), run("a", 1, [0.6], [0.5]), window=1, tau=0.9)
    assert result["methods"]["scratch_t2"]["per_seed"]["1"]["E"] == 1.5
    assert "1.5" in json.dumps(result["methods"]["scratch_t2"]["per_seed"]["1"]["E"])
    whole = card(worked())["methods"]["sgd"]["per_seed"]["42"]
    assert json.dumps([whole["E"], whole["AD"], whole["checkpoint_epoch"]]) == "[2, -3, 6]"


def test_a_baseline_that_was_asked_for_must_be_there():
    with pytest.raises(InputError) as caught:
        card(worked(), baseline="scratch_T3")
    assert str(caught.value) == "no baseline 'scratch_T3' in the timeline: did you mean 'scratch_t2'?"
    assert card(worked(), baseline="SCRATCH_T2")["baseline"] == "scratch_t2"


def test_ambiguous_spellings_of_a_baseline_are_refused():
    table = [*run("Base", 1, [0.5], [0.4]), *run("BASE", 1, [0.6], [0.4])]
    assert card(table, baseline="Base")["baseline"] == "Base"
    with pytest.raises(InputError, match="'base' matches Base, BASE"):
        card(table, baseline="base")


def test_without_the_default_baseline_the_rest_is_computed():
    result = card([row for row in worked() if row["method"] == "sgd"])
    sgd = result["methods"]["sgd"]
    assert "no baseline 'scratch_t2' in the timeline" in result["warnings"][0]
    assert (sgd["pattern"], sgd["certainty"]) == ("ambiguous", "too few seeds")
    assert sgd["next_probe"].startswith("train scratch_t2 on T2 with seeds 42, 43, 44")
    assert sgd["delta"]["n"] == 3
    assert (sgd["PD"]["mean"], sgd["high_rigidity"]) == (None, None)
    assert sgd["per_seed"]["42"]["paired"] is False
    assert sgd["survival"]["n"] == 3


def test_seeds_that_do_not_match_are_left_out_of_pairs_and_named():
    extra = run("sgd", 99, [0.1] * 6, [0.1] * 6)
    result = card(worked(), extra, run("scratch_t2", 77, [0.5] * 6, [0.4] * 6))
    sgd = result["methods"]["sgd"]
    assert (sgd["n_seeds"], sgd["PD"]["n"], sgd["SC_patch"]["n"]) == (4, 3, 4)
    assert sgd["PD"]["mean"] == pytest.approx(-0.2)
    assert sgd["per_seed"]["99"]["paired"] is False
    assert sgd["per_seed"]["99"]["PD"] is None
    assert "99" not in sgd["AD"]["censored"]
    assert "seed 99 of sgd has no matching scratch_t2 run and is excluded from paired facets" in result["warnings"]
    assert "seed 77 of scratch_t2 has no matching sgd run and is excluded from paired facets" in result["warnings"]
    assert result["methods"]["scratch_t2"]["per_seed"]["77"]["paired"] is False


def test_a_verdict_takes_all_deltas_from_the_same_seeds():
    table = [row for seed in (1, 2, 3) for row in run("scratch_t2", seed, [0.5, 0.7], [0.4, 0.65])]
    for seed in (1, 2, 3):
        table += run("sgd", seed, [0.5, 0.7 + seed / 100], [0.4, 0.65 + seed / 100])
    even = card(table)["methods"]["sgd"]
    assert even["delta_paired"] is None
    result = card(table, run("sgd", 99, [0.5, 0.9], [0.4, 0.1]))["methods"]["sgd"]
    assert result["delta"]["mean"] == pytest.approx((3 * 0.05 + 0.8) / 4)
    assert result["delta_paired"]["mean"] == pytest.approx(0.05)
    assert result["delta_paired"]["n"] == 3
    assert result["SFR_rel"]["mean"] == pytest.approx(result["delta_paired"]["mean"] - result["delta_S"]["mean"])
    assert (result["pattern"], result["verdict"]) == (even["pattern"], even["verdict"])  # not a shared shortcut
    assert result["delta_S_paired"] is None


def test_delta_of_the_baseline_is_taken_from_the_same_seeds_too():
    table = [*run("scratch_t2", 1, [0.5, 0.7], [0.4, 0.5]), *run("scratch_t2", 2, [0.5, 0.7], [0.6, 0.9])]
    table += [*run("sgd", 1, [0.6, 0.8], [0.4, 0.4]), *rows("sgd", 2, "T2", "T2_shortcut_normal", [0.6, 0.8])]
    result = card(table)["methods"]["sgd"]
    assert result["delta_S"]["mean"] == pytest.approx(0.0)
    assert result["delta_S_paired"]["mean"] == pytest.approx(0.2)
    assert result["SFR_rel"]["mean"] == pytest.approx(0.4 - 0.2)
    assert result["pattern"] == "red-flag"
    assert "Delta = +0.400; scratch_t2: Delta_S = +0.200" in result["verdict"]


def test_thresholds_that_stand_twice_count_once_and_keep_their_own_censoring():
    result = card(worked(), tau_grid=(0.9, 0.3, 0.3, 0.1 + 0.2, 0.6))
    assert result["tau_grid"] == [0.3, 0.6, 0.9]
    once = card(worked(), tau_grid=(0.3, 0.6, 0.9))
    assert result["methods"] == once["methods"]
    grid = result["methods"]["sgd"]["AD_tau"]
    assert list(grid) == ["0.30", "0.60", "0.90"]
    assert grid["0.60"]["censored"] == result["methods"]["sgd"]["AD"]["censored"]
    assert grid["0.90"]["censored"].keys() == {"42", "43", "44"}


def with_validation(*runs):
    best = {(method, seed): acc for method, seed, acc in runs}
    return [row for (method, seed), acc in best.items() for row in rows(method, seed, "T2", "T2_val", acc)]


def test_best_validation_is_the_rule_where_every_run_has_it():
    table = [*run("scratch_t2", 1, [0.5, 0.9], [0.4, 0.5]), *run("sgd", 1, [0.7, 0.6], [0.1, 0.2])]
    both = [*table, *with_validation(("scratch_t2", 1, [0.8, 0.7]), ("sgd", 1, [0.6, 0.6]))]
    result = card(both)
    assert result["final"] == "best-val"
    assert result["methods"]["sgd"]["per_seed"]["1"]["checkpoint_epoch"] == 1
    assert result["methods"]["sgd"]["PD"]["mean"] == pytest.approx(0.5 - 0.7)
    assert card(both, final="last")["methods"]["sgd"]["PD"]["mean"] == pytest.approx(0.9 - 0.6)
    one = [*table, *with_validation(("sgd", 1, [0.6, 0.6]))]
    assert card(one)["final"] == "last"
    assert "because T2_val is missing for scratch_t2 (seeds 1)" in card(one)["warnings"][0]
    with pytest.raises(InputError, match=r"'best-val' needs the split T2_val .* missing for scratch_t2 \(seeds 1\)"):
        card(one, final="best-val")
    assert card(table)["final"] == "last"
    assert card(table)["warnings"] == []


def test_a_missing_split_leaves_what_needs_it_undefined():
    masked_missing = [row for row in worked() if row["method"] != "sgd" or row["split"] != "T2_shortcut_masked"]
    result = card(masked_missing)
    sgd = result["methods"]["sgd"]
    assert sgd["PD"]["mean"] == pytest.approx(-0.2)
    assert sgd["AD"]["mean"] == -2.5
    assert (sgd["delta"]["mean"], sgd["SFR_rel"]["mean"], sgd["pattern"]) == (None, None, "ambiguous")
    assert sgd["next_probe"].startswith("measure T2_shortcut_masked")
    assert any("sgd: T2_shortcut_masked is missing for seeds 42, 43, 44" in warning for warning in result["warnings"])
    patched_missing = [row for row in worked() if row["method"] != "sgd" or row["split"] != "T2_shortcut_normal"]
    sgd = card(patched_missing)["methods"]["sgd"]
    assert (sgd["AD"]["n"], sgd["PD"]["n"], sgd["AD"]["censored"], sgd["survival"]) == (0, 0, {}, None)
    assert sgd["SC_mask"]["n"] == 3


def test_a_method_without_t2_rows_is_named_and_null():
    result = card(worked(), rows("derpp", 42, "T1", "T1_all", [0.5]))
    derpp = result["methods"]["derpp"]
    assert any("derpp: every T2 row is missing for seed 42" in warning for warning in result["warnings"])
    assert all(derpp[name]["mean"] is None for name in ("AD", "PD", "SFR_rel", "SC_patch", "NSC", "T1"))
    assert derpp["T1_after_T1"]["mean"] == 0.5
    assert derpp["pattern"] == "ambiguous"


def test_a_lonely_baseline_is_said():
    result = card(run("scratch_t2", 1, [0.5], [0.4]))
    assert result["warnings"] == ["the timeline contains only the baseline 'scratch_t2': nothing to compare"]


def test_holm_counts_the_methods_compared():
    table = worked()
    for name, gain in (("derpp", 0.01), ("ewc_on", 0.02)):
        for row in [row for row in worked() if row["method"] == "sgd"]:
            table.append({**row, "method": name, "acc": max(0.0, row["acc"] - gain * (row["seed"] - 41))})
    methods = card(table)["methods"]
    tests = {name: methods[name]["tests"]["PD"] for name in ("sgd", "derpp", "ewc_on")}
    smallest = min(tests.values(), key=lambda test: test["p"])
    assert smallest["p_holm"] == pytest.approx(3 * smallest["p"])
    assert methods["scratch_t2"]["tests"]["PD"]["p_holm"] is None


def test_eight_seeds_have_a_t_interval():
    table = []
    for seed in range(8):
        table += run("scratch_t2", seed, [0.5, 0.7 + seed / 100], [0.4, 0.5])
        table += run("sgd", seed, [0.7, 0.8], [0.4, 0.3 + seed / 50])
    sgd = card(table)["methods"]["sgd"]
    assert (sgd["PD"]["interval"], sgd["PD"]["n"]) == ("t", 8)
    low, high = sgd["PD"]["ci95"]
    assert low < sgd["PD"]["mean"] < high


def test_settings_reach_the_numbers():
    free = card(worked(), window=1)["methods"]["sgd"]["per_seed"]
    assert [free[seed]["E"] for seed in ("42", "43", "44")] == [2, 2, 1]
    centred = card(worked(), smoothing="centred")["methods"]["sgd"]["per_seed"]
    assert [centred[seed]["E"] for seed in ("42", "43", "44")] == [1, 2, 1]
    assert card(worked(), tau=0.8)["methods"]["sgd"]["per_seed"]["42"]["E"] == 6
    strict = card(worked(), margins=Margins(AD=3, PD=0.02, SFR_rel=0.02))["methods"]["sgd"]
    assert strict["pattern"] == "ambiguous"
    grid = card(worked(), tau_grid=(0.5, 0.525))["methods"]["sgd"]["AD_tau"]
    assert list(grid) == ["0.50", "0.525"]


def test_the_fork_s_file_is_scored_against_the_right_curve(tmp_path):
    """T2_nonshortcut_normal contains the name T2_shortcut_normal's ending; its high values must not enter."""
    from einstellung.timeline import Timeline

    lines = ["method,seed,epoch_eff,split,acc"]
    for method, curves in (("Scratch_T2", [[0.2, 0.4, 0.9]]), ("SGD", [[0.9, 0.9, 0.9], [0.3, 0.9, 0.9]])):
        for patched in curves:  # phase 1 first
            for epoch, acc in enumerate(patched):
                lines += [f"{method},1,{epoch},T2_nonshortcut_normal,0.99", f"{method},1,{epoch},T1_all,0.0"]
                lines += [f"{method},1,{epoch},T2_shortcut_normal,{acc}", f"{method},1,{epoch},T2_shortcut_masked,0.1"]
    path = tmp_path / "timeline_x.csv"
    path.write_text("\n".join(lines) + "\n")
    result = score(Timeline.read(path), RigiditySettings(window=1)).to_json()
    assert result["final"] == "last"
    assert result["methods"]["scratch_t2"]["per_seed"]["1"]["E"] == 3
    assert result["methods"]["sgd"]["per_seed"]["1"]["E"] == 2
    assert result["methods"]["sgd"]["per_seed"]["1"]["AD"] == -1


def test_a_patched_curve_with_gaps_has_an_end_but_no_delay():
    """Measured at the chosen and the last epoch only, while validation was at every one: a crossing would be a first look."""
    every = {0: 0.1, 1: 0.2, 2: 0.9, 3: 0.5, 4: 0.6}
    table = run("scratch_t2", 1, {4: 0.7}, {4: 0.4}, T2_val={**every, 4: 0.95})
    table += run("sgd", 1, {2: 0.9, 4: 0.8}, {2: 0.5, 4: 0.4}, T2_val=every)
    result = card(table)
    sgd = result["methods"]["sgd"]
    assert (sgd["AD"]["mean"], sgd["AD"]["censored"]) == (None, {})
    assert all(delay["mean"] is None for delay in sgd["AD_tau"].values())
    assert sgd["PD"]["mean"] == pytest.approx(0.7 - 0.9)
    assert sgd["next_probe"] == "measure T2_shortcut_normal for sgd and scratch_t2 at every epoch of T2"
    (grid,) = (check for check in result["checks"] if "evaluation epochs" in check["name"])
    assert grid["passed"]
    assert grid["detail"].startswith("4 epochs, measured at 4 points")
