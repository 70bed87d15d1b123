"""Tables against numbers worked out by hand."""

from __future__ import annotations

import csv
import io

import pytest

from einstellung.report.table_formats import escape_latex, to_csv, to_latex, to_markdown
from einstellung.report.tables import delay_table, facet_table, seed_table, table_one

from .hand_made import scorecard, seed


def row_of(table, *names):
    return next(row for row in table.rows if tuple(cell.text for cell in row[: len(names)]) == names)


def test_table_one_holds_mean_and_sample_deviation(card):
    # PD: .60-.70, .62-.74, .58-.72 = -.10, -.12, -.14; SFR_rel: .40-.20, .41-.19, .39-.18 = .20, .22, .21.
    row = [cell.text for cell in row_of(table_one(card), "ewc_on")]
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
    scratch = row_of(table_one(card), "scratch_t2")
    assert [cell.text for cell in scratch[1:3]] == ["–", "–"]
    assert scratch[1].why == "the baseline is what the others are compared with"
    assert scratch[6].why == "no phase T1 was trained"
    gpm = row_of(table_one(card), "gpm")
    assert (gpm[5].text, gpm[5].why) == ("–", "T1_all not measured")
    assert all(cell.why for row in table_one(card).rows for cell in row if cell.text == "–")


def test_a_single_seed_has_no_deviation():
    lonely = scorecard({"scratch_t2": {"1": seed(8, 0.6, 0.4)}, "sgd": {"1": seed(4, 0.7, 0.3)}})
    assert row_of(table_one(lonely), "sgd")[1].text == "−0.100"
    assert row_of(facet_table(lonely), "sgd", "PD")[3].text == "n = 1: no interval"


def test_delays_say_how_many_seeds_count_and_who_did_not_cross(card):
    # Seed 3 of scratch_t2 never crosses: AD = mean(4 - 8, 3 - 9) = -5, sd = sqrt(2).
    ewc, gpm = row_of(delay_table(card), "ewc_on"), row_of(delay_table(card), "gpm")
    assert [cell.text for cell in ewc[1:4:2]] == ["−5.0 ± 1.41", "2 of 3"]
    assert ewc[4].text == "τ = 0.60 not reached by scratch_t2 in seed 3"
    assert [cell.text for cell in gpm[1:4]] == ["–", "–", "0 of 3"]
    assert gpm[4].text == "τ = 0.60 not reached by gpm in seeds 1 and 2; reached by neither in seed 3"


def test_facets_carry_their_t_interval(card):
    # Mean -.12, sd .02, n 3: -.12 -+ 4.3027 * .02 / sqrt(3) = -.12 -+ .0497.
    assert row_of(facet_table(card), "ewc_on", "PD")[3].text == "[−0.170, −0.070]"


def test_csv_holds_the_full_numbers_and_empty_fields(card):
    rows = {row["method"]: row for row in csv.DictReader(io.StringIO(to_csv(table_one(card))))}
    assert float(rows["ewc_on"]["PD_mean"]) == pytest.approx(-0.12, abs=1e-12)
    assert float(rows["ewc_on"]["PD_sd"]) == pytest.approx(0.02, abs=1e-12)
    assert rows["scratch_t2"]["PD_mean"] == ""
    assert rows["scratch_t2"]["PD_n"] == "0"
    delays = list(csv.DictReader(io.StringIO(to_csv(delay_table(card)))))
    assert [(row["seed"], row["AD"], row["censored"]) for row in delays if row["method"] == "ewc_on"] == [
        ("1", "-4", ""),
        ("2", "-6", ""),
        ("3", "", "scratch_t2"),
    ]


def test_every_seed_has_its_row(card):
    table = seed_table(card)
    assert len(table.rows) == 9
    assert [cell.text for cell in row_of(table, "ewc_on", "3")[2:7]] == ["5.0", "–", "10.0", "−0.140", "+0.210"]


def test_latex_escapes_what_latex_would_read_as_code(card):
    assert escape_latex(r"a_b & 50% #1 {x} $y^2~\z") == (
        r"a\_b \& 50\% \#1 \{x\} \$y\textasciicircum{}2\textasciitilde{}\textbackslash{}z"
    )
    latex = to_latex(table_one(card), label="table1")
    body = latex.split(r"\midrule")[1]
    assert r"ewc\_on & $-$0.120 $\pm$ 0.020 & +0.210 $\pm$ 0.010" in body
    assert "ewc_on" not in latex
    assert not set("−±–Δτ") & set(latex)
    assert latex.count(r"\toprule") == latex.count(r"\bottomrule") == 1


def test_markdown_keeps_odd_names_in_their_cell():
    odd = scorecard({"scratch_t2": {"1": seed(8, 0.6, 0.4)}, "a|b_<i>": {"1": seed(4, 0.7, 0.3)}})
    lines = to_markdown(table_one(odd)).splitlines()
    row = next(line for line in lines if line.startswith("| a"))
    assert row.startswith(r"| a\|b\_&lt;i> | −0.100 |")
    assert row.replace(r"\|", "").count("|") == lines[2].count("|")
    assert any(line.startswith("(a) ") for line in lines)


def test_delta_over_all_seeds_and_over_the_paired_ones_are_both_listed(card):
    assert not any(row[1].text == "Δ paired" for row in facet_table(card).rows)
    paired = {"mean": 0.405, "sd": 0.007, "n": 2, "ci95": None, "interval": "none"}
    card["methods"]["ewc_on"]["delta_paired"] = paired
    table = facet_table(card)
    assert [cell.text for cell in row_of(table, "ewc_on", "Δ")][2] == "+0.400 ± 0.010"
    assert [cell.text for cell in row_of(table, "ewc_on", "Δ paired")][2] == "+0.405 ± 0.007"
