"""Gaps, amplification and the card of several shortcuts: worked by hand, and against an independent reckoning."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einstellung.diagnoses.confounding.settings import ConfoundingSettings
from einstellung.diagnoses.rigidity.score import score
from einstellung.diagnoses.rigidity.settings import ScoreSettings
from einstellung.diagnoses.shortcuts.gaps import (
    amplification,
    checked_weights,
    cue_preference,
    in_distribution,
    pattern_weights,
    shortcut_gaps,
    trade,
)
from einstellung.diagnoses.shortcuts.score import shortcut_score
from einstellung.diagnoses.shortcuts.settings import ShortcutSettings
from einstellung.diagnoses.shortcuts.splits import are_shortcuts, patterns_of, split_meaning, subsets_of
from einstellung.errors import InputError
from einstellung.metrics.ratios import ratio_of_means

from .several import PAPERLIKE, groups, rows_of, study, timeline_of, two_cues
from .timelines import run as paper_run
from .timelines import timeline as paper_timeline

BOTH = {"cues": ("background", "co-object"), "correlations": (0.95, 0.95)}
RHO = st.floats(0, 1)
ACC = st.floats(0, 1)


def own(card, method, phase="T1", weighting="own"):
    return card["methods"][method]["phases"][phase][weighting]


def test_id_accuracy_and_the_three_gaps_by_hand():
    card = shortcut_score(study({"erm": {"T1": two_cues(0.98, 0.86, 0.82, 0.28)}}, seeds=(1,)), **BOTH)
    end = own(card, "erm")
    whole = 0.9025 * 0.98 + 0.0475 * (0.86 + 0.82) + 0.0025 * 0.28
    assert end["ID"]["mean"] == pytest.approx(whole)
    assert end["gaps"]["background"]["mean"] == pytest.approx(0.82 - whole)  # A01: the background is uncommon
    assert end["gaps"]["co-object"]["mean"] == pytest.approx(0.86 - whole)
    assert end["gaps"]["background+co-object"]["mean"] == pytest.approx(0.28 - whole)
    assert own(card, "erm", weighting="common")["gaps"]["background"]["mean"] == pytest.approx(0.82 - 0.98)
    assert card["weights"]["T1"] == pytest.approx({"11": 0.9025, "10": 0.0475, "01": 0.0475, "00": 0.0025})


def test_accuracy_of_a_pattern_is_the_mean_over_classes_and_the_worst_group_the_lowest_of_all():
    rows = [
        row for seed in (1, 2) for row in rows_of("erm", seed, "T1", groups(two_cues(0.9, 0.8, 0.7, 0.4), tilt=0.1))
    ]
    end = shortcut_score(timeline_of(rows), **BOTH)["methods"]["erm"]["phases"]["T1"]
    assert end["patterns"]["00"]["mean"] == pytest.approx(0.4)
    assert end["groups"]["group_0_00"]["mean"] == pytest.approx(0.5)
    assert end["worst_group"]["mean"] == pytest.approx(0.3)
    assert end["worst_group_name"] == "group_1_00"


@settings(max_examples=40, deadline=None)
@given(st.lists(RHO, min_size=1, max_size=4), st.data())
def test_weights_sum_to_one_and_gaps_balance_for_any_number_of_cues(correlations, data):
    weights = pattern_weights(correlations)
    assert sum(weights.values()) == pytest.approx(1)
    assert len(weights) == 2 ** len(correlations)
    accuracies = {pattern: data.draw(ACC) for pattern in weights}
    cues = [f"c{k}" for k in range(len(correlations))]
    gaps = shortcut_gaps(accuracies, cues, weights)
    assert len(gaps) == 2 ** len(cues) - 1
    # the weighted gaps and that of the all-common pattern cancel: ID is their weighted mean
    whole = in_distribution(accuracies, weights)
    common = "1" * len(cues)
    rest = sum(weights[pattern] * gaps[name] for name, pattern in subsets_of(cues).items())
    assert rest + weights[common] * (accuracies[common] - whole) == pytest.approx(0, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_gaps_and_preference_against_predictions_image_by_image(cues, seed):
    """An independent way: draw single images and predictions, and count."""
    rng = np.random.default_rng(seed)
    names = [f"c{k}" for k in range(cues)]
    images = [(y, pattern) for y in (0, 1) for pattern in patterns_of(cues) for _ in range(8)]
    predicted = rng.integers(0, 2, len(images))
    agrees = {name: [] for name in ("label", *names)}
    right: dict[tuple[str, str], list[bool]] = {}
    for (y, pattern), answer in zip(images, predicted, strict=True):
        right.setdefault((str(y), pattern), []).append(answer == y)
        agrees["label"].append(answer == y)
        for name, digit in zip(names, pattern, strict=True):
            value = y if digit == "1" else 1 - y
            agrees[name].append(answer == value)
    measured = {group: float(np.mean(found)) for group, found in right.items()}
    for name, share in cue_preference(measured, names).items():
        assert share == pytest.approx(np.mean(agrees[name]))
    correlations = rng.uniform(0.5, 1, cues)
    accuracies = {p: np.mean([measured[y, p] for y in "01"]) for p in patterns_of(cues)}
    whole = 0.0
    for digits in product((0, 1), repeat=cues):
        weight = 1.0
        for k, digit in enumerate(digits):
            weight *= correlations[k] if digit else 1 - correlations[k]
        whole += weight * accuracies["".join(map(str, digits))]
    gaps = shortcut_gaps(accuracies, names, pattern_weights(list(correlations)))
    for name, gap in gaps.items():
        pattern = "".join("0" if cue in name.split("+") else "1" for cue in names)
        assert gap == pytest.approx(accuracies[pattern] - whole)


def test_preference_of_more_than_two_classes_is_null_but_for_the_label():
    measured = {(y, pattern): 0.5 for y in "012" for pattern in ("1", "0")}
    assert cue_preference(measured, ["background"]) == {"label": 0.5, "background": None}


def test_amplification_and_trade_by_hand():
    assert amplification(-0.45, -0.153) == pytest.approx(2.941, abs=1e-3)
    assert amplification(-0.1, -0.0101) is not None
    assert amplification(-0.1, 0.01) is None
    assert amplification(None, -0.2) is None
    assert trade((-0.3, -0.1), (-0.05, -0.17)) == pytest.approx(0.12)
    assert trade((-0.3, -0.25), (-0.05, -0.17)) == pytest.approx(0.05)
    assert trade((-0.1, -0.3), (-0.05, -0.17)) < 0
    assert trade((None, -0.3), (-0.05, -0.17)) is None


def test_the_baselines_amplification_is_one_for_itself_and_nobodys_difference_is_made_up():
    card = shortcut_score(study(PAPERLIKE, spread=0.02), **BOTH)
    for found in own(card, "erm")["amplification"].values():
        assert found["value"] == pytest.approx(1)
        assert found["ci95"] == pytest.approx([1, 1])
        assert found["per_seed"]["mean"] == pytest.approx(1)
    cutmix = own(card, "cutmix")
    expected = cutmix["gaps"]["background"]["mean"] / own(card, "erm")["gaps"]["background"]["mean"]
    assert cutmix["amplification"]["background"]["value"] == pytest.approx(expected)
    assert expected > 2.5
    assert cutmix["difference"]["background"]["mean"] == pytest.approx(
        cutmix["gaps"]["background"]["mean"] - own(card, "erm")["gaps"]["background"]["mean"]
    )


def test_amplification_is_null_where_the_baseline_has_no_gap():
    flat = two_cues(0.95, 0.95, 0.95, 0.9)
    card = shortcut_score(study({"erm": {"T1": flat}, "sd": {"T1": two_cues(0.95, 0.5, 0.9, 0.4)}}), **BOTH)
    found = own(card, "sd")["amplification"]["co-object"]
    assert found["value"] is None
    assert "within 0.01 of 0" in found["interval"]
    assert found["per_seed"]["mean"] is None


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(-0.5, 0.1), st.floats(-0.5, -0.05)), min_size=2, max_size=6))
def test_fiellers_interval_holds_what_a_paired_t_test_does_not_refuse(pairs):
    from scipy.stats import ttest_1samp

    y, x = np.array(pairs).T
    ratio = ratio_of_means(list(y), list(x))
    assert ratio.value == pytest.approx(y.mean() / x.mean())
    if ratio.ci95 is None or np.ptp(y - ratio.value * x) < 1e-6:
        return
    low, high = ratio.ci95
    assert low <= ratio.value + 1e-9
    assert high >= ratio.value - 1e-9
    width = high - low
    for theta, refused in ((low + 0.02 * width, False), (high - 0.02 * width, False), (high + 0.05 * width, True)):
        differences = y - theta * x
        if np.ptp(differences) > 1e-6:
            assert (ttest_1samp(differences, 0).pvalue < 0.05) == refused


def test_a_ratio_has_no_bounds_where_the_denominator_may_be_zero():
    assert ratio_of_means([-0.1, -0.2], [-0.3, 0.1]).ci95 is None
    assert ratio_of_means([-0.1], [-0.2]).interval == "n = 1: no interval"
    assert ratio_of_means([None], [-0.2]).n == 0


def test_three_cues_have_seven_gaps_with_weights_from_their_own_correlations():
    patterns = {p: 0.9 - 0.3 * p.count("0") / 3 - (0.1 if p == "011" else 0) for p in patterns_of(3)}
    card = shortcut_score(study({"erm": {"T1": patterns}}), cues=("b", "c", "w"), correlations=(0.9, 0.8, 0.6))
    end = own(card, "erm")
    assert card["gaps"] == ["b", "c", "w", "b+c", "b+w", "c+w", "b+c+w"]
    assert card["weights"]["T1"]["010"] == pytest.approx(0.1 * 0.8 * 0.4)
    assert end["gaps"]["b+w"]["mean"] == pytest.approx(patterns["010"] - end["ID"]["mean"])


def test_one_cue_is_enough():
    card = shortcut_score(study({"erm": {"T1": {"1": 0.9, "0": 0.6}}}), correlations=(0.9,))
    assert own(card, "erm")["gaps"]["cue 1"]["mean"] == pytest.approx(0.6 - (0.9 * 0.9 + 0.1 * 0.6))


def test_without_correlations_id_is_null_and_a_warning_names_the_option():
    card = shortcut_score(study(PAPERLIKE))
    assert own(card, "erm")["ID"]["mean"] is None
    assert own(card, "erm")["gaps"]["cue 1"]["mean"] is None
    assert own(card, "erm", weighting="common")["gaps"]["cue 1"]["mean"] == pytest.approx(-0.18)
    assert any("--correlations" in warning for warning in card["warnings"])
    assert card["methods"]["cutmix"]["verdict"]["name"] == "undecided"
    assert json.loads(json.dumps(card, allow_nan=False)) == card


def test_a_group_that_was_not_measured_makes_what_needs_it_null_and_fails_a_check():
    timeline = study(PAPERLIKE)
    frame = timeline.frame
    gone = (frame["method"] == "cutmix") & (frame["split"] == "group_1_00")
    card = shortcut_score(type(timeline)(frame[~gone]), **BOTH)
    end = card["methods"]["cutmix"]["phases"]["T1"]
    assert end["patterns"]["00"]["mean"] is None
    assert end["own"]["ID"]["mean"] is None
    assert end["worst_group"]["mean"] is None
    assert end["worst_group_name"] is None
    assert end["preference"]["label"]["mean"] is None
    assert end["patterns"]["11"]["mean"] == pytest.approx(1.0)
    failed = [check for check in card["checks"] if check["passed"] is False]
    assert any("cutmix seed 1 after T1: group_1_00" in check["detail"] for check in failed)
    assert own(card, "erm")["ID"]["mean"] is not None


def test_unequal_groups_fail_a_check():
    rows = rows_of("erm", 1, "T1", groups(two_cues(0.9, 0.8, 0.7, 0.4)))
    rows = [(*row[:-1], 49 if row[4] == "group_0_11" else 50) for row in rows]
    card = shortcut_score(timeline_of(rows), **BOTH)
    (check,) = [check for check in card["checks"] if check["name"] == "all test groups hold as many images"]
    assert check["passed"] is False
    assert "group_0_11: 49" in check["detail"]
    assert card["images"]["group"] is None


def test_bad_input_is_refused_in_one_line():
    timeline = study(PAPERLIKE)
    for message, inputs in (
        ("3 correlations of T1 for 2 cues", {"correlations": (0.9, 0.9, 0.9)}),
        ("correlation 1.2", {"correlations": (0.9, 1.2)}),
        ("one name for each", {"cues": ("background",)}),
        ("one name for each", {"cues": ("background", "background")}),
        ("weights sum to 0.8", {"weights": dict.fromkeys(patterns_of(2), 0.2)}),
        ("one for each of 11, 10, 01, 00", {"weights": {"11": 1.0}}),
    ):
        with pytest.raises(InputError, match=message):
            shortcut_score(timeline, **inputs)
    with pytest.raises(InputError, match="no baseline 'ermm'"):
        shortcut_score(timeline, ShortcutSettings(baseline="ermm"))
    mixed = rows_of("erm", 1, "T1", {"group_0_11": 0.9, "group_0_1": 0.8})
    with pytest.raises(InputError, match="patterns of 1 and 2 digits"):
        shortcut_score(timeline_of(mixed))
    with pytest.raises(InputError, match="no groups of several shortcuts"):
        shortcut_score(timeline_of(rows_of("erm", 1, "T1", {"T1_val": 0.9})))
    assert sum(checked_weights({"1": 0.25, "0": 0.75}, 1).values()) == 1


def test_split_names():
    assert are_shortcuts(["group_1_010"])
    assert not are_shortcuts(["val_0_11", "T2_group_night", "group_a_11"])
    cues = ["background", "co-object"]
    assert "class 0: background uncommon, co-object common" in split_meaning("val_0_01", cues)
    assert split_meaning("co-object_covered", cues) == "the same images with the co-object covered"
    assert split_meaning("watermark_covered", cues) is None


def test_other_kinds_of_study_refuse_worst_group():
    final = "worst-group"
    with pytest.raises(InputError, match="worst-group"):
        ConfoundingSettings.of_score(ScoreSettings(final=final))
    with pytest.raises(InputError, match="worst-group"):
        score(paper_timeline(paper_run("sgd", 1, [0.5, 0.6], [0.4, 0.4])), ScoreSettings(final=final))
    with pytest.raises(InputError, match="best-val"):
        ShortcutSettings.of_score(ScoreSettings(final="best-val"))
    assert ShortcutSettings.of_score(ScoreSettings(final=final, level=0.6)) == ShortcutSettings(
        final=final, level=0.6, tau=ScoreSettings.tau
    )
    with pytest.raises(InputError, match=r"level is 0: "):
        ScoreSettings(level=0)
