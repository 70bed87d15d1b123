"""Class-incremental beside task-incremental accuracy, from a timeline in which both are known."""

from __future__ import annotations

import pandas as pd

from einstellung.diagnoses.rigidity.score import score
from einstellung.diagnoses.rigidity.incremental import incremental_table
from einstellung.timeline import Timeline

FACTS = {"chance": 1 / 36, "chance_task": 1 / 12, "cue_alone": 1 / 6, "training_images": {"T1": 9, "T2": 9}}


def rows(method, seed, phase, split, points):
    key = {"method": method, "seed": seed, "phase": phase, "split": split, "loss": None, "n": 100}
    return [{**key, "epoch": epoch, "acc": acc, "acc_task": task} for epoch, (acc, task) in points.items()]


def card():
    """Best validation at epoch 2 of 4; T1_all in T2 is measured at epochs 2 and 4 only."""
    table = []
    for seed, shift in ((1, 0.0), (2, 0.02)):
        for method in ("scratch_t2", "sgd"):
            validation = {1: (0.5, 0.5), 2: (0.9, 0.9), 3: (0.8, 0.8), 4: (0.8, 0.8)}
            table += rows(method, seed, "T2", "T2_val", validation)
            for split, acc in (
                ("T2_shortcut_normal", 0.6),
                ("T2_shortcut_masked", 0.3),
                ("T2_nonshortcut_normal", 0.5),
            ):
                points = dict.fromkeys((1, 3, 4), (0.1, 0.2)) | {2: (acc + shift, acc + shift + 0.1)}
                table += rows(method, seed, "T2", split, dict(sorted(points.items())))
            table += rows(method, seed, "T2", "T1_all", {2: (0.2, 0.4), 4: (0.0 + shift, 0.3 + shift)})
        table += rows("sgd", seed, "T1", "T1_all", {1: (0.3, 0.3), 2: (0.7 + shift, 0.8 + shift)})
    return score(Timeline(pd.DataFrame(table))).to_dict()


def test_both_accuracies_stand_below_each_other_at_the_right_moments():
    table = incremental_table(card(), FACTS)
    text = [[cell.text for cell in row] for row in table.rows if row[0].text == "sgd"]
    assert text == [
        [
            *("sgd", "class-incremental", "0.610 ± 0.014", "0.310 ± 0.014", "0.510 ± 0.014", "0.710 ± 0.014"),
            "0.010 ± 0.014",
        ],
        [
            *("sgd", "task-incremental", "0.710 ± 0.014", "0.410 ± 0.014", "0.610 ± 0.014", "0.810 ± 0.014"),
            "0.310 ± 0.014",
        ],
    ]
    assert table.head[-2:] == ("T1 after T1", "T1 after T2")
    assert [values["accuracy"] for values in table.values] == ["acc", "acc_task"] * 2
    assert table.values[-1]["T1_mean"] == 0.31


def test_chance_levels_come_from_the_proof():
    note = incremental_table(card(), FACTS).note
    assert "Chance: 0.028 among all 36 classes, 0.042 among the 24 of T1, 0.083 among the 12 of T2" in note
    assert "the cue alone can give 0.167" in note
    assert "Chance" not in incremental_table(card(), {}).note
    three = {**FACTS, "training_images": {"T1": 9, "T2": 9, "T3": 9}}
    assert "of T1" not in incremental_table(card(), three).note


def test_dashes_have_reasons():
    made = card()
    made["methods"]["sgd"]["task_incremental"] = None
    table = incremental_table(made, {})
    scratch, sgd = table.rows[0], table.rows[3]
    assert (scratch[5].text, scratch[5].why) == ("–", "no phase T1 was trained")
    assert {(cell.text, cell.why) for cell in sgd[2:]} == {("–", "no acc_task in the timeline")}
    assert all(cell.why for row in table.rows for cell in row if cell.text == "–")
