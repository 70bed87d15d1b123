"""Several shortcuts over phases: selection, carry-over, trade, facets per cue; and the verdicts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from einstellung.diagnoses.shortcuts.score import shortcut_score
from einstellung.diagnoses.shortcuts.settings import ShortcutSettings
from einstellung.diagnoses.shortcuts.verdict import judge_gap, judge_method
from einstellung.errors import InputError

from .several import PAPERLIKE, groups, rows_of, study, timeline_of, two_cues

CUES = ("background", "co-object")
SWITCH = {"T1": (0.95, 0.5), "T2": (0.5, 0.95)}
BOTH = {"cues": CUES, "correlations": (0.95, 0.95)}


def moved(erm_left: float = 0.8) -> dict:
    """Phase T1 ties the background to the label, T2 the co-object; erm keeps leaning on the background."""
    return {
        "erm": {"T1": two_cues(0.95, 0.95, 0.55, 0.55), "T2": two_cues(0.95, 0.65, erm_left, 0.5)},
        "lle": {"T1": two_cues(0.95, 0.95, 0.85, 0.85), "T2": two_cues(0.95, 0.9, 0.94, 0.9)},
    }


def test_gaps_of_a_phase_with_its_own_weights_with_fixed_ones_and_against_the_all_common_pattern():
    card = shortcut_score(study(moved()), cues=CUES, correlations=SWITCH)
    end = card["methods"]["erm"]["phases"]["T2"]
    own = 0.475 * (0.95 + 0.8) + 0.025 * (0.65 + 0.5)  # weights 11 and 01 .475, 10 and 00 .025
    fixed = 0.475 * (0.95 + 0.65) + 0.025 * (0.8 + 0.5)  # those of T1: 11 and 10 .475
    assert end["own"]["gaps"]["background"]["mean"] == pytest.approx(0.8 - own)
    assert end["fixed"]["gaps"]["background"]["mean"] == pytest.approx(0.8 - fixed)
    assert end["common"]["gaps"]["background"]["mean"] == pytest.approx(0.8 - 0.95)
    assert card["fixed_weights"]["source"] == "T1"
    given = shortcut_score(study(moved()), cues=CUES, correlations=SWITCH, weights={"11": 1, "10": 0, "01": 0, "00": 0})
    assert given["fixed_weights"]["source"] == "given"
    assert given["methods"]["erm"]["phases"]["T2"]["fixed"]["gaps"]["background"]["mean"] == pytest.approx(-0.15)


def test_carry_over_is_the_gap_left_and_its_share_of_what_it_was():
    card = shortcut_score(study(moved(), spread=0.01), cues=CUES, correlations=SWITCH)
    (entry,) = card["methods"]["erm"]["carry_over"]
    assert (entry["cue"], entry["had"], entry["phase"]) == ("background", "T1", "T2")
    assert entry["common"]["gap"]["mean"] == pytest.approx(-0.15)
    assert entry["common"]["gap_before"]["mean"] == pytest.approx(-0.40)
    assert entry["common"]["share"]["value"] == pytest.approx(0.15 / 0.40)
    assert entry["common"]["gap"]["ci95"][1] < 0
    assert entry["common"]["share"]["interval"] == "Fieller"
    one = shortcut_score(study(moved(), seeds=(1,)), cues=CUES, correlations=SWITCH)
    (entry,) = one["methods"]["erm"]["carry_over"]
    assert entry["own"]["gap"]["ci95"] is None
    assert entry["own"]["share"]["ci95"] is None


def test_a_correlation_that_stays_or_turns_round_carries_nothing_over():
    for correlations in ({"T1": (0.95, 0.95), "T2": (0.95, 0.95)}, {"T1": (0.95, 0.5), "T2": (0.05, 0.5)}):
        assert (
            shortcut_score(study(moved()), cues=CUES, correlations=correlations)["methods"]["erm"]["carry_over"] == []
        )


def test_trade_from_phase_to_phase_and_against_the_baseline():
    card = shortcut_score(study(moved()), cues=CUES, correlations=SWITCH)
    trades = card["methods"]["erm"]["trade"]
    (between,) = trades["between_phases"]
    found = between["common"]["background -> co-object"]
    assert found["mean"] == pytest.approx(min(0.25, 0.30))
    assert found["ci95"] is not None
    assert between["common"]["co-object -> background"]["mean"] < 0
    assert all(entry["own"]["background -> co-object"]["mean"] is None for entry in trades["against_baseline"])
    cutmix = shortcut_score(study(PAPERLIKE), **BOTH)["methods"]["cutmix"]
    erm = shortcut_score(study(PAPERLIKE), **BOTH)["methods"]["erm"]
    (beside,) = cutmix["trade"]["against_baseline"]
    gaps = {name: record["phases"]["T1"]["own"]["gaps"] for name, record in (("cutmix", cutmix), ("erm", erm))}
    shrinks = gaps["cutmix"]["co-object"]["mean"] - gaps["erm"]["co-object"]["mean"]
    grows = gaps["erm"]["background"]["mean"] - gaps["cutmix"]["background"]["mean"]
    assert beside["own"]["co-object -> background"]["mean"] == pytest.approx(min(shrinks, grows))
    assert shrinks > 0
    assert (
        shortcut_score(study(moved(), seeds=(1,)), cues=CUES, correlations=SWITCH)["methods"]["erm"]["trade"][
            "between_phases"
        ][0]["common"]["background -> co-object"]["ci95"]
        is None
    )


def test_a_fresh_net_trades_nothing_from_phase_to_phase():
    """It never had the gap that shrank: the same numbers are a certain trade of a net that learns on, and none of its own."""
    both = moved()["erm"]
    card = shortcut_score(study({"erm": both, "scratch": both}, spread=0.01), cues=CUES, correlations=SWITCH)
    certain = {
        method: card["methods"][method]["trade"]["between_phases"][0]["common"]["background -> co-object"]["certain"]
        for method in ("erm", "scratch")
    }
    assert certain == {"erm": True, "scratch": False}


def selected(worst: list[float], test: list[float], *, epochs=(1, 2, 3)) -> list[tuple]:
    rows = []
    for epoch, low, acc in zip(epochs, worst, test, strict=True):
        validation = groups(two_cues(0.9, 0.9, 0.9, 0.9), "val") | {"val_1_00": low}
        rows += rows_of("erm", 1, "T1", validation | groups(two_cues(0.9, 0.9, 0.9, acc)), epochs=(epoch,))
    return rows


def test_the_epoch_with_the_best_worst_validation_group_is_chosen_the_first_of_equals():
    timeline = timeline_of(selected([0.2, 0.6, 0.6], [0.1, 0.5, 0.7]))
    card = shortcut_score(timeline, ShortcutSettings(final="worst-group"), **BOTH)
    end = card["methods"]["erm"]["phases"]["T1"]
    assert end["chosen_epoch"] == {"1": 2.0}
    assert end["patterns"]["00"]["mean"] == pytest.approx(0.5)
    assert card["final"] == "worst-group" == shortcut_score(timeline, **BOTH)["final"]  # auto
    last = shortcut_score(timeline, ShortcutSettings(final="last"), **BOTH)
    assert last["methods"]["erm"]["phases"]["T1"]["patterns"]["00"]["mean"] == pytest.approx(0.7)


def test_only_epochs_with_all_groups_of_validation_and_test_can_be_chosen():
    rows = selected([0.2, 0.8, 0.6], [0.1, 0.5, 0.7])
    rows = [row for row in rows if not (row[3] == 2.0 and row[4] == "group_0_11")]
    card = shortcut_score(timeline_of(rows), ShortcutSettings(final="worst-group"), **BOTH)
    assert card["methods"]["erm"]["phases"]["T1"]["chosen_epoch"] == {"1": 3.0}
    (check,) = [check for check in card["checks"] if "to choose from" in check["name"]]
    assert check["passed"] is True
    assert "among 2 epochs" in check["detail"]


def test_worst_group_without_validation_groups_is_refused_and_auto_takes_the_last_epoch():
    timeline = study(PAPERLIKE, epochs=(2.0, 4.0))
    with pytest.raises(InputError, match="choose last"):
        shortcut_score(timeline, ShortcutSettings(final="worst-group"), **BOTH)
    assert shortcut_score(timeline, **BOTH)["final"] == "last"
    assert shortcut_score(timeline_of(selected([0.5], [0.5], epochs=(1,))), **BOTH)["final"] == "last"


def test_a_method_with_a_single_result_has_nothing_to_choose_and_needs_nothing():
    """DFR is measured once, after its last layer; the others are chosen among their epochs all the same."""
    once = [("dfr", *row[1:]) for row in selected([0.5], [0.4], epochs=(4,))]
    timeline = timeline_of(selected([0.2, 0.8, 0.6], [0.1, 0.5, 0.7]) + once)
    card = shortcut_score(timeline, **BOTH)
    assert card["final"] == "worst-group"
    assert card["methods"]["erm"]["phases"]["T1"]["chosen_epoch"] == {"1": 2.0}
    assert card["methods"]["dfr"]["phases"]["T1"]["chosen_epoch"] == {"1": 4.0}
    (check,) = [check for check in card["checks"] if "to choose from" in check["name"]]
    assert check["passed"] is True
    assert check["detail"].endswith("with a single result: dfr")


def with_twins(
    method: str, common: float, swapped: float, covered: float, *, late: float, seed: int = 1
) -> list[tuple]:
    """T1 and T2; in T2, ID accuracy is 0.5 until epoch ``late`` and 0.95 from there on."""
    rows = []
    for phase in ("T1", "T2"):
        for epoch in (1, 2, 3, 4):
            acc = 0.95 if phase == "T1" or epoch >= late else 0.5
            twins = {f"background_{kind}": value for kind, value in zip(TWINS, (common, swapped, covered), strict=True)}
            rows += rows_of(method, seed, phase, groups(two_cues(acc, acc, acc, acc)) | twins, epochs=(epoch,))
    return rows


TWINS = ("common", "swapped", "covered")


def test_reliance_on_a_cue_and_the_facets_against_a_fresh_net():
    rows = with_twins("erm", 0.9, 0.3, 0.6, late=3) + with_twins("scratch", 0.9, 0.7, 0.8, late=1)
    settings = ShortcutSettings(window=1)
    card = shortcut_score(timeline_of(rows), settings, cues=CUES, correlations=SWITCH)
    found = card["methods"]["erm"]["phases"]["T2"]["reliance"]["background"]
    assert found["delta_swapped"]["mean"] == pytest.approx(0.6)
    assert found["delta_covered"]["mean"] == pytest.approx(0.3)
    assert found["SFR_rel_swapped"]["mean"] == pytest.approx(0.6 - 0.2)
    assert found["SFR_rel_covered"]["mean"] == pytest.approx(0.3 - 0.1)
    assert card["methods"]["erm"]["phases"]["T2"]["reliance"]["co-object"]["delta_swapped"]["mean"] is None
    facets = card["methods"]["erm"]["phases"]["T2"]["facets"]
    assert facets["AD"]["mean"] == pytest.approx(2.0)
    assert facets["PD"]["mean"] == pytest.approx(0.0)
    assert card["methods"]["erm"]["phases"]["T1"]["facets"]["why"]["AD"] == "the first phase has no history"
    assert card["methods"]["scratch"]["verdict"]["name"] == "fresh net"
    alone = shortcut_score(
        timeline_of(with_twins("erm", 0.9, 0.3, 0.6, late=3)), settings, cues=CUES, correlations=SWITCH
    )
    assert alone["methods"]["erm"]["phases"]["T2"]["facets"]["AD"]["mean"] is None


def test_a_threshold_that_is_never_reached_censors_the_delay():
    rows = with_twins("erm", 0.9, 0.3, 0.6, late=9) + with_twins("scratch", 0.9, 0.7, 0.8, late=1)
    card = shortcut_score(timeline_of(rows), cues=CUES, correlations=SWITCH)
    facets = card["methods"]["erm"]["phases"]["T2"]["facets"]
    assert facets["AD"]["mean"] is None
    assert facets["censored"] == {"1": "erm"}
    assert facets["PD"]["mean"] == pytest.approx(0.45)


def test_twins_that_are_copies_and_twins_without_originals_fail_their_checks():
    rows = with_twins("erm", 0.9, 0.3, 0.6, late=1)
    same = {row[:4]: row[5:] for row in rows if row[4] == "background_common"}
    copied = [(*row[:5], *same[row[:4]]) if row[4] == "background_covered" else row for row in rows]
    checks = {check["name"]: check for check in shortcut_score(timeline_of(copied))["checks"]}
    assert checks["twins are other images than their originals"]["passed"] is None  # two cues, one of them named
    named = {check["name"]: check for check in shortcut_score(timeline_of(copied), cues=CUES)["checks"]}
    assert named["twins are other images than their originals"]["passed"] is False
    orphans = [row for row in rows if row[4] != "background_common"]
    lone = {check["name"]: check for check in shortcut_score(timeline_of(orphans), cues=CUES)["checks"]}
    assert lone["twins and their originals are measured alike"]["passed"] is False


def test_verdicts_of_a_study_like_the_papers():
    card = shortcut_score(study(PAPERLIKE, spread=0.004), **BOTH)
    verdicts = {method: record["verdict"] for method, record in card["methods"].items()}
    assert verdicts["erm"]["name"] == "baseline"
    assert verdicts["cutmix"]["name"] == "whac-a-mole"
    assert verdicts["cutmix"]["gaps"]["background"]["name"] == "amplified (Whac-A-Mole)"
    assert verdicts["cutmix"]["gaps"]["co-object"]["name"] == "reduced"
    # lle: background gap -.7 points, within 2 of 0 with its interval; co-object gap -1.7, whose interval reaches -2.6
    assert verdicts["lle"]["gaps"]["background"]["name"] == "cured"
    assert verdicts["lle"]["gaps"]["co-object"]["name"] == "reduced"
    assert verdicts["lle"]["name"] == "reduces all"
    assert "95 %" in verdicts["cutmix"]["sentence"]
    single = shortcut_score(study(PAPERLIKE, seeds=(1,)), **BOTH)
    assert single["methods"]["cutmix"]["verdict"]["name"] == "undecided"
    assert "one seed" in single["methods"]["cutmix"]["verdict"]["sentence"]


def test_who_did_not_learn_the_task_is_not_called_cured():
    ends = {**PAPERLIKE, "lle": {"T1": two_cues(0.5, 0.5, 0.5, 0.5)}}
    verdict = shortcut_score(study(ends, spread=0.004), **BOTH)["methods"]["lle"]["verdict"]
    assert verdict["name"] == "not learned"
    assert verdict["gaps"]["background"]["name"] == "undecided"
    chance = {**PAPERLIKE, "erm": {"T1": two_cues(0.5, 0.5, 0.5, 0.5)}}
    assert shortcut_score(study(chance), **BOTH)["methods"]["lle"]["verdict"]["name"] == "undecided"


def estimate(mean, half):
    return {"mean": mean, "ci95": None if half is None else [mean - half, mean + half]}


@pytest.mark.parametrize(
    ("difference", "gap", "base", "word"),
    [
        ((-0.05, 0.04), (-0.2, 0.04), (-0.15, 0.02), "amplified"),
        ((-0.05, 0.06), (-0.2, 0.04), (-0.15, 0.02), "undecided"),
        ((-0.015, 0.01), (-0.165, 0.04), (-0.15, 0.02), "undecided"),
        ((-0.005, 0.01), (-0.155, 0.04), (-0.15, 0.02), "unchanged"),
        ((0.05, 0.04), (-0.1, 0.04), (-0.15, 0.02), "reduced"),
        ((0.14, 0.04), (-0.01, 0.005), (-0.15, 0.02), "cured"),
        ((0.14, 0.04), (-0.01, 0.02), (-0.15, 0.02), "reduced"),
        ((0.14, None), (-0.01, None), (-0.15, None), "undecided"),
        ((0.05, 0.01), (0.04, 0.01), (-0.01, 0.01), "unchanged"),  # nothing to cure
        ((-0.05, 0.01), (-0.06, 0.01), (-0.01, 0.01), "amplified"),
    ],
)
def test_the_word_for_a_gap(difference, gap, base, word):
    assert judge_gap(estimate(*difference), estimate(*gap), estimate(*base), 0.02) == word


def test_the_word_for_a_method():
    up, down, same, open_ = "amplified (Whac-A-Mole)", "reduced", "unchanged", "undecided"
    for words, verdict in {
        (up, down): "whac-a-mole",
        (up, open_): "amplifies",
        (down, "cured"): "reduces all",
        ("cured", "cured"): "cures all",
        (down, same): "reduces some",
        (same, same): "unchanged",
        (same, open_): "undecided",
    }.items():
        assert judge_method(dict(zip(CUES, words, strict=True))) == verdict


def test_the_interval_of_the_difference_is_that_of_paired_seeds():
    rng = np.random.default_rng(3)
    rows, differences = [], []
    for seed in range(4):
        low, high = rng.uniform(0.6, 0.8, 2)
        ends = {"erm": two_cues(0.95, 0.9, low, 0.5), "sd": two_cues(0.95, 0.9, high, 0.5)}
        for method, patterns in ends.items():
            rows += rows_of(method, seed, "T1", groups(patterns))
        differences.append((high - low) * (1 - 0.0475))  # ID moves along with its weight
    found = shortcut_score(timeline_of(rows), **BOTH)["methods"]["sd"]["phases"]["T1"]["own"]["difference"][
        "background"
    ]
    half = student.ppf(0.975, 3) * np.std(differences, ddof=1) / 2
    assert found["mean"] == pytest.approx(np.mean(differences))
    assert found["ci95"] == pytest.approx([np.mean(differences) - half, np.mean(differences) + half])


def test_seeds_that_the_baseline_lacks_are_left_out_and_named():
    rows = list(study(PAPERLIKE, spread=0.01).frame.itertuples(index=False, name=None))
    kept = [row for row in rows if not (row[0] == "erm" and row[1] == 3)]
    card = shortcut_score(timeline_of(kept), **BOTH)
    assert card["methods"]["lle"]["phases"]["T1"]["own"]["difference"]["background"]["n"] == 2
    assert card["methods"]["lle"]["phases"]["T1"]["own"]["gaps"]["background"]["n"] == 3
    assert any("seed 3 of lle" in warning for warning in card["warnings"])
    assert any(check["passed"] is False and "seeds are paired" in check["name"] for check in card["checks"])


def test_a_method_that_lacks_a_phase_is_null_there():
    ends = {**moved(), "sd": {"T2": two_cues(0.95, 0.9, 0.9, 0.8)}}
    card = shortcut_score(study(ends), cues=CUES, correlations=SWITCH)
    assert card["methods"]["sd"]["phases"]["T1"]["own"]["ID"]["mean"] is None
    assert card["methods"]["sd"]["phases"]["T2"]["own"]["ID"]["mean"] is not None
    assert any("sd seed 1 has no rows of T1" in check["detail"] for check in card["checks"])
