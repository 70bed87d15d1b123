"""A family of studies of several shortcuts: its answer, tables, figure and page; a small one from the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from matplotlib.colors import to_hex

from einstellung.checks import Check
from einstellung.diagnoses.contract import Members
from einstellung.diagnoses.reporting import report_family
from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.diagnosis import Shortcuts
from einstellung.diagnoses.shortcuts.family import family_answer
from einstellung.diagnoses.shortcuts.family_tables import family_tables
from einstellung.diagnoses.shortcuts.figures.family import draw_family, has_gaps
from einstellung.diagnoses.shortcuts.score import score_shortcuts
from einstellung.diagnoses.shortcuts.splits import patterns_of
from einstellung.report.family import Study, write_family_page
from einstellung.report.figures import canvas
from einstellung.results.family import write_family
from tests.report.html_reader import HtmlReader

from .reports import CORRELATIONS, odd_timelines, save_as_svg, table_of, write_study
from .timelines import CUES, study, two_cues

#: From the pattern with all cues common, in points: in ``switch``, erm's background gap goes from -40 to -15 and its co-object
#: gap from 0 to -30; in ``joined``, sd has closed the background gap of erm (-23, -5) and opened the co-object's (-18, -38).
ENDS = {
    "switch": {
        "er+lle": {"T1": two_cues(0.95, 0.95, 0.85, 0.85), "T2": two_cues(0.95, 0.95, 0.945, 0.945)},
        "erm": {"T1": two_cues(0.95, 0.95, 0.55, 0.55), "T2": two_cues(0.95, 0.65, 0.8, 0.5)},
        "scratch": {"T1": two_cues(0.95, 0.95, 0.55, 0.55), "T2": two_cues(0.95, 0.6, 0.92, 0.6)},
    },
    "joined": {
        "erm": {"T1": two_cues(0.98, 0.98, 0.75, 0.75), "T2": two_cues(0.98, 0.80, 0.75, 0.4)},
        "sd": {"T1": two_cues(0.98, 0.98, 0.93, 0.93), "T2": two_cues(0.98, 0.60, 0.93, 0.4)},
    },
    "turned": {"erm": {"T1": two_cues(0.98, 0.8, 0.75, 0.4), "T2": two_cues(0.4, 0.75, 0.8, 0.98)}},
}


RHO = {
    "switch": {"T1": (0.95, 0.5), "T2": (0.5, 0.95)},
    "joined": {"T1": (0.95, 0.5), "T2": (0.95, 0.95)},
    "turned": {"T1": (0.95, 0.95), "T2": (0.05, 0.05)},
}


SENTENCES = [
    "Whac-A-Mole in 1 of 3 studies, at the end of the last phase: joined (sd). Not conclusive in turned: no method has "
    "a verdict on every cue.",
    "Reliance on a cue persists after its correlation is gone in 1 of 3 studies: switch (reliance on the background of T1 "
    "persists after T2 in erm). In joined and turned no cue loses its correlation.",
    "From phase to phase, reliance on one cue is traded for another in 1 of 3 studies: switch (background to "
    "co-object, from T1 to T2, in erm).",
    "Verdicts by twins. Conclusive: beyond the margin, confirmed by 95 % intervals over seeds, and p at most 0.05 after "
    "Holm's correction over methods. 3 seeds per method (1, 2, 3); 100 test images per pattern.",
]


@dataclass(frozen=True)
class WrittenFamily:
    root: Path
    cards: Mapping[str, ShortcutsCard]
    data: Mapping[str, Any]
    html: str


@pytest.fixture(scope="module")
def family(tmp_path_factory) -> WrittenFamily:
    """Three finished studies, and one that has not begun."""
    root = tmp_path_factory.mktemp("family")
    for name, ends in ENDS.items():
        write_study(root / name, study(ends, spread=0.004, twins=True), RHO[name], name=name, seeds=[1, 2, 3])
    write_family(root, [*ENDS, "later"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Shortcuts, "figures", lambda *inputs: ())
        patch.setattr("einstellung.report.figures.plan.save", save_as_svg)
        reported = report_family(root, [*ENDS, "later"])
    cards = {name: scored.card for name, scored in reported.studies.items()}
    assert list(reported.answer) == SENTENCES
    return WrittenFamily(root, cards, reported.data, reported.page.read_text(encoding="utf-8"))


def card_of(ends, correlations, **options) -> ShortcutsCard:
    return score_shortcuts(study(ends, **options), cues=CUES, correlations=correlations)


def page_of(root: Path, cards: Mapping[str, ShortcutsCard]) -> str:
    """The visible text of the page of some cards."""
    page = Shortcuts().family(Members(cards))
    shown = [Study(name, card.checks, card.warnings, card.fewest_seeds) for name, card in cards.items()]
    return HtmlReader(write_family_page(root, page, shown).read_text(encoding="utf-8")).text


def test_the_answer_says_where_gaps_are_carried_over_traded_and_amplified(family):
    assert family_answer(family.cards) == SENTENCES


def test_the_page_is_whole_answers_first_and_leads_to_every_study(family):
    page = HtmlReader(family.html)
    assert len(set(page.ids)) == len(page.ids)
    assert all(load.startswith("data:") for load in page.loads)
    assert page.links == [f"{name}/report.html" for name in ENDS]
    assert all((family.root / link).is_file() for link in page.links)
    words = page.text
    assert words.index(SENTENCES[0]) < words.index(SENTENCES[2]) < 1000
    for expected in (
        "no finished run yet in later",
        "turned: In T2, the common values of background and co-object disagree with the label",
        "T1: BG 0.95, CoObj 0.5; T2: BG 0.5, CoObj 0.95",
        "carry-over",
        "Files: figures/family.svg",
    ):
        assert expected in words, expected
    stored = json.loads((family.root / "family.json").read_text())
    assert stored == {"studies": {name: card.to_json() for name, card in family.cards.items()}} == family.data


def test_the_last_phase_of_all_studies_is_one_table(family):
    table = {(row["study"], row["method"]): row for row in table_of(family.root, "last_phase")}
    assert len(table) == 6
    assert next(iter(table)) == ("switch", "erm")  # the baseline before those that are compared with it
    found = table["joined", "sd"]
    # ID = .9025 .98 + .0475 (.60 + .93) + .0025 .4 = .958125, of erm .959075
    assert float(found["ID"]) == pytest.approx(0.958125)
    assert float(found["co-object gap"]) == pytest.approx(0.60 - 0.958125)
    assert float(found["co-object amplification"]) == pytest.approx((0.60 - 0.958125) / (0.80 - 0.959075))
    assert float(found["worst_group"]) == pytest.approx(0.4)
    assert (found["n_seeds"], found["images_pattern"], found["verdict"]) == ("3", "100", "whac-a-mole")
    assert table["joined", "erm"]["co-object amplification"] == ""
    text = (family.root / "tables" / "last_phase.md").read_text(encoding="utf-8")
    assert "| joined | sd | 95.8 | 12.5 ↓ | 45.5 ↑ | −2.8 | −35.8 (×2.25) |" in text
    assert r"\begin{tabular}{llrrrrrrrrr}" in (family.root / "tables" / "last_phase.tex").read_text(encoding="utf-8")


def test_carry_over_and_trade_of_all_studies_are_tables(family):
    left = {row["method"]: row for row in table_of(family.root, "carry_over")}
    assert {row["study"] for row in table_of(family.root, "carry_over")} == {"switch"}
    assert float(left["erm"]["before"]) == pytest.approx(0.40, abs=1e-6)
    assert float(left["erm"]["left"]) == pytest.approx(0.15, abs=1e-6)
    assert float(left["erm"]["gap_before"]) == pytest.approx(-0.40)
    assert float(left["erm"]["gap"]) == pytest.approx(-0.15)
    assert float(left["erm"]["share"]) == pytest.approx(0.375)
    # half a point; of the shifts of .4 points, half remains: t(2) = 4.303 times .2 / sqrt(3) either side
    assert float(left["er+lle"]["left"]) == pytest.approx(0.005)
    assert float(left["er+lle"]["high95"]) == pytest.approx(0.005 + 4.3027 * 0.002 / 3**0.5, abs=1e-6)
    assert [left[name]["carried_over"] for name in ("erm", "er+lle", "scratch")] == ["yes", "not shown", "fresh net"]
    trades = {(row["study"], row["method"], row["from"], row["pair"]): row for row in table_of(family.root, "trade")}
    assert float(trades["switch", "erm", "T1", "background -> co-object"]["T"]) == pytest.approx(0.25, abs=0.003)
    assert float(trades["switch", "erm", "T1", "co-object -> background"]["T"]) == pytest.approx(-0.30, abs=0.003)
    against_erm = trades["joined", "sd", "erm", "background -> co-object"]
    # background from (23 + 40) / 2 to (5 + 20) / 2 points, co-object from (18 + 35) / 2 to (38 + 53) / 2
    assert float(against_erm["T"]) == pytest.approx(min(0.315 - 0.125, 0.455 - 0.265), abs=0.003)
    assert against_erm["trade"] == "True"
    assert trades["joined", "erm", "erm", "background -> co-object"]["T"] == ""
    fresh = trades["switch", "scratch", "T1", "background -> co-object"]
    assert float(fresh["T"]) == pytest.approx(0.335, abs=0.003)  # and yet no trade: nothing was there to be traded
    assert fresh["trade"] == "False"
    text = (family.root / "tables" / "trade.md").read_text(encoding="utf-8")
    assert "| switch | erm | T1 to T2 | +25.0 trade | −30.0 |" in text


def test_the_figure_marks_what_is_carried_over_and_what_grew(family):
    cards = {name: family.cards[name] for name in ENDS}
    with canvas.drawing():
        figure = draw_family(cards)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:2] == ["switch: BG gap, 0.95 → 0.5", "switch: CoObj gap, 0.5 → 0.95"]
    assert len(titles) == 6
    grey = [axes.get_title(loc="left") for axes in figure.axes if to_hex(axes.get_facecolor()) != "#ffffff"]
    assert grey == titles[:1]  # the only cue that loses its correlation
    row = list(dict.fromkeys(method for ends in ENDS.values() for method in ends)).index("erm")

    def at(axes, marker):
        lines = [line for line in axes.lines if line.get_marker() == marker]
        return [(round(float(line.get_xdata()[0]), 6), line.get_ydata()[0]) for line in lines if len(line.get_xdata())]

    background, other = figure.axes[:2]
    assert at(background, "D") == [(-15.0, row)]
    assert at(other, "<") == [(-30.0, row)]
    assert (-40.0, row) in at(background, "o")  # where it was after T1
    dashed = [line for line in background.lines if line.get_linestyle() == "--" and len(set(line.get_xdata())) == 1]
    assert [round(float(line.get_xdata()[0]), 6) for line in dashed] == [-15.0]


def test_failed_checks_and_warnings_name_their_studies(tmp_path, quick):
    card = card_of(ENDS["joined"], RHO["joined"])
    failed = Check("seeds differ", False, "1 and 2 are equal")
    both = {
        "a": card.model_copy(update={"checks": (failed,), "warnings": ("odd",)}),
        "b": card.model_copy(update={"warnings": ("odd", "odder")}),
    }
    words = page_of(tmp_path, both)
    assert "1 check failed: read this before the numbers. a: seeds differ: 1 and 2 are equal" in words
    assert "a and b: odd" in words
    assert "b: odder" in words


def test_with_a_single_seed_nothing_is_certain(tmp_path, quick):
    cards = {name: card_of(ENDS[name], RHO[name], seeds=(1,), twins=True) for name in ("switch", "joined")}
    assert family_answer(cards) == [
        "Whac-A-Mole: not conclusive. No method has a verdict on every cue.",
        "In switch no reliance on a cue conclusively persists after its correlation is gone. In joined no cue loses its "
        "correlation.",
        "From phase to phase, no reliance on one cue conclusively shrinks while another grows.",
        "Verdicts by twins. Conclusive: beyond the margin, confirmed by 95 % intervals over seeds, and p at most 0.05 after "
        "Holm's correction over methods. A single seed (1); 100 test images per pattern. Not conclusive, with fewer than 3 "
        "seeds: switch and joined.",
    ]
    words = page_of(tmp_path, cards)
    assert "Fewer than three seeds" in words


def test_of_many_methods_those_are_named_that_are_missing():
    ends = dict.fromkeys(("erm", "a", "b", "c", "d"), ENDS["switch"]["erm"])
    card = card_of({**ends, "lle": ENDS["switch"]["er+lle"]}, RHO["switch"], spread=0.004)
    answer = family_answer({"one": card, "other": card})
    assert "one (reliance on the background of T1 persists after T2 in all 6 methods but lle)" in answer[1]
    assert "other (background to co-object, from T1 to T2, in all 6 methods but lle)" in answer[2]


def test_studies_with_other_cues_phases_and_baselines_share_a_page(tmp_path, quick):
    three = {pattern: 0.9 - 0.1 * pattern.count("0") for pattern in patterns_of(3)}
    cues = (*CUES, "watermark")
    cards = {
        "two": card_of({"sgd": {"T1": two_cues(0.9, 0.8, 0.7, 0.6)}}, (0.9, 0.9)),
        "three": score_shortcuts(study({"erm": {"T1": three}}), cues=cues, correlations=(0.9, 0.9, 0.9)),
    }
    assert family_answer(cards)[0].endswith("No verdict without a baseline: two.")
    assert len(family_answer(cards)) == 2  # one phase each: nothing to carry over, nothing traded from phase to phase
    page_of(tmp_path, cards)
    gaps = {row["study"]: row["watermark gap"] for row in table_of(tmp_path, "last_phase")}
    assert gaps["two"] == ""
    assert float(gaps["three"]) < 0
    text = (tmp_path / "tables" / "last_phase.md").read_text(encoding="utf-8")
    assert "this study has different cues" in text
    assert "there is only one phase" in (tmp_path / "tables" / "trade.md").read_text(encoding="utf-8")
    assert not (tmp_path / "tables" / "carry_over.md").exists()


@settings(max_examples=12, deadline=None)
@given(odd_timelines(), odd_timelines(), CORRELATIONS)
def test_every_pair_of_valid_timelines_has_an_answer_and_tables(one, other, correlations):
    cards = {
        "one": score_shortcuts(one, cues=CUES, correlations=correlations),
        "other": score_shortcuts(other, cues=CUES),
    }
    assert family_answer(cards)
    assert family_tables(cards)["last_phase"].rows


@settings(max_examples=3, deadline=None)
@given(odd_timelines(), CORRELATIONS)
def test_every_valid_timeline_is_drawn_next_to_another(timeline, correlations):
    cards = {
        "odd": score_shortcuts(timeline, cues=CUES, correlations=correlations),
        "$x$": card_of(ENDS["switch"], RHO["switch"]),
    }
    assert has_gaps(cards)
    with canvas.drawing():
        draw_family(cards).draw_without_rendering()
