"""The index of any phase of a stream of many: projected onto two phases, against numbers worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import einstellung as e
from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.reporting import Scored, write_report
from einstellung.diagnoses.rigidity.browser_data import payload
from einstellung.diagnoses.rigidity.diagnosis import Rigidity
from einstellung.diagnoses.rigidity.naming import Naming
from einstellung.diagnoses.rigidity.phase_tables import phases_answer
from einstellung.diagnoses.rigidity.phases import evidence_of_card, naming_of
from einstellung.diagnoses.rigidity.projection import has_many_phases, projected, scored_phases, without_history
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.errors import InputError
from einstellung.report.tables import Missing
from einstellung.timeline import Timeline

from .browser.node import ask, differences, needs_node
from .many_made import PHASES, config_facts, log

CUES = {"T1": None, "T2": "magenta", "T3": None, "T4": "magenta"}
SETTINGS = RigiditySettings(smoothing="none")


@pytest.fixture(scope="module")
def timeline():
    return Timeline(log(("scratch", "sgd", "er")))


def scored(timeline, settings=SETTINGS, proof=None, **siblings):
    return Rigidity().score(Evidence(timeline, proof, siblings=siblings), settings)


def test_the_last_phase_with_a_cue_by_hand(timeline):
    card = scored(timeline)
    assert card.baseline == "scratch"
    assert card.phases.shown == "T4"
    sgd = card.methods["sgd"]
    assert (sgd.AD.mean, sgd.AD.n) == (-1.0, 3)
    assert sgd.PD.mean == pytest.approx((0.76 + 0.77 + 0.78) / 3 - 0.9)
    assert sgd.SFR_rel.mean == pytest.approx(0.2)
    assert sgd.delta.mean == pytest.approx(0.3)
    assert sgd.T1.mean == pytest.approx((0.1 * 100 + 0.2 * 200 + 0.4 * 300) / 600)
    assert sgd.T1_after_T1.mean == pytest.approx((0.2 * 100 + 0.4 * 200 + 0.8 * 300) / 600)
    assert card.methods["scratch"].T1_after_T1.mean is None  # a new net has no history


def test_every_phase_with_a_cue_has_its_own_numbers(timeline):
    records = scored(timeline).phases.records
    assert list(records) == ["T2", "T4"]
    assert records["T4"].earlier == ("T1", "T2", "T3")
    assert records["T2"].methods["sgd"].SFR_rel.mean == pytest.approx(0.1)
    assert records["T2"].methods["sgd"].T1.mean == pytest.approx(0.4)
    assert records["T4"].methods["sgd"].SFR_rel.mean == pytest.approx(0.2)
    assert records["T2"].methods["scratch"].pattern is None


def test_a_chosen_phase_is_the_one_of_two_phases(timeline):
    """T2 of four phases is scored like the same rows without T3 and T4."""
    card = scored(timeline, SETTINGS.model_copy(update={"phase": "T2"}))
    two = log(("scratch", "sgd", "er"))
    two = two[two["phase"].isin(["T1", "T2"]) & two["split"].str.match("T[12]_") & (two["split"] != "T2_all")]
    two = two[~((two["method"] == "scratch") & (two["phase"] == "T1")) & (two["split"] != "T1_val")]
    plain = scored(Timeline(two), SETTINGS.model_copy(update={"baseline": "scratch"}))
    assert plain.phases is None
    assert card.methods == plain.methods


def test_forgetting_and_transfer_over_all_phases_by_hand(timeline):
    found = scored(timeline).phases.continual
    assert list(found) == ["sgd", "er"]
    sgd = found["sgd"]
    assert sgd.average_accuracy.mean == pytest.approx((0.1 + 0.2 + 0.4 + 0.8) / 4)
    assert sgd.BWT.mean == pytest.approx(-(0.7 + 0.6 + 0.4) / 3)
    assert sgd.forgetting.mean == pytest.approx((0.7 + 0.6 + 0.4) / 3)
    assert sgd.FWT.mean == pytest.approx(0.0)
    assert sgd.accuracy["T3"]["T1"].mean == pytest.approx(0.2)


def test_the_projection_pools_what_came_before_and_leaves_the_rest_out(timeline):
    two = projected(timeline, "T4")
    assert two.phase_names == ("T1", "T2")
    assert two.splits == ("T1_all", "T2_nonshortcut_normal", "T2_shortcut_masked", "T2_shortcut_normal", "T2_val")
    curve = two.curves("sgd", 1, "T2")["T1_all"]
    assert curve.n.tolist() == [600.0] * 6
    fresh = without_history(two, "scratch")
    assert fresh.phases("scratch", 1) == ("T2",)
    assert fresh.phases("sgd", 1) == ("T1", "T2")


def test_sentences_name_the_phase_and_its_history(timeline):
    card = scored(timeline, proof=config_facts(CUES))
    assert "the baseline never saw T1-T3" in [check.name for check in card.checks]
    assert [check.name for check in card.checks if check.passed is False] == ["no two runs are identical"]  # er is sgd
    diagnosis = Rigidity()
    answer = diagnosis.answer(card)
    assert answer[-1].startswith("Phase by phase (T4 above). T2: sgd and er")
    assert diagnosis.conditions(card)["phase"] == "T4, after T1-T3; phases with a cue: T2 and T4"
    assert diagnosis.conditions(card)["final values"] == "at the epoch with the best T4_val accuracy"
    assert diagnosis.describe_split("T4_shortcut_masked", card) == "the same images, cue covered"
    assert diagnosis.describe_split("T2_nonshortcut_normal", card) == "T2 classes without the cue"
    assert sorted(["T4_val", "mine", "T2_val", "T2_all"], key=lambda name: diagnosis.split_order(name, card)) == [
        *("T2_all", "T2_val", "T4_val", "mine")
    ]


def test_names_of_methods_stay(timeline):
    naming = Naming("T4", "T1-T3", ("T2", "a T1 b"))
    assert naming.text("T2 beats a T1 b on T2_val in phase 2") == "T2 beats a T1 b on T4_val in T4"


def test_phases_of_any_name_give_the_same_numbers(timeline):
    names = dict(zip(PHASES, ("dawn", "day", "dusk", "night"), strict=True))
    card, other = scored(timeline), scored(Timeline(log(("scratch", "sgd", "er"), **names)))
    assert other.phases.order == ("dawn", "day", "dusk", "night")
    assert other.phases.shown == "night"
    assert other.methods["sgd"].AD == card.methods["sgd"].AD
    assert other.methods["sgd"].per_seed == card.methods["sgd"].per_seed
    assert other.checks[0].name == "the baseline never saw dawn to dusk"


def test_two_phases_have_no_record_of_phases():
    frame = log()
    assert not has_many_phases(Timeline(frame[frame["phase"].isin(["T1", "T2"])]))
    assert scored_phases(Timeline(frame)) == ("T2", "T4")


def test_scratch_t2_is_the_baseline_of_the_last_phase_and_scratch_of_the_others():
    frame = log(("scratch", "sgd"))
    last = frame[(frame["method"] == "scratch") & (frame["phase"] == "T4")].assign(method="scratch_t2")
    card = scored(Timeline(pd.concat([frame, last])))
    assert (card.baseline, card.phases.records["T2"].baseline) == ("scratch_t2", "scratch")


def test_a_phase_that_cannot_be_scored_is_named(timeline):
    with pytest.raises(InputError, match="phase is 'T3', which has no cue or nothing before it"):
        scored(timeline, SETTINGS.model_copy(update={"phase": "T3"}))
    two = log()
    with pytest.raises(InputError, match="phase is 'T4'"):
        scored(Timeline(two[two["phase"] == "T2"]), SETTINGS.model_copy(update={"phase": "T4"}))


def test_score_takes_the_phase_as_a_keyword():
    assert e.score(log(), phase="T2", smoothing="none").card.phases.shown == "T2"
    frame = log()
    with pytest.raises(InputError, match="leave out"):
        e.score(frame[frame["phase"] == "T2"], phase="T2")


def test_a_study_without_the_earlier_cue_shows_what_a_habit_does(timeline):
    """Without the cue in T2, sgd needs an epoch more in T4 than with it."""
    late = log(("scratch", "sgd", "er"))
    is_late = (late["method"] == "sgd") & (late["phase"] == "T4") & late["split"].str.startswith("T4_short")
    late.loc[is_late & (late["epoch"] > 0), "acc"] -= 0.15
    late.loc[:, "acc"] = late["acc"].clip(lower=0)
    late = late[~late["split"].isin(["T2_shortcut_normal", "T2_shortcut_masked", "T2_nonshortcut_normal"])]
    other = scored(Timeline(late), proof=config_facts({**CUES, "T2": None}))
    card = scored(timeline, proof=config_facts(CUES), without=other)
    habit = card.phases.records["T4"].methods["sgd"].habit
    assert (habit.study, habit.phases, habit.effect.mean) == ("without", ("T2",), -1.0)
    assert card.phases.records["T4"].methods["scratch"].habit is None
    assert card.phases.records["T2"].no_habit_effect == "no earlier phase has a cue"
    table = Rigidity().tables(card)["phase_habit"]
    assert [cell.text for cell in table.rows[0][:4]] == ["T4", "sgd", "T2", "without"]


def test_without_such_a_study_the_table_says_what_to_run(timeline):
    missing = Rigidity().tables(scored(timeline, proof=config_facts(CUES)))["phase_habit"]
    assert isinstance(missing, Missing)
    assert "T4: no study of this sweep or family lacks the cue of T2" in missing.why
    assert "--sweep 'stream.phases.1.cue=null,{}'" in missing.why


def test_a_study_with_another_cue_is_no_comparison(timeline):
    other = scored(timeline, proof=config_facts({**CUES, "T2": None, "T4": "green"}))
    card = scored(timeline, proof=config_facts(CUES), other=other)
    assert card.phases.records["T4"].methods["sgd"].habit is None


@pytest.fixture(scope="module")
def page(timeline, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("phases")
    evidence = Evidence(timeline, config_facts(CUES))
    card = Rigidity().score(evidence, SETTINGS)
    write_report(folder, Scored(Rigidity(), evidence, card))
    return folder


def test_the_page_shows_every_phase(page):
    html = (page / "report.html").read_text()
    assert "Phase by phase" in html
    assert "over T4" in html
    assert "phase 2" not in html.partition('id="data"')[0].partition("<script")[0]
    table = pd.read_csv(page / "tables" / "phases.csv")
    assert list(table["phase"]) == ["T2"] * 3 + ["T4"] * 3
    assert list(table["method"])[:3] == ["scratch", "sgd", "er"]
    assert table.loc[4, "SFR_rel"] == pytest.approx(0.2)
    matrix = pd.read_csv(page / "tables" / "phase_matrix.csv")
    assert len(matrix) == 2 * 4 * 4
    assert (page / "figures" / "phases.svg").exists()
    assert "T4" in (page / "tables" / "phases.tex").read_text()


@needs_node
@pytest.mark.parametrize("phase", ["T2", "T4"])
def test_the_browser_computes_the_same_card(timeline, tmp_path, phase):
    evidence = Evidence(timeline, config_facts(CUES))
    card = Rigidity().score(evidence, SETTINGS.model_copy(update={"phase": phase}))
    given = payload(evidence_of_card(evidence, card), card, naming_of(card))
    (answered,) = ask(tmp_path, [{"payload": given, "settings": [{}]}])
    answer = [
        one for one in Rigidity().answer(card) if one not in phases_answer(card)
    ]  # of other phases: as in the study
    python = {"card": card.to_json(), "answer": answer}
    assert answer[0].startswith(f"In {phase}: ")
    assert list(differences(python, answered["scores"][0])) == []
