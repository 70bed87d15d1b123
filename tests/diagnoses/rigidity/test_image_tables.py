"""Tables of single images against counts made by hand."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest

from einstellung.diagnoses.rigidity.image_tables import cue_effect_seed_table, cue_effect_table, masking_table
from einstellung.diagnoses.rigidity.images import per_image
from einstellung.diagnoses.rigidity.tables import make_tables
from einstellung.metrics.image_pairs import by_split
from einstellung.report.table_formats import to_csv
from einstellung.report.tables import Missing

from .hand_made import prediction_frame, typed

WITHOUT_EXTRAS = {"T2_shortcut_elsewhere": None, "T2_nonshortcut_patched": None}


def with_predictions(card, **runs):
    """``sgd_1=frame`` and so on: predictions by method and seed."""
    images = per_image(
        {(name.rpartition("_")[0], int(name.rpartition("_")[2])): by_split(frame) for name, frame in runs.items()}
    )
    return typed(card).model_copy(update={"per_image": images})


def test_every_run_has_its_row_with_counts_and_p(card):
    other = prediction_frame(T2_shortcut_masked=[20, 20, 21, 21])
    card = with_predictions(card, ewc_on_1=prediction_frame(), ewc_on_2=other, scratch_t2_1=other)
    table = masking_table(card, card.per_image)
    rows = [[cell.text for cell in row] for row in table.rows]
    assert rows == [
        ["scratch_t2", "1", "4", "4", "0", "0", "0", "1.000", "1.000"],
        ["ewc_on", "1", "4", "1", "3", "0", "0", "0.250", "0.750"],
        ["ewc_on", "2", "4", "4", "0", "0", "0", "1.000", "1.000"],
    ]
    assert "corrected over all 3 runs" in table.note
    full = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert (full[1]["only_patched"], float(full[1]["p_holm"])) == ("3", 0.75)


def test_the_effect_of_the_cue_is_mean_and_deviation_over_seeds(card):
    """SC elsewhere: 3/4 and 2/4 right. Pull: 1/4 -> 3/4 and 1/4 -> 1/4."""
    second = prediction_frame(T2_shortcut_elsewhere=[20, 20, 3, 3], T2_nonshortcut_patched=[30, 30, 30, 20])
    card = with_predictions(card, ewc_on_1=prediction_frame(), ewc_on_2=second)
    (row,) = cue_effect_table(card, card.per_image).rows
    assert [cell.text for cell in row] == [
        "ewc_on",
        "1.000 ± 0.000",
        "0.625 ± 0.177",
        "0.250 ± 0.000",
        "0.500 ± 0.000",
        "0.250 ± 0.000",
        "0.500 ± 0.354",
        "+0.250 ± 0.354",
        "0 of 2",
    ]
    seeds = cue_effect_seed_table(card, card.per_image)
    assert " ".join(cell.text for cell in seeds.rows[0][2:]) == "1.000 0.750 0.250 0.500 0.250 0.750 +0.500 0.500 1.000"
    assert " ".join(cell.text for cell in seeds.rows[1][2:]) == "1.000 0.500 0.250 0.500 0.250 0.250 0.000 1.000 1.000"
    assert seeds.values[0]["pull_only_with"] == 2


def test_a_split_that_was_not_stored_is_a_dash_with_its_reason(card):
    card = with_predictions(card, ewc_on_1=prediction_frame(**WITHOUT_EXTRAS))
    (row,) = cue_effect_table(card, card.per_image).rows
    assert [cell.text for cell in row] == ["ewc_on", "1.000", "–", "0.250", "0.500", "–", "–", "–", "–"]
    assert row[2].why == "no predictions for T2_shortcut_elsewhere, or not of the same images"
    assert row[7].why == row[8].why == "no predictions for T2_nonshortcut_patched, or not of the same images"
    (seed,) = cue_effect_seed_table(card, card.per_image).rows
    assert [cell.text for cell in seed[-2:]] == ["–", "–"]


def test_clear_pulls_are_counted_by_their_corrected_p(card):
    """Ten images pulled and none lost: p = 2 / 2**10; two such runs: Holm gives 4 / 2**10 for the first."""
    frame = prediction_frame()
    foreign = frame[frame["split"].str.contains("nonshortcut")]
    copies = [foreign.assign(index=foreign["index"] + 1000 * number) for number in range(1, 5)]
    many = pd.concat([frame, *copies], ignore_index=True)
    images = with_predictions(card, ewc_on_1=many, ewc_on_2=many)
    (row,) = cue_effect_table(images, images.per_image).rows
    assert row[-1].text == "2 of 2"
    images = with_predictions(card, ewc_on_1=many, ewc_on_2=frame)
    (row,) = cue_effect_table(images, images.per_image).rows
    assert row[-1].text == "1 of 2"


@pytest.mark.parametrize(
    "frame", [prediction_frame(T2_shortcut_masked=None), prediction_frame(T2_shortcut_normal=None)]
)
def test_tables_that_cannot_be_made_say_why(card, frame):
    tables = make_tables(with_predictions(card, ewc_on_1=frame))
    why = "no run has matching predictions for T2_shortcut_normal and T2_shortcut_masked"
    assert tables["mcnemar"] == Missing("mcnemar", "Masked against patched, per image", why)
    made = not isinstance(tables["cue_effect"], Missing)
    assert made == ("T2_shortcut_normal" in set(frame["split"]))
