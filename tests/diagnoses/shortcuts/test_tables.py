"""Tables: Table 3 with marks and what is reported, every number of the verdicts, and what phases add."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.score import score_shortcuts
from einstellung.diagnoses.shortcuts.settings import ShortcutsSettings
from einstellung.diagnoses.shortcuts.tables import make_tables
from einstellung.results.config import build_config
from tests.report.html_reader import HtmlReader

from .reports import MOVED, save_as_svg, table_of, write_page
from .timelines import BOTH, SWITCH, study, timeline_of, two_phases


def test_table_3_marks_amplification_without_colour_and_shows_what_is_reported(written):
    text = (written.folder / "tables" / "table3.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| cutmix")]
    # ID = .9025 + .0475 (.95 + .52) + .0025 .1 = .9726, of erm .9835: gaps .52 - .9726 = -.4526 and .82 - .9835 = -.1635
    assert "| 66.5 ↑ | 23.5 ↓ | −45.3 (×2.77) |" in lines[0]
    assert "−45.0 (×2.94)" in lines[1]
    assert "UrbanCars" in text
    assert "training.batch_size 64 (paper: 128)" in text
    assert r"66.5 $\uparrow$" in (written.folder / "tables" / "table3.tex").read_text(encoding="utf-8")
    rows = {(row["method"], row["source"]): row for row in table_of(written.folder, "table3")}
    measured = written.card.methods["cutmix"].phases["T1"].own
    assert float(rows["cutmix", "measured"]["background gap"]) == measured.gaps["background"].mean
    assert float(rows["cutmix", "reported"]["background gap"]) == -0.45
    assert ("er+lle", "reported") not in rows
    assert 'class="worse">66.5' in written.html


def test_every_number_of_the_verdicts_is_in_a_table(written):
    end = written.card.methods["cutmix"].phases["T1"]
    rows = {(row["method"], row["cue"]): row for row in table_of(written.folder, "verdicts")}
    row = rows["cutmix", "background"]
    judged = end.judged["background"]
    assert (row["by"], row["ceiling"]) == ("twins", "")
    assert float(row["loss"]) == judged.loss.mean == pytest.approx(0.665)
    assert float(row["difference"]) == judged.difference.mean == pytest.approx(0.28)
    assert float(row["p_holm"]) == written.card.methods["cutmix"].verdict.cues["background"].p_holm
    assert row["verdict"] == "amplified (Whac-A-Mole)"
    assert (rows["erm", "background"]["difference"], rows["erm", "background"]["verdict"]) == ("", "baseline")
    gaps = {(row["method"], row["gap"]): row for row in table_of(written.folder, "gap_differences")}
    assert float(gaps["cutmix", "background"]["difference"]) == end.own.difference["background"].mean
    assert float(gaps["cutmix", "background"]["amplification_low95"]) == end.own.amplification["background"].ci95[0]
    assert gaps["erm", "background"]["amplification"] == ""
    groups_table = table_of(written.folder, "groups")
    assert float(groups_table[0]["group_1_00"]) == pytest.approx(0.28)
    assert float(table_of(written.folder, "preference")[0]["background"]) == pytest.approx(
        (1 + 0.87 + (1 - 0.82) + (1 - 0.28)) / 4
    )
    assert float(table_of(written.folder, "reliance")[0]["delta_swapped"]) == pytest.approx(0.385)


def test_a_study_of_two_phases_shows_carry_over_trade_and_history(tmp_path, monkeypatch):
    monkeypatch.setattr("einstellung.report.figures.plan.save", save_as_svg)
    scored, html = write_page(tmp_path, study(MOVED, spread=0.004, epochs=(0.0, 2.0, 4.0)), SWITCH)
    card, page = scored.card, HtmlReader(html)
    words = page.text
    assert "reliance on the background of T1 persists after T2 in erm" in words
    assert "phases" in page.ids
    left = [
        row for row in table_of(tmp_path, "carry_over") if row["method"] == "erm" and row["measure"] == "gap common"
    ]
    assert float(left[0]["left"]) == pytest.approx(-0.15)
    assert float(left[0]["share"]) == pytest.approx(0.375)
    trades = {(row["method"], row["move"], row["pair"]): row for row in table_of(tmp_path, "trade")}
    # background: 40 points before, (15 + 15) / 2 after; co-object: none before, (30 + 30) / 2 after
    assert float(trades["erm", "T1 to T2", "background -> co-object"]["T"]) == pytest.approx(0.25, abs=0.003)
    assert float(trades["erm", "T1 to T2", "background -> co-object"]["gap_T"]) == pytest.approx(0.25, abs=0.003)
    assert "trade" in (tmp_path / "tables" / "trade.md").read_text(encoding="utf-8")
    assert [row["method"] for row in table_of(tmp_path, "history")] == ["erm", "er+lle"]
    assert card.methods["er+lle"].phases["T2"].facets.AD.mean is not None
    assert card.reported.methods == {}  # a stream of phases is no published setting


def informed_study(final: str) -> ShortcutsCard:
    methods = ["erm", "gdro", "gdro~background"]
    learners = {"gdro~background": {"cues": ["background"]}, "gdro": {"cues": None}}
    rows = [(method, *row[1:]) for method in methods for row in two_phases({"T1": [0.2, 0.7, 0.4]})]
    config = build_config({"methods": methods, "learners": learners})
    return score_shortcuts(timeline_of(rows), ShortcutsSettings(final=final), **BOTH, config=config)


def test_selection_by_groups_that_a_method_does_not_know_of_is_said():
    card = informed_study("worst-group")
    assert card.informed_of == {"gdro~background": ("background",)}
    note = make_tables(card)["table3"].note
    assert "is selected by the worst of all groups, including that of gdro~background" in note
    assert "which favours them" in note
    assert "favours" not in make_tables(informed_study("last"))["table3"].note
