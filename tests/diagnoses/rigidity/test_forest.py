"""The first screen of the index: the card's own numbers, and nothing that is not certain in colour."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.rigidity.forest import make_forest
from einstellung.report.notation import FACETS

from .hand_made import scorecard, seed, typed


def test_values_are_those_that_decide(written):
    forest = make_forest(written.card.baseline_first())
    assert [column.key for column in forest.columns] == ["AD", "PD", "SFR_rel", "delta"]
    assert [column.margin for column in forest.columns] == [1.0, 0.02, 0.02, None]
    assert forest.rows[0].is_baseline
    assert set(forest.rows[0].values) == {"delta"}
    for row in forest.rows[1:]:
        record = written.card.methods[row.method]
        for key, value in row.values.items():
            estimate = record.deciding(key)
            assert value.mean == estimate.mean
            assert (value.low, value.high) == (estimate.ci95 or (None, None))
        assert row.values["delta"].reference == record.deciding("delta_S").mean
    undefined = next(row for row in forest.rows if row.method == "derpp").values["AD"]
    assert undefined.mean is None
    assert "not reached by derpp" in str(undefined.why)


@pytest.mark.parametrize(("certainty", "tone"), [("holds", "red-flag"), ("leans", ""), ("too few seeds", "")])
def test_only_what_is_certain_has_a_tone(card, certainty, tone):
    card["methods"]["ewc_on"] |= {"pattern": "red-flag", "certainty": certainty}
    (row,) = [row for row in make_forest(typed(card)).rows if row.method == "ewc_on"]
    assert (row.verdict, row.tone, row.certainty) == ("red-flag", tone, certainty)


def test_where_nothing_is_compared_there_is_delta_alone():
    forest = make_forest(typed(scorecard({"sgd": {"1": seed(4, 0.6, 0.3)}})))
    assert [column.key for column in forest.columns] == ["delta"]
    assert "no baseline or method to compare with" in forest.caption
    assert forest.rows[0].values["delta"].mean == pytest.approx(0.3)
    assert forest.columns[0].meaning == FACETS["delta"].meaning


def test_a_value_of_fewer_seeds_says_so(card):
    (row,) = [row for row in make_forest(typed(card)).rows if row.method == "ewc_on"]
    assert row.values["AD"].note == "n 2 of 3"
    assert row.values["PD"].note == ""
