"""The first screen of several shortcuts, and its plane of gaps: the card's own numbers, in points."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.shortcuts.forest import make_forest
from einstellung.diagnoses.shortcuts.plane import plane_data


def test_values_are_the_reliance_that_is_judged(written):
    card = written.card
    forest = make_forest(card)
    assert [column.key for column in forest.columns if column.plotted] == [f"difference {cue}" for cue in card.cues]
    for row in forest.rows:
        for cue in card.cues:
            judged = card.end(row.method).judged[cue]
            assert row.values[f"loss {cue}"].mean == pytest.approx(100 * judged.loss.mean)
            if row.method == card.baseline:
                assert f"difference {cue}" not in row.values
            else:
                found = row.values[f"difference {cue}"]
                assert found.mean == pytest.approx(100 * judged.difference.mean)
                assert (found.low, found.high) == pytest.approx([100 * bound for bound in judged.difference.bounds])


def test_what_is_undecided_is_open_and_has_no_tone(written):
    for row in make_forest(written.card).rows:
        decided = row.verdict not in ("undecided", "not learned", "baseline")
        assert (row.certainty == "holds") == decided
        assert bool(row.tone) <= decided


def test_the_plane_has_a_point_for_every_method_with_both_gaps(written):
    card = written.card
    (pair,) = plane_data(card)
    assert pair["cues"] == list(card.cues)
    assert [point["method"] for point in pair["points"]] == list(card.methods)
    for point in pair["points"]:
        gaps = [card.end(point["method"]).own.gaps[cue] for cue in card.cues]
        assert point["at"] == pytest.approx([100 * gap.mean for gap in gaps])
        assert point["bounds"][0] == pytest.approx([100 * end for end in gaps[0].ci95])
