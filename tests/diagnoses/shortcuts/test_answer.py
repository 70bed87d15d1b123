"""The answer in words: who is counted, what is decided, what stands beside it; and the same on a terminal."""

from __future__ import annotations

from einstellung.diagnoses.shortcuts.answer import make_answer, make_overview
from einstellung.diagnoses.shortcuts.score import score_shortcuts
from einstellung.diagnoses.shortcuts.tables import make_tables

from .reports import MOVED
from .timelines import BOTH, CUES, EVEN, HALF, LEANING, PAPERLIKE, SWITCH, groups, rows_of, study, timeline_of, two_cues


def test_the_lead_counts_only_methods_that_are_decided():
    one = rows_of("sd", 1, "T1", groups(two_cues(1.0, 0.9, 0.9, 0.5)))
    rows = list(study(PAPERLIKE, spread=0.004).frame.itertuples(index=False, name=None))
    lead = make_answer(score_shortcuts(timeline_of(rows + one), **BOTH))[0]
    assert lead.startswith("Whac-A-Mole by main effects over all patterns (no twins of background ")
    assert (
        "in 1 of 2 methods with a conclusive result (3 compared with erm): cutmix (co-object down, background up)."
        in lead
    )
    assert "Not conclusive: sd." in lead
    still = {name: PAPERLIKE[name] for name in ("erm", "lle")}
    lead = make_answer(score_shortcuts(study(still, spread=0.004, twins=True), **BOTH))[0]
    assert lead.startswith("No Whac-A-Mole by twins: of 1 method compared with erm, none reduces")


def test_a_method_with_an_undecided_cue_is_not_counted_as_free_of_whac_a_mole():
    card = score_shortcuts(study({"erm": {"T1": LEANING}, "sd": {"T1": EVEN}}, spread=0.02, twins=True), **HALF)
    assert card.methods["sd"].verdict.cues["co-object"].name == "undecided"
    assert card.methods["sd"].verdict.name == "reduces some"
    assert make_answer(card)[0].startswith("Whac-A-Mole by twins: not conclusive. No method compared with erm")


def test_one_seed_decides_nothing_and_the_lead_says_so():
    lead = make_answer(score_shortcuts(study(PAPERLIKE, seeds=(1,)), **BOTH))[0]
    assert lead.startswith("Not conclusive with 1 seed: a verdict on Whac-A-Mole needs at least 3.")
    lead = make_answer(score_shortcuts(study(PAPERLIKE, seeds=(1, 2), spread=0.004), **BOTH))[0]
    assert lead.startswith("Not conclusive with 2 seeds")


def test_carry_over_is_compared_with_the_baseline_and_a_fresh_net():
    ends = {**MOVED, "er": {"T1": MOVED["erm"]["T1"], "T2": two_cues(0.95, 0.7, 0.7, 0.5)}}
    ends["erm"] = {"T1": MOVED["erm"]["T1"], "T2": two_cues(0.95, 0.65, 0.94, 0.64)}
    card = score_shortcuts(study(ends, spread=0.002, twins=True), cues=CUES, correlations=SWITCH)
    (words,) = [paragraph for paragraph in make_answer(card) if paragraph.startswith("Carry-over")]
    assert words == (
        "Carry-over: by twins, reliance on the background of T1 persists after T2 in er (22.5), compared with 1.0 in "
        "erm and 0.0 in scratch (points lost where the cue is uncommon)."
    )
    tables = make_tables(card)
    carried = {row["method"]: row["carried_over"] for row in tables["carry_over"].values if row["measure"] == "twins"}
    assert carried == {"erm": False, "scratch": False, "er+lle": False, "er": True}


def test_a_terminal_shows_table_3_the_answer_and_every_verdict():
    card = score_shortcuts(study(PAPERLIKE, spread=0.004), **BOTH)
    overview = make_overview(card)
    losses = ("BG by main effect", "CoObj by main effect")
    assert overview.table.head == ("method", "ID", *losses, "BG gap", "CoObj gap", "BG+CoObj gap", "worst", "verdict")
    cutmix = overview.table.rows[list(card.methods).index("cutmix")]
    assert (cutmix[2].text, cutmix[2].tone) == ("66.5 ↑", "bad")
    assert (cutmix[3].text, cutmix[3].tone) == ("23.5 ↓", "good")
    assert (cutmix[4].text, cutmix[4].tone) == ("−45.3 (×2.77)", None)
    assert list(overview.paragraphs[:3]) == make_answer(card)
    assert [one.lead for one in overview.paragraphs[3:]] == ["erm: ", "cutmix: ", "lle: "]
    many = {f"m{number}": PAPERLIKE["lle"] for number in range(9)}
    last = make_overview(score_shortcuts(study({**PAPERLIKE, **many}), **BOTH)).paragraphs[-1]
    assert last == "Full verdicts: --json, or the page (--out)."
