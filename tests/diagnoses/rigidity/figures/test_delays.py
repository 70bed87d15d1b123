"""Adaptation delay against the threshold: hatched where there is none, coloured around zero."""

from __future__ import annotations

from einstellung.diagnoses.rigidity.figures.delays import HATCHES, draw_delay_grid
from einstellung.report.figures.canvas import drawing
from tests.diagnoses.rigidity.figures.seen import hatches_of, texts_of
from tests.diagnoses.rigidity.hand_made import typed


def test_hatched_cells_stand_exactly_where_there_is_no_delay(card):
    with drawing():
        figure = draw_delay_grid(typed(card))
    assert hatches_of(figure) == [HATCHES["both"]]  # gpm at 0.60: gpm in two seeds, both in the third
    assert {"−5.0", "n 2/3", "−1.0"} <= set(texts_of(figure))
    card["methods"]["gpm"]["AD_tau"]["0.60"]["censored"] = {"1": "gpm", "2": "gpm", "3": "gpm"}
    card["methods"]["ewc_on"]["AD_tau"]["0.50"] = {
        "mean": None,
        "sd": None,
        "n": 0,
        "censored": {"1": "scratch_t2"},
    }
    with drawing():
        figure = draw_delay_grid(typed(card))
    assert hatches_of(figure) == [HATCHES["baseline"], HATCHES["method"]]


def test_delays_are_coloured_around_zero(card):
    card["methods"]["gpm"]["AD_tau"]["0.60"] = {"mean": 5.0, "sd": None, "n": 3, "censored": {}}
    with drawing():
        cells = [patch for patch in draw_delay_grid(typed(card)).axes[0].patches if not patch.get_hatch()]
    early, late = cells[1].get_facecolor(), cells[3].get_facecolor()
    assert early[2] > early[0]  # blue
    assert late[0] > late[2]  # orange
