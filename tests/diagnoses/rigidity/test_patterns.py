"""The table of patterns, line by line, at its borders, and how sure each is."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from einstellung.diagnoses.rigidity.patterns import TRIPLET, candidates, decide, high_rigidity, holds
from einstellung.diagnoses.rigidity.settings import Margins
from einstellung.metrics.statistics import Summary

UNDEFINED = Summary(None, None, 0, None, "none")


def facets(AD=-5.0, PD=-0.1, SFR_rel=0.1, delta=0.4, delta_S=0.3, n=5, half=0.0001):  # noqa: N803
    values = {"AD": AD, "PD": PD, "SFR_rel": SFR_rel, "delta": delta, "delta_S": delta_S}
    return {
        name: UNDEFINED if mean is None else Summary(mean, half, n, (mean - half, mean + half), "t")
        for name, mean in values.items()
    }


def pattern(**values):
    return decide(facets(**values), Margins(), paired_seeds=5).pattern


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({}, "red-flag"),
        ({"AD": -1.0, "PD": 0.0, "SFR_rel": 0.02}, "red-flag"),  # every bound is included
        ({"AD": -1.0 + 1e-10, "PD": 1e-10, "SFR_rel": 0.02 - 1e-10}, "red-flag"),  # and so is rounding
        ({"AD": -0.99}, "ambiguous"),
        ({"PD": 0.01}, "ambiguous"),
        ({"PD": 0.05, "SFR_rel": -0.1}, "benign-avoidance"),
        ({"AD": -0.1, "PD": 0.02, "SFR_rel": -0.02}, "benign-avoidance"),
        ({"AD": 0.0, "PD": 0.05, "SFR_rel": -0.1}, "benign-transfer"),
        ({"AD": -5.0, "PD": 0.01, "SFR_rel": -0.1}, "ambiguous"),
        ({"SFR_rel": 0.0, "delta": 0.1}, "shared-shortcut"),
        ({"SFR_rel": -0.0199, "delta": 0.4, "PD": 0.5, "AD": 9.0}, "shared-shortcut"),
        ({"SFR_rel": 0.0, "delta": 0.09}, "ambiguous"),  # faster, better, no reliance: none of the paper's patterns
        ({"AD": 0.0, "PD": 0.0, "SFR_rel": 0.0, "delta": 0.05}, "benign-transfer"),
        ({"AD": -0.99, "PD": 0.3, "SFR_rel": 0.0, "delta": 0.05}, "benign-transfer"),
        ({"AD": -1.0, "PD": 0.3, "SFR_rel": 0.0, "delta": 0.05}, "ambiguous"),
        ({"AD": 3.0, "PD": 0.3, "SFR_rel": 0.02}, "ambiguous"),
        ({"delta_S": 0.0}, "cue-harmful"),
        ({"delta_S": -0.2, "PD": 0.05, "SFR_rel": -0.1}, "cue-harmful"),
        ({"delta_S": -0.2, "AD": None}, "ambiguous"),  # undefined comes first
        ({"AD": None}, "ambiguous"),
        ({"PD": None}, "ambiguous"),
        ({"SFR_rel": None, "delta_S": None}, "ambiguous"),
    ],
)
def test_the_table(values, name):
    assert pattern(**values) == name


def test_margins_are_the_user_s():
    table = facets(AD=-5.0, PD=-0.1, SFR_rel=0.1, delta=0.05)
    assert decide(table, Margins(AD=6), 5).pattern == "ambiguous"
    assert decide(table, Margins(SFR_rel=0.2), 5).pattern == "ambiguous"
    assert decide(facets(PD=0.05, SFR_rel=-0.1), Margins(PD=0.06), 5).pattern == "ambiguous"


def test_how_sure():
    assert decide(facets(half=0.01), Margins(), 5).certainty == "holds"
    assert decide(facets(half=0.01, n=3), Margins(), 3).certainty == "holds"
    unsure = decide(facets(half=0.09), Margins(), 5)
    assert unsure.certainty == "leans"
    assert [(c.facet, c.sure) for c in unsure.conditions] == [("AD", True), ("PD", True), ("SFR_rel", False)]
    assert decide(facets(n=2), Margins(), 5).certainty == "too few seeds"
    one = {**facets(), "AD": Summary(-5.0, None, 1, None, "n = 1: no interval")}
    assert decide(one, Margins(), 5).certainty == "too few seeds"
    # The number of seeds counts where the condition looks: delta_S is no part of the red flag.
    assert decide({**facets(), "delta_S": Summary(0.3, 0.1, 2, (0.2, 0.4), "t")}, Margins(), 5).certainty == "holds"


def test_an_interval_must_stay_on_its_side_with_both_ends():
    table = {**facets(SFR_rel=0.0), "SFR_rel": Summary(0.0, 0.1, 5, (-0.5, 0.01), "t")}
    shared = decide(table, Margins(), 5)
    assert (shared.pattern, shared.certainty) == ("shared-shortcut", "leans")
    table["SFR_rel"] = Summary(0.0, 0.01, 5, (-0.01, 0.01), "t")
    assert decide(table, Margins(), 5).certainty == "holds"


def test_ambiguity_knows_how_many_seeds_were_paired():
    table = facets(AD=None)
    assert decide(table, Margins(), 2).certainty == "too few seeds"
    assert decide(table, Margins(), 3).certainty == "leans"
    assert [c.met for c in decide(table, Margins(), 3).conditions] == [None, True, True]


def test_conditions_carry_numbers_and_bounds():
    conditions = decide(facets(), Margins(), 5).conditions
    assert asdict(conditions[0]) == {
        "facet": "AD",
        "relation": "<=",
        "bound": -1.0,
        "value": -5.0,
        "met": True,
        "sure": True,
    }
    assert list(candidates(facets(), Margins())) == [
        "cue-harmful",
        "red-flag",
        "benign-avoidance",
        "shared-shortcut",
        "benign-transfer",
    ]


@pytest.mark.parametrize("relation", ["<=", "<", ">=", ">"])
def test_relations_at_the_bound(relation):
    equal = [holds(0.02 + shift, relation, 0.02) for shift in (-1e-12, 0.0, 1e-12)]
    assert equal == ["=" in relation] * 3
    assert holds(0.02 - 1e-6, relation, 0.02) == ("<" in relation)
    assert holds(0.02 + 1e-6, relation, 0.02) == (">" in relation)


def test_the_high_rigidity_flag():
    assert high_rigidity(facets(), Margins()) is True
    assert high_rigidity(facets(PD=-0.02, AD=-1, SFR_rel=0.02), Margins()) is True
    assert high_rigidity(facets(PD=0.0), Margins()) is False  # the pattern allows it, the flag does not
    assert high_rigidity(facets(), Margins(PD=0.2)) is False
    for name in TRIPLET:
        assert high_rigidity({**facets(), name: UNDEFINED}, Margins()) is None
