"""The floor, worked out by hand; logs that lack what it needs; equal delays; methods that correct each other."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einstellung.diagnoses.rigidity.floor import Floor
from einstellung.diagnoses.rigidity.score import score
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.diagnoses.rigidity.tables import floor_table
from einstellung.timeline import SC_PATCH
from tests.metrics.timelines import rows, run, timeline

SEEDS = (1, 2, 3)


def log(masked=0.01, masked_scratch=None, nsc=0.5, seeds=SEEDS, within=None, method="sgd"):
    """sgd reaches .6 two epochs before scratch and ends .1 higher; what is left with the cue covered is given."""
    masked_scratch = masked if masked_scratch is None else masked_scratch
    table = []
    for seed in seeds:
        shift = 0.002 * seed
        other = None if nsc is None else [nsc + shift] * 4
        table += run("scratch_t2", seed, [0.2, 0.4, 0.6, 0.7 + shift], [masked_scratch + shift / 2] * 4, other)
        table += run(method, seed, [0.6, 0.7, 0.8, 0.8 + 2 * shift], [masked + shift / 2] * 4, other)
    for row in table if within is not None else ():
        row["acc_within"] = within[row["method"]] if "masked" in row["split"] else 0.9
    return table


def card(*tables, **options):
    outputs = options.pop("outputs", None)
    t1 = options.pop("t1_classes", None)
    result = score(timeline(*tables), RigiditySettings(window=1, **options), outputs, t1).to_json()
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    return result


def test_where_nothing_is_left_the_relative_index_is_minus_pd():
    """Masked 0 in both: SFR_rel = (.8 - 0) - (.7 - 0) = .1 = -PD, which says nothing of the cue."""
    sgd = card(log(masked=0.0), outputs=60)["methods"]["sgd"]
    assert sgd["SFR_rel"]["mean"] == pytest.approx(-sgd["PD"]["mean"])
    assert (sgd["AD"]["mean"], sgd["SFR_rel"]["mean"]) == (-2.0, pytest.approx(0.104))
    assert (sgd["saturated"], sgd["pattern"], sgd["certainty"]) == (True, "saturated", "holds")
    assert (sgd["high_rigidity"], sgd["high_rigidity_certainty"]) == (None, None)
    assert sgd["verdict"].startswith(
        "Saturated: with the cue covered, neither sgd (0.002 [0.000, 0.004]) nor scratch_t2"
    )
    assert [one["facet"] for one in sgd["conditions"]] == ["SC_mask", "SC_mask_S"]


def test_the_same_curves_with_something_left_are_a_red_flag():
    sgd = card(log(masked=0.4, masked_scratch=0.4), outputs=60)["methods"]["sgd"]
    assert (sgd["saturated"], sgd["pattern"], sgd["certainty"]) == (False, "red-flag", "holds")
    assert (sgd["high_rigidity"], sgd["high_rigidity_certainty"]) == (True, "holds")
    assert sgd["SFR_rel"]["mean"] == pytest.approx(0.104)  # the same number, and here it means something


@pytest.mark.parametrize(
    ("own", "scratch", "saturated"), [(0.01, 0.02, True), (0.01, 0.3, False), (0.3, 0.02, False), (0.05, 0.01, False)]
)
def test_both_must_be_at_the_floor(own, scratch, saturated):
    methods = card(log(own, scratch), outputs=60)["methods"]
    assert methods["sgd"]["saturated"] is saturated
    assert (methods["sgd"]["pattern"] == "saturated") is saturated
    assert methods["scratch_t2"]["saturated"] is (scratch < 0.05)  # the baseline's own accuracy, beside no other
    assert methods["scratch_t2"]["pattern"] is None


@pytest.mark.parametrize(
    ("classes", "outputs", "level", "saturated"),
    [
        (None, None, 0.05, False),  # not known
        (None, 30, 0.1, True),
        (None, 100, 0.03, False),
        (30, 100, 0.1, True),  # a setting is stronger than the proof
        (100, 30, 0.03, False),
        (2, None, 0.5, True),
    ],
)
def test_the_number_of_classes_decides_where_the_floor_is(classes, outputs, level, saturated):
    result = card(log(masked=0.07), classes=classes, outputs=outputs)
    assert result["floor"]["level"] == pytest.approx(level)
    assert result["methods"]["sgd"]["saturated"] is saturated
    assert result["methods"]["sgd"]["pattern"] == ("saturated" if saturated else "red-flag")


def test_an_unknown_number_of_classes_is_said():
    result = card(log(masked=0.0))
    assert result["floor"] == {"level": 0.05, "chance": 0.05, "classes": None}
    assert "because the number of classes is unknown (set it with --classes K)" in result["methods"]["sgd"]["verdict"]


def test_one_seed_is_judged_by_its_value():
    sgd = card(log(masked=0.04, seeds=(1,)), outputs=60)["methods"]["sgd"]
    assert (sgd["saturated"], sgd["pattern"], sgd["certainty"]) == (True, "saturated", "too few seeds")
    assert sgd["p"] is sgd["p_holm"] is None


def test_seeds_that_differ_leave_the_floor_open():
    """Masked .00, .02 and .06: the mean is below .05, the upper end is not."""
    table = []
    for seed, left in zip(SEEDS, (0.0, 0.02, 0.06), strict=True):
        table += [row for row in log(masked=left) if row["seed"] == seed]
    sgd = card(table, outputs=60)["methods"]["sgd"]
    assert sgd["SC_mask"]["mean"] < 0.05 < sgd["SC_mask"]["ci95"][1]
    assert (sgd["saturated"], sgd["pattern"]) == (False, "red-flag")
    assert "more seeds would show whether this is saturation" in sgd["verdict"]


def test_a_harmful_cue_and_an_undefined_delay_come_before_the_floor():
    table = log(masked=0.0)
    last = ("scratch_t2", SC_PATCH, 4.0)
    harmed = [{**row, "acc": 0.0} if (row["method"], row["split"], row["epoch"]) == last else row for row in table]
    sgd = card(harmed, outputs=60)["methods"]["sgd"]
    assert (sgd["saturated"], sgd["pattern"], sgd["high_rigidity"]) == (True, "cue-harmful", None)
    slow = [{**row, "acc": min(row["acc"], 0.55)} for row in table]
    sgd = card(slow, outputs=60)["methods"]["sgd"]
    assert (sgd["saturated"], sgd["pattern"], sgd["high_rigidity"]) == (True, "ambiguous", None)


def test_a_log_without_accuracy_within_keeps_its_red_flag_and_says_what_is_missing():
    sgd = card(log(masked=0.4), outputs=60)["methods"]["sgd"]
    assert sgd["pattern"] == "red-flag"
    within = ("SFR_rel_within", "delta_within", "SC_patch_within", "SC_mask_within", "NSC_within")
    assert all(sgd[name] is None and "acc_within of T2_" in sgd["why_undefined"][name] for name in within)
    floored = card(log(masked=0.0), outputs=60)["methods"]["sgd"]
    assert "Measure acc_within to compare the models without the cue." in floored["verdict"]


def test_accuracy_within_the_shortcut_classes_tells_what_is_left_at_the_floor():
    """Delta within is .9 - .5 for sgd and .9 - .8 for scratch, whatever the whole head says."""
    result = card(log(masked=0.0, within={"sgd": 0.5, "scratch_t2": 0.8}), outputs=60)
    sgd = result["methods"]["sgd"]
    assert sgd["SFR_rel_within"]["mean"] == pytest.approx(0.3)
    assert sgd["delta_within"]["mean"] == pytest.approx(0.4)
    assert [sgd["per_seed"]["1"][name] for name in ("SFR_rel_within", "delta_within")] == pytest.approx([0.3, 0.4])
    assert sgd["pattern"] == "saturated"
    assert "SFR_rel_within = +0.300" in sgd["verdict"]
    assert "SFR_rel_within" not in sgd["why_undefined"]
    assert result["methods"]["scratch_t2"]["why_undefined"]["SFR_rel_within"].startswith("this is the baseline")


def slower_sgd(nsc, later=2):
    """Masking costs nobody anything, sgd is slower and ends lower; both know nothing in the first ``later`` epochs."""
    table = log(masked=0.4, nsc=nsc)
    names = {"sgd": "scratch_t2", "scratch_t2": "sgd"}
    swapped = [{**row, "method": names[row["method"]]} for row in table]
    patched = {(row["method"], row["seed"], row["epoch"]): row["acc"] for row in swapped if row["split"] == SC_PATCH}
    found = [
        {**row, "acc": patched[row["method"], row["seed"], row["epoch"]] - 0.01} if "masked" in row["split"] else row
        for row in swapped
    ]
    before = [
        {**row, "epoch": epoch, "acc": 0.1} for row in found if row["epoch"] == 1 for epoch in range(1, later + 1)
    ]
    return before + [{**row, "epoch": row["epoch"] + later} if row["epoch"] > 0 else row for row in found]


def test_a_log_without_the_other_classes_gives_no_benign_word():
    """Benign, if the other classes were learned."""
    known = card(slower_sgd(0.5), outputs=60)["methods"]["sgd"]
    assert (known["pattern"], known["certainty"]) == ("benign-transfer", "holds")
    assert "NSC accuracy is above chance in every seed (lowest 0.502 > 0.017)" in known["verdict"]
    missing = card(slower_sgd(None), outputs=60)["methods"]["sgd"]
    assert missing["pattern"] == "ambiguous"
    assert "Not called benign-transfer: T2_nonshortcut_normal was not measured, so" in missing["verdict"]
    for name in ("PD_NSC", "PD_specific"):
        assert missing[name] is None
        assert missing["why_undefined"][name] == "T2_nonshortcut_normal was not measured"
    some = [row for row in slower_sgd(0.5) if (row["method"], row["seed"], row["split"][3:6]) != ("sgd", 2, "non")]
    partly = card(some, outputs=60)["methods"]["sgd"]
    assert partly["pattern"] == "ambiguous"
    assert "Not called benign-transfer: T2_nonshortcut_normal was not measured in every seed" in partly["verdict"]
    unlearned = card(slower_sgd(0.01), outputs=60)["methods"]["sgd"]
    assert "Not called benign-transfer: not every seed learned the other classes" in unlearned["verdict"]
    assert card(slower_sgd(0.03), outputs=60)["methods"]["sgd"]["pattern"] == "benign-transfer"
    assert (
        card(slower_sgd(0.03))["methods"]["sgd"]["pattern"] == "ambiguous"
    )  # chance is .05 where the head is not known


def test_nothing_to_lose_has_no_share():
    table = log(masked=0.0)
    zero = [{**row, "acc": 0.0} if row["method"] == "sgd" and "normal" in row["split"] else row for row in table]
    sgd = card(zero)["methods"]["sgd"]
    assert sgd["share_lost"] is None
    assert sgd["why_undefined"]["share_lost"].endswith("or no image with the cue was classified correctly")


def test_a_facet_without_a_partner_says_so():
    alone = card([row for row in log() if row["method"] == "sgd"])["methods"]["sgd"]
    assert alone["why_undefined"]["PD_specific"] == "no baseline in the timeline"
    apart = [{**row, "seed": row["seed"] + 10} if row["method"] == "sgd" else row for row in log()]
    assert card(apart)["methods"]["sgd"]["why_undefined"]["PD_NSC"] == "no seed in common with scratch_t2"
    blind = card([row for row in log() if row["split"] != SC_PATCH])["methods"]["sgd"]
    assert blind["why_undefined"]["PD_specific"] == "T2_shortcut_normal was not measured"


def test_equal_delays_are_known_up_to_half_a_step():
    """AD is -2 in every seed, read from a grid of one epoch: -2 -+ .5, and the verdict says why."""
    sgd = card(log(masked=0.4), outputs=60)["methods"]["sgd"]
    assert (sgd["AD"]["sd"], sgd["AD"]["ci95"], sgd["AD"]["interval"]) == (0.0, [-2.5, -1.5], "resolution")
    assert "AD is the same in all seeds, so its interval is the measurement resolution, ±0.5 epochs" in sgd["verdict"]
    assert sgd["survival"]["restricted_mean_difference"]["ci95"] == [-2.5, -1.5]
    delay = next(one for one in sgd["conditions"] if one["facet"] == "AD")
    # t = (2 - 1) / (.5 / 4.3027) with two degrees of freedom
    assert delay["p"] == pytest.approx(0.0066, abs=1e-4)


@pytest.mark.parametrize("coarse", ["sgd", "scratch_t2"])
def test_the_coarser_curve_of_a_pair_sets_the_resolution(coarse):
    """Measured after epochs 1, 2 and 4 only: the widest gap is 2 epochs."""
    table = [row for row in log(masked=0.4) if row["method"] != coarse or row["epoch"] != 3]
    sgd = card(table, outputs=60)["methods"]["sgd"]
    assert sgd["AD"]["interval"] == "resolution"
    low, high = sgd["AD"]["ci95"]
    assert (high - low) / 2 == pytest.approx(1.0)


def test_accuracies_stay_within_what_they_can_be():
    table = []
    for seed, left in zip(SEEDS, (0.0, 0.0, 0.1), strict=True):
        table += run("scratch_t2", seed, [0.2, 1.0 - left], [left] * 2, [1.0 - left] * 2)
        table += run("sgd", seed, [0.2, 1.0 - left], [left] * 2, [1.0 - left] * 2)
    for row in table:
        row["acc_task"] = row["acc"]
    sgd = card(table)["methods"]["sgd"]
    for record in (sgd, sgd["task_incremental"]):
        assert record["SC_mask"]["ci95"][0] == 0.0
        assert record["SC_patch"]["ci95"][1] == record["NSC"]["ci95"][1] == 1.0


def copies(names):
    """The red flag again under other names, with a little less advantage."""
    table = log(masked=0.4)
    for place, name in enumerate(names):
        for row in [row for row in log(masked=0.4) if row["method"] == "sgd"]:
            table.append({**row, "method": name, "acc": row["acc"] - 0.001 * (place + 1)})
    return table


def test_more_methods_make_the_same_pattern_less_certain():
    """p = .0066 by the delay: below .05 with up to seven methods, not with eight or more."""
    alone = card(log(masked=0.4), outputs=60)["methods"]["sgd"]
    assert alone["p"] == alone["p_holm"] == pytest.approx(0.0066, abs=1e-4)
    seven = card(copies([f"m{k}" for k in range(6)]), outputs=60)["methods"]["sgd"]
    assert (seven["p"], seven["p_holm"]) == (alone["p"], pytest.approx(7 * alone["p"]))
    assert seven["certainty"] == "holds"
    eight = card(copies([f"m{k}" for k in range(7)]), outputs=60)["methods"]["sgd"]
    assert eight["p_holm"] == pytest.approx(8 * alone["p"])
    assert (eight["pattern"], eight["certainty"], eight["high_rigidity_certainty"]) == ("red-flag", "leans", "leans")
    assert f"Not conclusive: p = {eight['p_holm']:.2g} after Holm's correction." in eight["verdict"]


def test_a_method_without_a_pattern_counts_with_p_1():
    counted = card(log(masked=0.4), rows("derpp", 1, "T2", "T2_nonshortcut_normal", [0.5] * 4), outputs=60)["methods"]
    assert (counted["derpp"]["pattern"], counted["derpp"]["p_holm"]) == ("ambiguous", None)
    assert counted["sgd"]["p_holm"] == pytest.approx(2 * counted["sgd"]["p"])
    assert counted["scratch_t2"]["p"] is counted["scratch_t2"]["p_holm"] is None


def test_nothing_learned_means_no_pattern():
    table = []
    for seed in SEEDS:
        table += run("scratch_t2", seed, [0.0, 0.01, 0.0], [0.0] * 3)
        table += run("sgd", seed, [0.0, 0.03, 0.02], [0.01] * 3)
    methods = card(table, tau=0.001)["methods"]
    assert (methods["sgd"]["unlearned"], methods["sgd"]["saturated"], methods["sgd"]["pattern"]) == (
        True,
        True,
        "ambiguous",
    )
    assert (
        "neither sgd nor scratch_t2 has learned the shortcut classes, even with the cue (accuracies 0.020 and 0.000"
        in methods["sgd"]["verdict"]
    )
    assert methods["scratch_t2"]["unlearned"] is False


def test_the_table_shows_what_is_left():
    table = floor_table(score(timeline(log(masked=0.0, within={"sgd": 0.5, "scratch_t2": 0.8})), outputs=60))
    rows_ = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    assert rows_["sgd"][-1] == rows_["scratch_t2"][-1] == "at the floor"
    assert rows_["sgd"][3:5] == ["0.500 ± 0.000", "+0.300 ± 0.000"]
    assert "0.050, 3 times chance (1/60)" in table.note
    assert {values["method"]: values["saturated"] for values in table.values} == {"scratch_t2": True, "sgd": True}
    above = floor_table(score(timeline(log(masked=0.4)), outputs=60))
    assert [row[-1].text for row in above.rows] == ["above", "above"]
    assert all(cell.why for row in above.rows for cell in row if cell.text == "–")


accuracy = st.integers(0, 100).map(lambda k: k / 100)
low = st.integers(0, 12).map(lambda k: k / 100)


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 4), st.sampled_from([None, 2, 10, 60]))
def test_whatever_the_accuracies_a_saturated_pair_has_no_relative_word(data, seeds, classes):
    table = []
    for seed in range(seeds):
        for method in ("scratch_t2", "sgd"):
            patched = data.draw(st.lists(accuracy, min_size=3, max_size=3))
            masked = data.draw(st.lists(low, min_size=3, max_size=3))
            table += run(method, seed, patched, masked, [data.draw(accuracy)] * 3)
    sgd = card(table, classes=classes, tau=0.3)["methods"]["sgd"]
    if sgd["saturated"]:
        assert sgd["pattern"] in ("saturated", "ambiguous", "cue-harmful")
        assert sgd["high_rigidity"] is None
        ends = [sgd["SC_mask"]["ci95"] or [sgd["SC_mask"]["mean"]] * 2]
        assert all(end[1] <= Floor.of(classes).level + 1e-9 for end in ends)
    else:
        assert sgd["pattern"] != "saturated"


def test_no_more_than_everything_can_be_lost():
    """Shares 1 - masked / patched near 1 that differ by seed: their t interval would end above 1."""
    table = []
    for seed, masked in zip(SEEDS, (0.0, 0.01, 0.2), strict=True):
        table += run("scratch_t2", seed, [0.5, 0.8], [masked] * 2, [0.6] * 2)
        table += run("sgd", seed, [0.6, 0.8], [masked] * 2, [0.6] * 2)
    sgd = card(table, outputs=60)["methods"]["sgd"]
    shares = [1.0, 1 - 0.01 / 0.8, 0.75]
    mean = sum(shares) / 3
    half = 4.302652729911275 * (sum((one - mean) ** 2 for one in shares) / 2 / 3) ** 0.5
    assert mean + half > 1
    assert sgd["share_lost"]["mean"] == pytest.approx(mean)
    assert sgd["share_lost"]["ci95"] == pytest.approx([mean - half, 1.0])


@pytest.mark.parametrize(("later", "certainty"), [(0, "leans"), (1, "leans"), (2, "holds")])
def test_a_baseline_at_the_threshold_from_the_start_leaves_no_room_for_a_delay(later, certainty):
    """scratch reaches .6 at epoch 1 + later: not faster by more than an epoch says nothing where nobody could be."""
    sgd = card(slower_sgd(0.5, later), outputs=60)["methods"]["sgd"]
    assert (sgd["pattern"], sgd["certainty"]) == ("benign-transfer", certainty)
    assert ("Not conclusive: scratch_t2 reaches 0.6 so early that AD cannot be lower; p = " in sgd["verdict"]) is (
        certainty == "leans"
    )


@pytest.mark.parametrize(
    ("own", "scratch", "certainty"), [(0.04, 0.04, "leans"), (0.04, 0.06, "holds"), (0.06, 0.04, "holds")]
)
def test_near_the_floor_a_red_flag_is_not_certain(own, scratch, certainty):
    """The means are at the floor, .05, and an interval is not: the pair is not called saturated, but may be."""
    table = log(masked=own, masked_scratch=scratch)
    for row in table:
        if "masked" in row["split"] and row["acc"] < 0.05:
            row["acc"] += (row["seed"] - 2) * 0.008
    sgd = card(table, outputs=60)["methods"]["sgd"]
    assert (sgd["saturated"], sgd["pattern"], sgd["certainty"]) == (False, "red-flag", certainty)
    assert (sgd["high_rigidity"], sgd["high_rigidity_certainty"]) == (True, certainty)
    doubt = "Not conclusive: both masked accuracies are at the floor, so saturation is not ruled out; p = "
    assert (doubt in sgd["verdict"]) is (certainty == "leans")


@pytest.mark.parametrize(("never", "certainty"), [("sgd", "leans"), ("scratch_t2", "holds")])
def test_a_seed_that_contradicts_a_delay_may_not_be_left_out_of_it(never, certainty):
    """In five of eight seeds one model is below .6 at every epoch, and AD is known from three; both end below .6."""
    table = []
    for seed in range(1, 9):
        shift = 0.002 * seed
        peak = {"scratch_t2": 0.62, "sgd": 0.64}
        if seed > 3:
            peak[never] = 0.59
        table += run("scratch_t2", seed, [0.2, 0.2, peak["scratch_t2"], 0.5 + shift / 2], [0.45] * 4, [0.5] * 4)
        table += run("sgd", seed, [peak["sgd"], 0.58, 0.58, 0.58 + shift], [0.2 - shift] * 4, [0.5] * 4)
    sgd = card(table, outputs=60)["methods"]["sgd"]
    assert (sgd["AD"]["n"], sgd["AD"]["mean"]) == (3, -2.0)
    assert (sgd["pattern"], sgd["certainty"]) == ("red-flag", certainty)
    assert f"AD excludes some seeds: {never} never reached 0.6" in sgd["verdict"]
    assert ("Not conclusive: AD leaves out seeds that contradict it; p = " in sgd["verdict"]) is (certainty == "leans")


def test_copies_of_a_run_are_no_seeds():
    """The same curves under three seeds have no spread at all, and say nothing of other seeds."""
    once = log(masked=0.4, masked_scratch=0.45, seeds=(1,))
    copies = [{**row, "seed": seed} for seed in SEEDS for row in once]
    sgd = card(copies, outputs=60)["methods"]["sgd"]
    assert (sgd["pattern"], sgd["certainty"]) == ("red-flag", "leans")
    assert "identical runs count as different seeds" in sgd["verdict"]
    own = [row for row in log(masked=0.4, masked_scratch=0.45) if row["method"] == "sgd"]
    shared_baseline = [*own, *(row for row in copies if row["method"] == "scratch_t2")]
    assert card(shared_baseline, outputs=60)["methods"]["sgd"]["certainty"] == "leans"
