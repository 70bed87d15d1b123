"""Tables: the paper's columns, measured above reported."""

from __future__ import annotations

import csv

import pytest

from einstellung.diagnoses.confounding.score import score_tasks
from einstellung.diagnoses.confounding.tables import facet_table, seed_table, study_tables, verdict_table
from einstellung.timeline import Timeline

from .confounded import both, study, three_tasks


def test_measured_stands_above_reported(written):
    with (written.folder / "tables" / "table4.csv").open() as stream:
        rows = {(row["method"], row["source"]): row for row in csv.DictReader(stream)}
    assert float(rows["cumulative", "reported"]["unconfounded_mean"]) == 0.726
    assert float(rows["cumulative", "measured"]["unconfounded_mean"]) == pytest.approx(0.72)
    assert rows["cumulative", "reported"]["n_seeds"] == "5"
    assert rows["joint", "measured"]["T1@T3_mean"] == ""
    assert ("scratch", "reported") not in rows
    table = study_tables(written.card)["table4"]
    joint = next(row for row in table.rows if (row[0].text, row[1].text) == ("joint", "reported"))
    assert [cell.text for cell in joint[2:]] == ["98.2 ± 1.11", "99.2 ± 0.17", "98.9 ± 0.30", "–", "–", "95.7 ± 2.04"]
    assert joint[5].why == "all tasks were learned jointly, so there are no old ones"


def test_the_gap_stands_with_its_interval(card):
    joint = next(row for row in verdict_table(card).rows if row[0].text == "joint")
    assert [cell.text for cell in joint[:5]] == ["joint", "not confounded", "95.0 ± 0.63", "98.7 ± 0.63", "+3.7"]
    unlearned = score_tasks(study({"naive": {"T1": both(T1=0.6, unconfounded=0.5)}}))
    (row,) = verdict_table(unlearned).rows
    assert (row[4].text, row[4].why) == ("–", "no gap for tasks that were not learned or not measured")


def test_facets_say_how_many_seeds_count_and_why_one_is_undefined():
    frame = study(three_tasks()).frame
    kept = frame[(frame["method"] != "scratch") | (frame["seed"] != 2)].reset_index(drop=True)
    rows = {(row[0].text, row[1].text): row for row in facet_table(score_tasks(Timeline(kept))).rows}
    assert rows["naive", "T2"][3].text == "0.000 ± 0.000 (n 2)"
    assert rows["naive", "T1"][3].why == "the first task has no training history"


def test_every_seed_has_a_row(card):
    table = seed_table(card)
    assert len(table.rows) == 4 * 3
    assert [cell.text for cell in table.rows[0][:3]] == ["scratch", "1", "99.4"]
