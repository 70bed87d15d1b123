"""The table of patterns, line by line, at its borders, and how sure each is."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from einstellung.diagnoses.rigidity.floor import Floor
from einstellung.diagnoses.rigidity.patterns import (
    TRIPLET,
    Facet,
    candidates,
    compare,
    decide,
    high_rigidity,
    holds,
    is_saturated,
    is_unlearned,
)
from einstellung.diagnoses.rigidity.settings import Margins

UNDEFINED = Facet((None, None, None))
HEAD = Floor.of(60)
LEVELS = {"SC_patch": 0.8, "SC_mask": 0.4, "SC_patch_S": 0.7, "SC_mask_S": 0.4, "NSC_lowest": 0.7}


def spread(mean, n=5, half=0.0001):
    """A value per seed around a mean, that differ by up to ``half``."""
    return UNDEFINED if mean is None else Facet(tuple(mean + half * (2 * k / (n - 1) - 1) for k in range(n)))


def facets(n=5, half=0.0001, **values):
    means = {"AD": -5.0, "PD": -0.1, "SFR_rel": 0.1, "delta": 0.4, "delta_S": 0.3, **LEVELS, **values}
    return {name: spread(mean, n, half) for name, mean in means.items()}


def decided(table, margins=None, floor=HEAD, paired_seeds=5):
    return decide(table, margins or Margins(), floor, paired_seeds)


def certainty(table, **more):
    decision = decided(table, **more)
    return decision.certainty(decision.p)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({}, "red-flag"),
        ({"AD": -1.0, "PD": 0.0, "SFR_rel": 0.02}, "red-flag"),  # every bound is included
        ({"AD": -1.0 + 1e-10, "PD": 1e-10, "SFR_rel": 0.02 - 1e-10}, "red-flag"),  # and so is rounding
        ({"AD": -0.99}, "ambiguous"),
        ({"PD": 0.01}, "ambiguous"),
        ({"PD": 0.05, "SFR_rel": -0.1, "delta": 0.02}, "benign-avoidance"),
        ({"PD": 0.05, "SFR_rel": -0.1, "delta": -0.3}, "benign-avoidance"),
        ({"PD": 0.05, "SFR_rel": -0.1, "delta": 0.021}, "ambiguous"),  # it relies on the cue itself
        ({"AD": -0.1, "PD": 0.02, "SFR_rel": -0.02, "delta": 0.0}, "benign-avoidance"),
        ({"AD": 0.0, "PD": 0.05, "SFR_rel": -0.1, "delta": 0.0}, "benign-transfer"),
        ({"AD": -5.0, "PD": 0.01, "SFR_rel": -0.1, "delta": 0.0}, "ambiguous"),
        ({"SFR_rel": 0.0, "delta": 0.1}, "shared-shortcut"),
        ({"SFR_rel": -0.0199, "delta": 0.4, "PD": 0.5, "AD": 9.0}, "shared-shortcut"),
        ({"SFR_rel": 0.0, "delta": 0.09}, "ambiguous"),  # faster, better, no reliance: none of the paper's patterns
        ({"AD": 0.0, "PD": 0.0, "SFR_rel": 0.0, "delta": 0.02}, "benign-transfer"),
        ({"AD": 0.0, "PD": 0.0, "SFR_rel": 0.0, "delta": 0.05}, "ambiguous"),
        ({"AD": 0.0, "PD": 0.0, "SFR_rel": 0.0, "delta": 0.0, "NSC_lowest": 0.01}, "ambiguous"),
        ({"AD": 0.0, "PD": 0.0, "SFR_rel": 0.0, "delta": 0.0, "NSC_lowest": None}, "ambiguous"),
        ({"AD": -0.99, "PD": 0.3, "SFR_rel": 0.0, "delta": 0.0}, "benign-transfer"),
        ({"AD": -1.0, "PD": 0.3, "SFR_rel": 0.0, "delta": 0.0}, "ambiguous"),
        ({"AD": 3.0, "PD": 0.3, "SFR_rel": 0.02}, "ambiguous"),
        ({"delta_S": 0.0}, "cue-harmful"),
        ({"delta_S": -0.2, "PD": 0.05, "SFR_rel": -0.1}, "cue-harmful"),
        ({"delta_S": -0.2, "AD": None}, "ambiguous"),  # undefined comes first
        ({"AD": None}, "ambiguous"),
        ({"PD": None}, "ambiguous"),
        ({"SFR_rel": None, "delta_S": None}, "ambiguous"),
        ({"SC_mask": 0.04, "SC_mask_S": 0.0}, "saturated"),  # before every other name
        ({"SC_mask": 0.04, "SC_mask_S": 0.0, "delta_S": 0.0}, "cue-harmful"),
        ({"SC_mask": 0.04, "SC_mask_S": 0.0, "AD": None}, "ambiguous"),
        ({"SC_mask": 0.06, "SC_mask_S": 0.0}, "red-flag"),  # one of them still knows something
        ({"SC_mask": 0.0, "SC_mask_S": 0.06}, "red-flag"),
        ({"SC_mask": 0.02, "SC_mask_S": 0.0, "SC_patch": 0.04, "SC_patch_S": 0.03}, "ambiguous"),  # nothing was learned
        ({"SC_mask": None, "SC_mask_S": None}, "red-flag"),  # a floor needs numbers
        ({"NSC_lowest": None}, "red-flag"),  # only the benign words ask for the other classes
    ],
)
def test_the_table(values, name):
    assert decided(facets(half=1e-11, **values)).pattern == name


def test_margins_are_the_user_s():
    table = facets(AD=-5.0, PD=-0.1, SFR_rel=0.1, delta=0.05)
    assert decided(table, Margins(AD=6)).pattern == "ambiguous"
    assert decided(table, Margins(SFR_rel=0.2)).pattern == "ambiguous"
    benign = facets(PD=0.05, SFR_rel=-0.1, delta=0.0)
    assert decided(benign).pattern == "benign-avoidance"
    assert decided(benign, Margins(PD=0.06)).pattern == "ambiguous"
    assert decided(facets(PD=0.05, SFR_rel=-0.1, delta=0.05), Margins(SFR_rel=0.05)).pattern == "benign-avoidance"


def test_a_facet_is_tested_against_its_own_bound():
    """As scipy has it: one-sided against the bound, twice one-sided where the facet must stay near 0."""
    values = (0.05, 0.09, 0.06, 0.12)
    for relation, bound, side in (
        (">=", 0.02, "greater"),
        (">", 0.02, "greater"),
        ("<=", 0.1, "less"),
        ("<", 0.1, "less"),
    ):
        found = compare({"PD": Facet(values)}, "PD", relation, bound).p
        assert found == pytest.approx(stats.ttest_1samp(values, bound, alternative=side).pvalue)
    near = compare({"PD": Facet(values)}, "PD", "|.| <", 0.15).p
    both = (
        stats.ttest_1samp(values, -0.15, alternative="greater"),
        stats.ttest_1samp(values, 0.15, alternative="less"),
    )
    assert near == pytest.approx(max(test.pvalue for test in both))


def test_a_pattern_s_p_is_the_largest_of_its_conditions():
    decision = decided(facets(half=0.05, SFR_rel=0.06))
    assert decision.pattern == "red-flag"
    assert decision.p == max(condition.p for condition in decision.conditions)
    assert decision.p == next(condition.p for condition in decision.conditions if condition.facet == "SFR_rel")
    assert decided(facets(AD=3.0)).p is None  # no pattern, nothing tested


def test_how_sure():
    assert certainty(facets(half=0.01)) == "holds"
    assert certainty(facets(half=0.01, n=3), paired_seeds=3) == "holds"
    unsure = decided(facets(half=0.09))
    assert unsure.certainty(unsure.p) == "leans"
    assert [(c.facet, c.sure) for c in unsure.conditions] == [("AD", True), ("PD", True), ("SFR_rel", False)]
    assert certainty(facets(n=2)) == "too few seeds"
    one = {**facets(), "AD": Facet((-5.0, None, None, None, None))}
    assert certainty(one) == "too few seeds"
    assert decided(one).p is None
    # The number of seeds counts where the condition looks: delta_S is no part of the red flag.
    assert certainty({**facets(), "delta_S": Facet((0.2, 0.4))}) == "holds"


def test_a_corrected_p_above_five_percent_only_leans():
    decision = decided(facets())
    assert [decision.certainty(p) for p in (0.05, 0.0501, 1.0, None)] == ["holds", "leans", "leans", "leans"]


def test_an_interval_may_refuse_what_the_test_allows():
    """t = 3.5 with two degrees of freedom: one-sided p = .036, but the 95 % interval asks for 4.3."""
    error = 0.01
    table = {**facets(), "PD": Facet(tuple(-0.035 + k * error * 3**0.5 for k in (-1, 0, 1)))}
    decision = decided(table)
    pd = next(condition for condition in decision.conditions if condition.facet == "PD")
    assert decision.p == pd.p == pytest.approx(stats.t.sf(3.5, 2))
    assert (pd.met, pd.sure) == (True, False)
    assert decision.certainty(decision.p) == "leans"


def test_an_interval_must_stay_on_its_side_with_both_ends():
    table = {**facets(SFR_rel=0.0), "SFR_rel": Facet((-0.06, 0.0, 0.06))}
    assert decided(table).pattern == "shared-shortcut"
    assert certainty(table) == "leans"
    table["SFR_rel"] = Facet((-0.001, 0.0, 0.001))
    assert certainty(table) == "holds"


def test_ambiguity_knows_how_many_seeds_were_paired():
    table = facets(AD=None)
    assert certainty(table, paired_seeds=2) == "too few seeds"
    assert certainty(table, paired_seeds=3) == "leans"
    assert [c.met for c in decided(table).conditions] == [None, True, True]


def test_conditions_carry_numbers_bounds_and_tests():
    condition = decided(facets(half=0.0)).conditions[0]
    assert asdict(condition) == {
        "facet": "AD",
        "relation": "<=",
        "bound": -1.0,
        "value": -5.0,
        "met": True,
        "sure": True,
        "p": 0.0,
    }
    assert list(candidates(facets(), Margins(), HEAD)) == [
        "cue-harmful",
        "saturated",
        "red-flag",
        "benign-avoidance",
        "shared-shortcut",
        "benign-transfer",
    ]


def test_the_other_classes_are_counted_in_every_seed():
    benign = facets(AD=0.0, PD=0.0, SFR_rel=0.0, delta=0.0)
    for values, pattern, refused in (
        ((0.5, 0.6, 0.7), "benign-transfer", ()),
        ((0.5, 0.6, 0.01), "ambiguous", ("NSC_lowest",)),  # not the mean
        ((0.5, 0.6, 1 / 60), "ambiguous", ("NSC_lowest",)),
        ((0.5, 0.6, None), "ambiguous", ("NSC_lowest",)),
    ):
        decision = decided({**benign, "NSC_lowest": Facet(values)})
        assert decision.pattern == pattern
        withheld = {name: tuple(one.facet for one in unmet) for name, unmet in decision.withheld.items()}
        assert withheld == ({"benign-transfer": refused} if refused else {})


def test_chance_is_a_twentieth_where_the_head_is_unknown():
    benign = facets(AD=0.0, PD=0.0, SFR_rel=0.0, delta=0.0, NSC_lowest=0.04)
    assert decided(benign).pattern == "benign-transfer"
    assert decided(benign, floor=Floor.of(None)).pattern == "ambiguous"


def test_a_withheld_name_is_kept_with_what_refuses_it():
    both = decided(facets(PD=0.05, SFR_rel=-0.1, delta=0.4, NSC_lowest=0.0))
    assert {name: [one.facet for one in unmet] for name, unmet in both.withheld.items()} == {
        "benign-avoidance": ["delta", "NSC_lowest"]
    }
    shared = decided(facets(AD=0.0, PD=0.0, SFR_rel=0.0, delta=0.4))
    assert (shared.pattern, shared.withheld) == ("shared-shortcut", {})  # tried before the benign word


def test_the_floor_is_judged_by_the_upper_end():
    low = (0.02, 0.03, 0.04)
    table = {**facets(), "SC_mask": Facet(low, (0.0, 1.0)), "SC_mask_S": Facet((0.0, 0.0, 0.0))}
    assert table["SC_mask"].summary.ci95[1] == pytest.approx(0.03 + 4.30265 * 0.01 / 3**0.5)
    assert not is_saturated(table, HEAD)  # .055
    assert is_saturated(table, Floor.of(40))
    assert is_saturated({**table, "SC_mask": Facet((0.05,)), "SC_mask_S": Facet((0.05,))}, HEAD)
    assert not is_saturated({**table, "SC_mask": Facet((0.06,)), "SC_mask_S": Facet((0.05,))}, HEAD)
    assert not is_unlearned(table, HEAD)


@pytest.mark.parametrize(
    ("classes", "level"),
    [(60, 0.05), (100, 0.03), (12, 0.25), (11, 0.25), (4, 0.25), (3, 1 / 3), (2, 0.5), (None, 0.05)],
)
def test_the_level_of_the_floor(classes, level):
    floor = Floor.of(classes)
    assert floor.level == pytest.approx(level)
    assert floor.chance == pytest.approx(0.05 if classes is None else 1 / classes)
    assert ("unknown" in floor.describe()) is (classes is None)


accuracy = st.floats(0, 1)


@settings(max_examples=300, deadline=None)
@given(
    st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(accuracy, min_size=5, max_size=5), min_size=n, max_size=n)),
    st.lists(st.floats(-9, 9), min_size=4, max_size=4),
    st.sampled_from([None, 2, 3, 4, 10, 60]),
    st.floats(0, 1),
)
def test_where_saturated_no_relative_word_is_given(seeds, delays, classes, scale):
    """Whatever the accuracies; ``scale`` brings the masked ones near the floor often enough."""
    floor = Floor.of(classes)
    own, base, own_mask, base_mask, other = (list(values) for values in zip(*seeds, strict=True))
    own_mask, base_mask = ([value * scale * 2 * floor.level for value in values] for values in (own_mask, base_mask))
    delta = [a - b for a, b in zip(own, own_mask, strict=True)]
    delta_s = [a - b for a, b in zip(base, base_mask, strict=True)]
    table = {
        "AD": Facet(tuple(delays[: len(seeds)]), None, 0.5),
        "PD": Facet(tuple(b - a for a, b in zip(own, base, strict=True)), (-1.0, 1.0)),
        "SFR_rel": Facet(tuple(a - b for a, b in zip(delta, delta_s, strict=True)), (-2.0, 2.0)),
        "delta": Facet(tuple(delta), (-1.0, 1.0)),
        "delta_S": Facet(tuple(delta_s), (-1.0, 1.0)),
        "SC_patch": Facet(tuple(own), (0.0, 1.0)),
        "SC_patch_S": Facet(tuple(base), (0.0, 1.0)),
        "SC_mask": Facet(tuple(own_mask), (0.0, 1.0)),
        "SC_mask_S": Facet(tuple(base_mask), (0.0, 1.0)),
        "NSC_lowest": Facet(tuple(other), (0.0, 1.0)),
    }
    decision = decided(table, floor=floor, paired_seeds=len(seeds))
    if is_saturated(table, floor):
        assert decision.pattern in ("saturated", "ambiguous", "cue-harmful")
        assert high_rigidity(table, Margins(), floor) is None
    else:
        assert decision.pattern != "saturated"


@pytest.mark.parametrize("relation", ["<=", "<", ">=", ">"])
def test_relations_at_the_bound(relation):
    equal = [holds(0.02 + shift, relation, 0.02) for shift in (-1e-12, 0.0, 1e-12)]
    assert equal == ["=" in relation] * 3
    assert holds(0.02 - 1e-6, relation, 0.02) == ("<" in relation)
    assert holds(0.02 + 1e-6, relation, 0.02) == (">" in relation)


def flagged(table, margins=None):
    conditions = high_rigidity(table, margins or Margins(), HEAD)
    return None if conditions is None else all(condition.met for condition in conditions)


def test_the_high_rigidity_flag():
    assert flagged(facets()) is True
    assert flagged(facets(half=0.0, PD=-0.02, AD=-1, SFR_rel=0.02)) is True
    assert flagged(facets(PD=0.0)) is False  # the pattern allows it, the flag does not
    assert flagged(facets(), Margins(PD=0.2)) is False
    for name in TRIPLET:
        assert flagged({**facets(), name: UNDEFINED}) is None
    assert flagged(facets(SC_mask=0.0, SC_mask_S=0.0)) is None  # it would follow from PD alone
