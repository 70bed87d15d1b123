"""Which epoch of a run counts: the last, or the best by worst-group validation accuracy, of the last phase only."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.shortcuts.score import score_shortcuts
from einstellung.diagnoses.shortcuts.settings import ShortcutsSettings
from einstellung.errors import InputError

from .timelines import BOTH, PAPERLIKE, selected, study, timeline_of, two_phases


def test_the_epoch_with_the_best_worst_validation_group_is_chosen_the_first_of_equals():
    timeline = timeline_of(selected([0.2, 0.6, 0.6], [0.1, 0.5, 0.7]))
    card = score_shortcuts(timeline, ShortcutsSettings(final="worst-group"), **BOTH)
    end = card.methods["erm"].phases["T1"]
    assert end.chosen_epoch == {"1": 2.0}
    assert end.patterns["00"].mean == pytest.approx(0.5)
    assert card.final == "worst-group" == score_shortcuts(timeline, **BOTH).final  # auto
    last = score_shortcuts(timeline, ShortcutsSettings(final="last"), **BOTH)
    assert last.methods["erm"].phases["T1"].patterns["00"].mean == pytest.approx(0.7)


def test_only_epochs_with_all_groups_of_validation_and_test_can_be_chosen():
    rows = selected([0.2, 0.8, 0.6], [0.1, 0.5, 0.7])
    rows = [row for row in rows if not (row[3] == 2.0 and row[4] == "group_0_11")]
    card = score_shortcuts(timeline_of(rows), ShortcutsSettings(final="worst-group"), **BOTH)
    assert card.methods["erm"].phases["T1"].chosen_epoch == {"1": 3.0}
    (check,) = [check for check in card.checks if "could choose between epochs" in check.name]
    assert check.passed is True
    assert "among 2 epochs" in check.detail


def test_worst_group_without_validation_groups_is_refused_and_auto_takes_the_last_epoch():
    timeline = study(PAPERLIKE, epochs=(2.0, 4.0))
    with pytest.raises(InputError, match="choose last"):
        score_shortcuts(timeline, ShortcutsSettings(final="worst-group"), **BOTH)
    assert score_shortcuts(timeline, **BOTH).final == "last"
    assert score_shortcuts(timeline_of(selected([0.5], [0.5], epochs=(1,))), **BOTH).final == "last"


def test_a_method_with_a_single_result_has_nothing_to_choose_and_needs_nothing():
    """DFR is measured once, after its last layer; the others are chosen among their epochs all the same."""
    once = [("dfr", *row[1:]) for row in selected([0.5], [0.4], epochs=(4,))]
    timeline = timeline_of(selected([0.2, 0.8, 0.6], [0.1, 0.5, 0.7]) + once)
    card = score_shortcuts(timeline, **BOTH)
    assert card.final == "worst-group"
    assert card.methods["erm"].phases["T1"].chosen_epoch == {"1": 2.0}
    assert card.methods["dfr"].phases["T1"].chosen_epoch == {"1": 4.0}
    (check,) = [check for check in card.checks if "could choose between epochs" in check.name]
    assert check.passed is True
    assert check.detail.endswith("with a single result: dfr")


def test_of_several_phases_only_the_last_is_selected_and_only_if_asked():
    timeline = timeline_of(two_phases({"T1": [0.8, 0.3], "T2": [0.2, 0.7, 0.4]}))
    auto = score_shortcuts(timeline, **BOTH)
    assert auto.final == "last"
    assert auto.methods["erm"].phases["T2"].chosen_epoch == {"1": 3.0}
    card = score_shortcuts(timeline, ShortcutsSettings(final="worst-group"), **BOTH)
    assert card.final_by_phase == {"T1": "last", "T2": "worst-group"}
    phases = card.methods["erm"].phases
    assert phases["T1"].chosen_epoch == {"1": 2.0}  # what T2 began with, though epoch 1 was better
    assert phases["T2"].chosen_epoch == {"1": 2.0}
    assert (phases["T1"].choices, phases["T2"].choices) == ({"1": 1}, {"1": 3})
    (check,) = [check for check in card.checks if "could choose between epochs" in check.name]
    assert check.detail == "among 3 epochs of T2, by 8 groups"


def test_a_first_phase_without_validation_groups_hinders_no_selection():
    rows = [row for row in two_phases({"T1": [0.8], "T2": [0.2, 0.7]}) if row[2] == "T2" or row[4].startswith("group")]
    card = score_shortcuts(timeline_of(rows), ShortcutsSettings(final="worst-group"), **BOTH)
    assert card.methods["erm"].phases["T2"].chosen_epoch == {"1": 2.0}
