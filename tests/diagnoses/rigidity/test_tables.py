"""Tables against numbers worked out by hand."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest

from einstellung.diagnoses.rigidity.card import StreamFacts
from einstellung.diagnoses.rigidity.published import reported_numbers
from einstellung.diagnoses.rigidity.score import score
from einstellung.diagnoses.rigidity.tables import (
    delay_table,
    facet_table,
    group_table,
    incremental_table,
    make_tables,
    reported_table,
    seed_table,
    table_one,
)
from einstellung.report.table_formats import to_csv, to_latex, to_markdown
from einstellung.timeline import Timeline

from .hand_made import scorecard, seed, typed


def row_of(table, *names):
    return next(row for row in table.rows if tuple(cell.text for cell in row[: len(names)]) == names)


def test_table_one_holds_mean_and_sample_deviation(card):
    # PD: .60-.70, .62-.74, .58-.72 = -.10, -.12, -.14; SFR_rel: .40-.20, .41-.19, .39-.18 = .20, .22, .21.
    row = [cell.text for cell in row_of(table_one(typed(card)), "ewc_on")]
    assert row == [
        "ewc_on",
        "−0.120 ± 0.020",
        "+0.210 ± 0.010",
        "0.720 ± 0.020",
        "0.320 ± 0.017",
        "0.110 ± 0.010",
        "0.620 ± 0.020",
        "0.760 ± 0.010",
    ]


def test_table_one_gives_the_reason_of_every_dash(card):
    scratch = row_of(table_one(typed(card)), "scratch_t2")
    assert [cell.text for cell in scratch[1:3]] == ["–", "–"]
    assert scratch[1].why == "this is the baseline"
    assert scratch[6].why == "no phase T1 was trained"
    gpm = row_of(table_one(typed(card)), "gpm")
    assert (gpm[5].text, gpm[5].why) == ("–", "T1_all not measured")
    assert all(cell.why for row in table_one(typed(card)).rows for cell in row if cell.text == "–")


def test_a_single_seed_has_no_deviation():
    lonely = scorecard({"scratch_t2": {"1": seed(8, 0.6, 0.4)}, "sgd": {"1": seed(4, 0.7, 0.3)}})
    assert row_of(table_one(typed(lonely)), "sgd")[1].text == "−0.100"
    assert row_of(facet_table(typed(lonely)), "sgd", "PD")[3].text == "n = 1: no interval"


def test_delays_say_how_many_seeds_count_and_who_did_not_cross(card):
    # Seed 3 of scratch_t2 never crosses: AD = mean(4 - 8, 3 - 9) = -5, sd = sqrt(2).
    ewc, gpm = row_of(delay_table(typed(card)), "ewc_on"), row_of(delay_table(typed(card)), "gpm")
    assert [cell.text for cell in ewc[1:4:2]] == ["−5.0 ± 1.41", "2 of 3"]
    assert ewc[4].text == "τ = 0.60 not reached by scratch_t2 in seed 3"
    assert [cell.text for cell in gpm[1:4]] == ["–", "–", "0 of 3"]
    assert gpm[4].text == "τ = 0.60 not reached by gpm in seeds 1 and 2; reached by neither in seed 3"


def test_facets_carry_their_t_interval(card):
    # Mean -.12, sd .02, n 3: -.12 -+ 4.3027 * .02 / sqrt(3) = -.12 -+ .0497.
    assert row_of(facet_table(typed(card)), "ewc_on", "PD")[3].text == "[−0.170, −0.070]"


def test_csv_holds_the_full_numbers_and_empty_fields(card):
    rows = {row["method"]: row for row in csv.DictReader(io.StringIO(to_csv(table_one(typed(card)))))}
    assert float(rows["ewc_on"]["PD_mean"]) == pytest.approx(-0.12, abs=1e-12)
    assert float(rows["ewc_on"]["PD_sd"]) == pytest.approx(0.02, abs=1e-12)
    assert rows["scratch_t2"]["PD_mean"] == ""
    assert rows["scratch_t2"]["PD_n"] == "0"
    delays = list(csv.DictReader(io.StringIO(to_csv(delay_table(typed(card))))))
    assert [(row["seed"], row["AD"], row["censored"]) for row in delays if row["method"] == "ewc_on"] == [
        ("1", "-4", ""),
        ("2", "-6", ""),
        ("3", "", "scratch_t2"),
    ]


def test_every_seed_has_its_row(card):
    table = seed_table(typed(card))
    assert len(table.rows) == 9
    assert [cell.text for cell in row_of(table, "ewc_on", "3")[2:7]] == ["5.0", "–", "10.0", "−0.140", "+0.210"]


def test_latex_escapes_what_latex_would_read_as_code(card):
    latex = to_latex(table_one(typed(card)), label="table1")
    body = latex.split(r"\midrule")[1]
    assert r"ewc\_on & $-$0.120 $\pm$ 0.020 & +0.210 $\pm$ 0.010" in body
    assert "ewc_on" not in latex
    assert not set("−±–Δτ") & set(latex)
    assert latex.count(r"\toprule") == latex.count(r"\bottomrule") == 1


def test_markdown_keeps_odd_names_in_their_cell():
    odd = scorecard({"scratch_t2": {"1": seed(8, 0.6, 0.4)}, "a|b_<i>": {"1": seed(4, 0.7, 0.3)}})
    lines = to_markdown(table_one(typed(odd))).splitlines()
    row = next(line for line in lines if line.startswith("| a"))
    assert row.startswith(r"| a\|b\_&lt;i> | −0.100 |")
    assert row.replace(r"\|", "").count("|") == lines[2].count("|")
    assert any(line.startswith("(a) ") for line in lines)


def test_delta_over_all_seeds_and_over_the_paired_ones_are_both_listed(card):
    assert not any(row[1].text == "Δ paired" for row in facet_table(typed(card)).rows)
    paired = {"mean": 0.405, "sd": 0.007, "n": 2, "ci95": None, "interval": "none"}
    card["methods"]["ewc_on"]["delta_paired"] = paired
    table = facet_table(typed(card))
    assert [cell.text for cell in row_of(table, "ewc_on", "Δ")][2] == "+0.400 ± 0.010"
    assert [cell.text for cell in row_of(table, "ewc_on", "Δ paired")][2] == "+0.405 ± 0.007"


FACTS = StreamFacts(chance=1 / 36, chance_task=1 / 12, cue_alone=1 / 6, phases=("T1", "T2"))


def curve(method, seed, phase, split, points):
    key = {"method": method, "seed": seed, "phase": phase, "split": split, "loss": None, "n": 100}
    return [{**key, "epoch": epoch, "acc": acc, "acc_task": task} for epoch, (acc, task) in points.items()]


def both_accuracies(facts=FACTS):
    """Best validation at epoch 2 of 4; T1_all in T2 is measured at epochs 2 and 4 only."""
    table = []
    for run, shift in ((1, 0.0), (2, 0.02)):
        for method in ("scratch_t2", "sgd"):
            validation = {1: (0.5, 0.5), 2: (0.9, 0.9), 3: (0.8, 0.8), 4: (0.8, 0.8)}
            table += curve(method, run, "T2", "T2_val", validation)
            for split, acc in (
                ("T2_shortcut_normal", 0.6),
                ("T2_shortcut_masked", 0.3),
                ("T2_nonshortcut_normal", 0.5),
            ):
                points = dict.fromkeys((1, 3, 4), (0.1, 0.2)) | {2: (acc + shift, acc + shift + 0.1)}
                table += curve(method, run, "T2", split, dict(sorted(points.items())))
            table += curve(method, run, "T2", "T1_all", {2: (0.2, 0.4), 4: (0.0 + shift, 0.3 + shift)})
        table += curve("sgd", run, "T1", "T1_all", {1: (0.3, 0.3), 2: (0.7 + shift, 0.8 + shift)})
    return score(Timeline(pd.DataFrame(table))).model_copy(update={"stream_facts": facts})


def test_both_accuracies_stand_below_each_other_at_the_right_moments():
    table = incremental_table(both_accuracies())
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
    note = incremental_table(both_accuracies()).note
    assert "Chance: 0.028 among all 36 classes, 0.042 among the 24 of T1, 0.083 among the 12 of T2" in note
    assert "the cue alone can reach 0.167" in note
    assert "Chance" not in incremental_table(both_accuracies(None)).note
    three = FACTS.model_copy(update={"phases": ("T1", "T2", "T3")})
    assert "of T1" not in incremental_table(both_accuracies(three)).note


def test_dashes_of_incremental_accuracies_have_reasons():
    values = both_accuracies(None).to_json()
    values["methods"]["sgd"]["task_incremental"] = None
    table = incremental_table(typed(values))
    scratch, sgd = table.rows[0], table.rows[3]
    assert (scratch[5].text, scratch[5].why) == ("–", "no phase T1 was trained")
    assert {(cell.text, cell.why) for cell in sgd[2:]} == {("–", "no acc_task in the timeline")}
    assert all(cell.why for row in table.rows for cell in row if cell.text == "–")


def test_reported_and_measured_stand_side_by_side(card):
    table = reported_table(typed(card | {"reported": reported_numbers(card["methods"])}))
    assert table.head == ("method", "quantity", "reported", "measured", "seeds measured")
    text = {(row[0].text, row[1].text, row[3].text): row[2].text for row in table.rows}
    assert text["ewc_on", "PD", "−0.120 ± 0.020"] == "+0.022 ± 0.046"
    assert text["ewc_on", "T1", "0.620 ± 0.020 (after T1)"] == "0.691 ± 0.007"
    assert text["ewc_on", "T1", "0.110 ± 0.010 (after T2)"] == "0.691 ± 0.007"
    assert text["scratch_t2", "SC patched", "0.600 ± 0.020"] == "0.628 ± 0.007"
    assert ("scratch_t2", "PD") not in {(row[0].text, row[1].text) for row in table.rows}
    gpm = [row[3] for row in table.rows if (row[0].text, row[1].text) == ("gpm", "T1")]
    assert {(cell.text, cell.why) for cell in gpm} == {
        ("–", "T1_all not measured"),
        ("–", "no T1_all rows in phase T1"),
    }


def grouped(seeds=(1, 2)):
    """A log as a folder of images leaves it: every group of test images is a split of its own; one only for sgd."""
    table = []
    for run in seeds:
        for method in ("scratch_t2", "sgd"):
            for split, acc in (("T2_shortcut_normal", 0.6), ("T2_shortcut_masked", 0.3), ("T2_group_day", 0.8)):
                table += curve(method, run, "T2", split, {1: (0.1, 0.1), 2: (acc + run / 100, acc)})
        table += curve("sgd", run, "T2", "T2_group_at night", {1: (0.1, 0.1), 2: (0.4, 0.4)})
    return score(Timeline(pd.DataFrame(table)))


def test_groups_of_a_folder_have_their_table():
    card = grouped()
    assert card.methods["sgd"].groups["day"].mean == pytest.approx(0.815)
    assert list(card.methods["scratch_t2"].groups) == ["day"]
    table = group_table(card)
    assert table.head == ("method", "at night", "day")
    assert [cell.text for cell in row_of(table, "sgd")[1:]] == ["0.400 ± 0.000", "0.815 ± 0.007"]
    assert [cell.text for cell in row_of(table, "scratch_t2")[1:]] == ["–", "0.815 ± 0.007"]
    assert table.values[1]["day_mean"] == pytest.approx(0.815)
    assert "at the last epoch of phase 2" in table.note
    assert make_tables(card)["groups"] == table
    assert "groups" not in make_tables(both_accuracies())


def test_facets_say_what_their_interval_comes_from(card):
    card["methods"]["ewc_on"]["AD"] |= {"interval": "resolution", "ci95": [-5.5, -4.5]}
    table = facet_table(typed(card))
    assert table.head[-1] == "interval by"
    assert row_of(table, "ewc_on", "AD")[-1].text == "resolution"
    assert row_of(table, "ewc_on", "PD")[-1].text == "t"
    assert row_of(table, "gpm", "AD")[-1].text == "–"
    assert all(cell.why for row in table.rows for cell in row[2:3] if cell.text == "–")


def test_what_is_specific_to_the_cues_classes_is_listed(card):
    # PD -.10 -.12 -.14 minus PD_NSC .70-.75, .71-.77, .69-.76: -.05 -.06 -.07
    row = row_of(facet_table(typed(card)), "ewc_on", "PD − PD NSC")
    assert row[2].text == "−0.060 ± 0.010"
    lost = row_of(facet_table(typed(card)), "ewc_on", "share lost")
    assert lost[2].text.startswith("0.556 ± ")  # (.40/.70 + .41/.74 + .39/.72) / 3
