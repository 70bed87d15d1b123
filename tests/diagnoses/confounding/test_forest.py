"""The first screen of confounded tasks: the gap that decides, and the accuracies behind it."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.confounding.forest import make_forest
from einstellung.diagnoses.confounding.matrices import make_matrices

from .confounded import card_of, study, three_tasks


def test_values_are_those_of_the_verdict_in_points(card):
    forest = make_forest(card)
    assert [column.key for column in forest.columns] == ["gap", "unconfounded", "own_tasks"]
    assert forest.columns[0].margin == pytest.approx(100 * card.margin)
    for row in forest.rows:
        verdict = card.methods[row.method].verdict
        assert row.verdict == verdict.name
        if verdict.gap is not None:
            assert row.values["gap"].mean == pytest.approx(100 * verdict.gap)
        assert row.values["unconfounded"].mean == pytest.approx(100 * card.methods[row.method].unconfounded.mean)


def test_few_seeds_are_no_certainty():
    forest = make_forest(card_of(study(three_tasks(), seeds=(1,))))
    assert "1 seed" in {row.certainty for row in forest.rows}
    assert "holds" not in {row.certainty for row in forest.rows}


def test_a_matrix_has_a_cell_for_every_phase_and_test_set(card):
    matrices = make_matrices(card)
    assert len(matrices) == 2 * len(card.methods)
    naive = next(matrix for matrix in matrices if (matrix.method, matrix.label) == ("naive", "positive"))
    assert naive.columns == ["T1", "T2", "T3", "unconfounded"]
    phase, cells = naive.rows[1]
    stored = card.methods["naive"].matrix["T2"]["T1"].positive
    assert (phase, cells[0].text) == ("T2", f"{100 * stored.mean:.1f}")
    assert cells[0].lean == pytest.approx(2 * stored.mean - 1)
    assert cells[0].tip.startswith("naive after T2, positives of T1: ")
    assert f"n = {stored.n}" in cells[0].tip
    joint = next(matrix for matrix in matrices if (matrix.method, matrix.label) == ("joint", "negative"))
    assert [cell.lean for cell in joint.rows[0][1]] == [None] * 4
    assert "not measured" in joint.rows[0][1][0].tip
