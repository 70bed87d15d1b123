"""The page of several shortcuts: whole, with the answer first; what common means, which epochs count, the glossary."""

from __future__ import annotations

import json

import pytest

from einstellung.diagnoses.shortcuts.score import score_shortcuts
from einstellung.diagnoses.shortcuts.tables import make_tables
from einstellung.hashes import unsealed
from tests.report.html_reader import HtmlReader

from .reports import MOVED, TWINS, table_of, write_page
from .timelines import CUES, EVEN, HALF, LEANING, LEANS, PAPERLIKE, SWITCH, TURNED, study, timeline_of, two_phases


def test_the_page_is_whole_and_answers_first(written):
    page = HtmlReader(written.html)
    assert len(set(page.ids)) == len(page.ids)
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert all(load.startswith("data:") for load in page.loads)
    words = page.text
    assert (
        words.index("Whac-A-Mole by twins in 1 of 2 methods compared with erm: cutmix (co-object down, background up).")
        < 600
    )
    for expected in (
        "A & B <several>",
        "50 per group, 400 in total",
        "sources are disjoint",
        "name: several",
        "3 seeds per method",
    ):
        assert expected in words
    assert {"plane", "gaps", "samples", "twins"} <= set(page.ids)
    assert "Gaps from phase to phase (there is only one phase)" in words


def test_the_score_is_strict_json_and_the_same_again(written):
    stored = unsealed(json.loads((written.folder / "score.json").read_text(encoding="utf-8")))
    assert stored == json.loads(json.dumps(written.scored.to_json(), allow_nan=False))
    assert stored["kind"] == "shortcuts"


def test_a_trade_against_the_baseline_is_of_the_cues_alone(quick, tmp_path):
    timeline = study({"erm": {"T1": EVEN}, "sd": {"T1": LEANING}}, spread=0.004)
    scored, _ = write_page(tmp_path, timeline, HALF["correlations"])
    (against_erm,) = scored.card.methods["sd"].trade.against_baseline
    assert against_erm.own["co-object -> background"].mean == pytest.approx(0.15, abs=0.005)  # as ID accuracy moved
    (row,) = [row for row in table_of(tmp_path, "trade") if row["pair"] == "co-object -> background"]
    assert float(row["T"]) == pytest.approx(0, abs=0.005)
    assert row["trade"] == "False"
    assert " trade |" not in (tmp_path / "tables" / "trade.md").read_text(encoding="utf-8")


def test_the_page_says_what_common_means_in_a_turned_phase(quick, tmp_path):
    ends = {**LEANS, "lle": LEANS["erm"]}
    words = HtmlReader(write_page(tmp_path, study(ends, extra=TWINS), TURNED)[1]).text
    for expected in (
        "background 0.05 (common value: against the label)",
        "In T2, the common values of background and co-object disagree with the label, so uncommon means agreeing with it.",
        "all common in the phase",
        "here, common means agreeing with the label in every phase",
    ):
        assert expected in words
    assert {row["weights"] for row in table_of(tmp_path, "phases")} == {"own", "fixed", "common", "alone"}
    plain = score_shortcuts(study(MOVED), cues=CUES, correlations=SWITCH)
    assert {row["weights"] for row in make_tables(plain)["phases"].values} == {
        "own",
        "fixed",
        "common",
    }


def test_the_glossary_knows_the_words_that_tables_use(quick, tmp_path):
    _, page = write_page(tmp_path, study(PAPERLIKE), (0.95, 0.95))
    for term in ("cue", "turned", "pattern", "group", "twin", "effective epoch", "common, uncommon", "carry-over"):
        assert f"<dt>{term}</dt>" in page
    words = HtmlReader(page).text
    assert "10: background with the label, co-object against it" in words
    assert "ID accuracy of 75" in words


def test_the_page_says_which_epochs_of_which_phases_count(quick, tmp_path):
    timeline = timeline_of(two_phases({"T1": [0.8, 0.3], "T2": [0.2, 0.7, 0.4]}))
    words = HtmlReader(write_page(tmp_path, timeline, (0.95, 0.95), final="worst-group")[1]).text
    assert "T1: the last epoch, from which the next phase starts; T2: the epoch with the highest worst-group" in words
