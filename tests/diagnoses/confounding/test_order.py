"""Insidious confounding rests on the paired difference of cumulative and joint training, and says how sure it is."""

from __future__ import annotations

import pandas as pd
import pytest
from scipy import stats

from einstellung.diagnoses.confounding.answer import answer, overview
from einstellung.diagnoses.confounding.claims import claims_table
from einstellung.diagnoses.confounding.order import describe_order
from einstellung.diagnoses.confounding.tables import study_tables
from einstellung.diagnoses.confounding.verdict import CONFOUNDED, INSIDIOUS, UNDECIDED
from einstellung.timeline import Timeline

from .confounded import both, card_of, study

#: Unconfounded accuracy of each seed. By the means all but the last are insidious.
AS_IN_QUICK = {"cumulative": (0.726, 0.856, 0.683), "joint": (0.953, 0.896, 0.969)}
CLEAR = {"cumulative": (0.70, 0.72, 0.71), "joint": (0.95, 0.96, 0.97)}
NO_EFFECT = {"cumulative": (0.94, 0.95, 0.97), "joint": (0.95, 0.96, 0.97)}


def card(ends, seeds=(1, 2, 3)):
    """Naive training is confounded; the other two have these unconfounded accuracies."""
    parts = [
        study(
            {"naive": {f"T{task}": both(T1=1.0, T2=1.0, T3=1.0, unconfounded=0.5) for task in (1, 2, 3)}}, seeds=seeds
        )
    ]
    for method, values in ends.items():
        phases = ("T3",) if method == "joint" else ("T1", "T2", "T3")
        for seed, value in zip(seeds, values, strict=False):
            tasks = both(T1=0.98, T2=0.98, T3=0.98, unconfounded=value)
            parts.append(study({method: dict.fromkeys(phases, tasks)}, seeds=(seed,)))
    return card_of(Timeline(pd.concat([part.frame for part in parts], ignore_index=True)))


def claim(found):
    words = "cumulative training stays far below joint training"
    return next(row for row in claims_table({"x": found}).rows if row[1].text == words)


def test_means_that_say_insidious_are_not_enough():
    """As in the study: -22.7, -4.0 and -28.6 points."""
    found = card(AS_IN_QUICK)
    order = found.order
    differences = [-0.227, -0.04, -0.286]
    assert list(order.per_seed.values()) == pytest.approx(differences)
    assert order.difference.mean == pytest.approx(-0.18433, abs=1e-5)
    assert order.half_width == pytest.approx(0.31904, abs=1e-5)
    assert order.p_below_margin == pytest.approx(stats.ttest_1samp(differences, -0.1, alternative="less").pvalue)
    assert order.evidence == "by the means only"
    said = (
        "cumulative minus joint training -18.4 ± 31.9 points over 3 seeds (p 0.187 for below -10.0): by the means only"
    )
    assert describe_order(order) == said
    assert found.methods["naive"].verdict.name == CONFOUNDED
    assert found.methods["cumulative"].verdict.name == UNDECIDED
    assert said.capitalize() in answer(found)[0]
    assert any(said.capitalize() in str(part) for part in overview(found).paragraphs)
    assert (claim(found)[3].text, said in claim(found)[2].text) == ("open", True)
    (row,) = study_tables(found)["order"].rows
    assert [cell.text for cell in row] == ["−18.4 ± 12.84", "[−50.3, 13.5]", "0.187", "3", "by the means only"]


def test_three_seeds_with_a_clear_difference_are_certain():
    found = card(CLEAR)
    assert found.order.evidence == "certain"
    assert found.order.difference.ci95[1] < -0.1
    assert found.order.p_below_margin < 0.01
    assert {found.methods[method].verdict.name for method in ("naive", "cumulative")} == {INSIDIOUS}
    assert "Insidiously confounded" in found.methods["naive"].verdict.sentence
    assert claim(found)[3].text == "yes"


def test_two_seeds_are_never_certain():
    found = card({method: values[:2] for method, values in CLEAR.items()}, seeds=(1, 2))
    assert found.order.difference.n == 2
    assert found.order.p_below_margin < 0.05
    assert found.order.evidence == "by the means only"
    assert found.methods["naive"].verdict.name == CONFOUNDED
    equal = card({"cumulative": (0.7, 0.7), "joint": (0.95, 0.95)}, seeds=(1, 2))  # no spread at all
    assert equal.order.evidence == "by the means only"


def test_one_seed_has_neither_interval_nor_test():
    found = card({"cumulative": (0.7,), "joint": (0.95,)}, seeds=(1,))
    assert (found.order.half_width, found.order.p_below_margin) == (None, None)
    assert (
        describe_order(found.order) == "cumulative minus joint training -25.0 points with one seed: by the means only"
    )
    (row,) = study_tables(found)["order"].rows
    assert [cell.text for cell in row] == ["−25.0", "–", "–", "1", "by the means only"]


def test_a_small_difference_rules_it_out_and_a_loose_one_does_not():
    assert card(NO_EFFECT).order.evidence == "ruled out"
    assert claim(card(NO_EFFECT))[3].text == "no"
    loose = card({"cumulative": (0.95, 0.75, 0.96), "joint": (0.95, 0.96, 0.97)})
    assert loose.order.evidence == "not conclusive"
    assert claim(loose)[3].text == "open"


def test_only_seeds_that_both_have_count():
    found = card({"cumulative": CLEAR["cumulative"], "joint": CLEAR["joint"][:1]})
    assert list(found.order.per_seed) == ["1"]
    none = card({"cumulative": CLEAR["cumulative"]})
    assert none.order is None
    assert "order" not in study_tables(none)


def test_intervals_of_shares_are_shares():
    record = card({"cumulative": (0.99, 0.80, 1.0), "joint": (0.02, 0.3, 0.0)}).methods
    assert record["cumulative"].unconfounded.ci95[1] == 1.0
    assert record["joint"].unconfounded.ci95[0] == 0.0
    assert record["joint"].matrix["T3"]["unconfounded"].positive.ci95[0] == 0.0
