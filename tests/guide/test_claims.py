"""The guide's claims beside measured numbers: what holds, what does not, what cannot be told, and where it is shown."""

from __future__ import annotations

import csv
import json

import pytest

from einstellung.diagnoses.reporting import report_study
from einstellung.diagnoses.rigidity.diagnosis import Rigidity
from einstellung.guide.card import GuideCard, GuideEstimate, GuideMethod, GuideRun
from einstellung.guide.claims import guide_claims
from einstellung.guide.significance import guide_tests
from einstellung.guide.tables import claims_table

from .test_files import study
from .test_tables import write_guide_report

METRICS = ("adaptation_delay", "performance_deficit", "shortcut_feature_reliance", "eri_score")
SHORTCUT, MASKED, DEGRADES = (
    "T2 shortcut classes achieve higher accuracy than non-shortcut classes",
    "accuracy drops when shortcuts are masked",
    "T1 performance degrades when shortcuts are present",
)


def method(*scores, patched=0.8, masked=0.6, nonshortcut=0.4, t1=0.1, after_t1=0.7, why=None):
    """Seeds 1, 2, ...: accuracies that differ by a hundredth from seed to seed."""
    per_seed = {}
    for place, score in enumerate(scores):
        shift = 0.01 * place
        own = {"T1_all": t1, "T1_all_after_T1": after_t1, "T2_shortcut_normal": patched}
        own |= {"T2_shortcut_masked": masked, "T2_nonshortcut_normal": nonshortcut}
        accuracies = {
            name: None if value is None else value + shift * (name != "T1_all") for name, value in own.items()
        }
        numbers = dict.fromkeys(METRICS, score)
        per_seed[str(place + 1)] = GuideRun(**numbers, checkpoint_epoch=1.0, accuracies=accuracies, why_undefined=why)
    estimates = dict.fromkeys(METRICS, GuideEstimate(0.7, 0.01, 0.7, 0.7, 3))
    return GuideMethod(n_seeds=len(scores), band="high", why_undefined=why, per_seed=per_seed, **estimates)


def card(**methods):
    return GuideCard(baseline="scratch_t2", final="last", threshold=0.8, methods=methods)


def claim(of, start, name=None):
    found = [one for one in guide_claims(of) if one.claim.startswith(start) and name in (None, one.method)]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("start", "name", "scores", "holds"),
    [
        ("SGD", "sgd", (0.70, 0.71, 0.72), "yes"),
        ("SGD", "sgd", (0.50, 0.51, 0.52), "no"),
        ("SGD", "sgd", (0.60, 0.60, 0.60), "no"),  # above 0.6 is claimed
        ("SGD", "sgd", (0.55, 0.62, 0.69), "cannot be told"),
        ("EWC", "ewc_on", (0.49, 0.50, 0.51), "yes"),
        ("EWC", "ewc_on", (0.40, 0.40, 0.40), "yes"),  # the range holds its ends
        ("EWC", "ewc", (0.70, 0.71, 0.72), "no"),
        ("DER++", "derpp", (0.10, 0.11, 0.12), "no"),
        ("DER++", "derpp", (0.48, 0.50, 0.49), "cannot be told"),
    ],
)
def test_expected_scores_hold_where_the_whole_interval_does(start, name, scores, holds):
    one = claim(card(**{name: method(*scores)}), start)
    assert (one.holds, one.method, one.n) == (holds, name, 3)
    assert one.mean == pytest.approx(sum(scores) / 3)
    assert one.measured.startswith(f"score {sum(scores) / 3:.3f} (95 % interval ")
    assert (one.why is None) == (holds != "cannot be told")


def test_the_interval_is_the_t_interval_of_the_seeds():
    """Mean .71, deviation .01: half width 4.3027 * .01 / sqrt(3) = .0248."""
    one = claim(card(sgd=method(0.70, 0.71, 0.72)), "SGD")
    assert one.ci95 == pytest.approx((0.71 - 0.02484, 0.71 + 0.02484), abs=1e-4)
    assert one.measured == "score 0.710 (95 % interval 0.685 to 0.735, 3 seeds)"


def test_missing_evidence_is_undecided_with_a_reason():
    claims = guide_claims(card())
    assert [one.holds for one in claims] == ["cannot be told"] * 7
    assert claims[0].why == "no run of sgd"
    assert claims[3].why == "no run has both T2_shortcut_normal and T2_nonshortcut_normal"
    assert claims[-1].why == "no run of a replay method (er, der, derpp, dgr)"
    never = "seeds 1, 2, 3: T1_all never reached 0.8 in T1 (best 0.650)"
    assert claim(card(sgd=method(None, None, None, why=never)), "SGD").why == never


def test_fewer_than_three_seeds_give_only_a_tendency():
    two = claim(card(sgd=method(0.7, 0.8)), "SGD")
    assert (two.holds, two.why) == ("cannot be told", "2 seeds: at least 3 are needed (the mean is for it)")
    one = claim(card(sgd=method(0.5)), "SGD")
    assert one.why == "1 seed: at least 3 are needed (the mean is against it)"
    assert one.measured == "score 0.500 (1 seed)"
    some = claim(card(sgd=method(0.70, None, 0.71, 0.72)), "SGD")
    assert (some.holds, some.n) == ("yes", 3)
    assert some.measured.endswith("3 of 4 seeds)")


def test_accuracies_are_compared_seed_by_seed():
    methods = {
        "sgd": method(0.5, 0.5, 0.5),
        "derpp": method(0.5, 0.5, 0.5, nonshortcut=0.9, masked=0.85, after_t1=0.09),
        "ewc_on": method(0.5, 0.5, 0.5, masked=0.8),
        "scratch_t2": method(None, None, None, after_t1=None),
    }
    got = {(one.claim, one.method): one for one in guide_claims(card(**methods)) if one.method in methods}
    assert got[SHORTCUT, "sgd"].holds == "yes"
    assert got[SHORTCUT, "sgd"].measured == "0.810 against 0.410: +0.400 (95 % interval 0.400 to 0.400, 3 seeds)"
    assert got[SHORTCUT, "derpp"].holds == "no"
    assert got[MASKED, "sgd"].mean == pytest.approx(0.2)
    assert got[MASKED, "derpp"].holds == "no"
    assert got[MASKED, "ewc_on"].holds == "no"  # no difference is no drop
    assert got[DEGRADES, "sgd"].holds == "yes"
    assert got[DEGRADES, "sgd"].mean == pytest.approx(0.1 - 0.71)
    assert got[DEGRADES, "derpp"].holds == "cannot be told"  # +.01, 0, -.01
    assert (DEGRADES, "scratch_t2") not in got
    assert got[DEGRADES, "sgd"].compared == "T1_all at the end of T2 minus T1_all at the end of T1"
    assert "cannot be attributed to the cue" in got[DEGRADES, "sgd"].note
    assert got[MASKED, "sgd"].note is None


def test_replay_against_regularisation_is_paired_by_seed():
    """Seed by seed (.3 + .4) / 2 - .6 and so on; seed 4 counts for nobody, for ewc_on has no score there."""
    methods = {
        "derpp": method(0.30, 0.32, 0.31, 0.9),
        "er": method(0.40, 0.42, 0.41, 0.9),
        "ewc_on": method(0.60, 0.61, 0.62, None, why="seed 4: no T1"),
        "gpm": method(0.0, 0.0, 0.0, 0.0),
        "sgd": method(0.0, 0.0, 0.0, 0.0),
    }
    one = guide_claims(card(**methods))[-1]
    assert (one.holds, one.method, one.n) == ("yes", "derpp, er against ewc_on", 3)
    assert one.mean == pytest.approx((0.35 - 0.60 + 0.37 - 0.61 + 0.36 - 0.62) / 3)
    swapped = {**methods, "ewc_on": method(0.10, 0.11, 0.12)}
    assert guide_claims(card(**swapped))[-1].holds == "no"
    del swapped["ewc_on"]
    assert guide_claims(card(**swapped))[-1].why == "no run of a regularisation method (ewc_on, ewc)"
    undefined = {**methods, "ewc_on": method(None, None, why="seeds 1, 2: no T1")}
    assert guide_claims(card(**undefined))[-1].why == "ewc_on: seeds 1, 2: no T1"


def test_tests_are_paired_with_sgd_and_corrected():
    methods = {"sgd": method(0.5, 0.6, 0.7), "derpp": method(0.3, 0.5, 0.4), "ewc_on": method(0.55, 0.67, 0.72)}
    tests = {test["method"]: test for test in guide_tests(card(**methods)) if test["metric"] == "eri_score"}
    assert set(tests) == {"derpp", "ewc_on"}
    derpp = tests["derpp"]  # differences -.2, -.1, -.3: t = -3.464 on 2 degrees of freedom
    assert (derpp["against"], derpp["n"], derpp["test"]) == ("sgd", 3, "paired t")
    assert derpp["mean_difference"] == pytest.approx(-0.2)
    assert derpp["statistic"] == pytest.approx(-3.4641, abs=1e-4)
    assert derpp["p"] == pytest.approx(0.0742, abs=1e-4)
    smaller = min(test["p"] for test in tests.values())
    assert min(test["p_holm"] for test in tests.values()) == pytest.approx(2 * smaller)
    assert guide_tests(card(derpp=method(0.1))) == []
    alone = guide_tests(card(scratch_t2=method(0.1, 0.2), derpp=method(0.1, 0.3)))
    assert {test["against"] for test in alone} == {"scratch_t2"}


def full_card():
    """As the guide's page gets it."""
    return card(**{"sgd": method(0.70, 0.71, 0.72), "<derpp>": method(0.3, 0.3, 0.3)})


def test_the_guides_page_and_its_files_show_the_claims(tmp_path):
    html = write_guide_report(tmp_path, full_card()).read_text(encoding="utf-8")
    assert "The guide&#39;s claims" in html
    assert "score 0.710 (95 % interval 0.685 to 0.735, 3 seeds)" in html
    assert "T1_all at or above 0.8" in html
    assert "<derpp>" not in html
    rows = list(csv.DictReader((tmp_path / "tables" / "guide_claims.csv").open()))
    assert rows[0]["holds"] == "yes"
    assert float(rows[0]["mean"]) == pytest.approx(0.71)
    assert {row["source"] for row in rows} == {"Expected Results", "Scientific Validation"}
    markdown = (tmp_path / "tables" / "guide_claims.md").read_text()
    assert "no run of ewc" in markdown.replace("\\_on", "")
    assert "\n| --- | --- | --- | --- | --- |\n" in markdown
    assert "| ewc\\_on | EWC: moderate rigidity: score from 0.4 to 0.6 | eri\\_score | – | cannot be told (" in markdown
    assert r"\begin{tabular}{lllll}" in (tmp_path / "tables" / "guide_claims.tex").read_text()


@pytest.mark.parametrize("asked_for", [True, False])
def test_a_studys_page_shows_them_where_the_guides_files_are_asked_for(tmp_path, monkeypatch, asked_for):
    monkeypatch.setattr(Rigidity, "figures", lambda self, evidence, card: ())
    results = study(tmp_path, methods=("scratch_t2", "sgd"), **({} if asked_for else {"companions": {}}))
    reported = report_study(results)
    html = reported.page.read_text(encoding="utf-8")
    assert ("guide" in reported.scored.to_json()) == ((tmp_path / "tables" / "guide_claims.csv").exists()) == asked_for
    assert ("T1 performance degrades when shortcuts are present" in html) == asked_for
    assert ("T1_all at or above 0.5" in html) == asked_for


def test_a_study_whose_own_diagnosis_it_is(tmp_path):
    results = study(
        tmp_path, methods=("scratch_t2", "sgd"), diagnosis="guide", score={"guide_threshold": 0.5}, companions={}
    )
    reported = report_study(results)
    assert reported.scored.card.threshold == 0.5
    assert reported.exported == (tmp_path / "comprehensive_results.json",)
    (own,) = json.loads(reported.exported[0].read_text())["studies"].values()
    assert (own["adaptation_threshold"], own["triplet"]["tau"]) == (0.5, 0.6)


def test_the_table_gives_a_reason_for_everything_undecided():
    table = claims_table(full_card())
    assert table.head == ("method", "claim", "compared", "measured", "holds")
    assert table.note.count("cannot be attributed to the cue") == 1
    for row in table.rows:
        assert (row[-1].why is not None) == (row[-1].text == "cannot be told")
    degrade = next(row for row in table.rows if (row[0].text, row[1].text) == ("sgd", DEGRADES))
    assert "−0.610" in degrade[3].text
    json.dumps([one.to_dict() for one in guide_claims(full_card())], allow_nan=False)
