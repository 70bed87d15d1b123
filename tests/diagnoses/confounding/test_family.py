"""A family: studies that share a ceiling, on one page."""

from __future__ import annotations

import json
import shutil

import pytest

from einstellung.diagnoses.confounding.claims import claims_table
from einstellung.diagnoses.reporting import report_family, report_study
from einstellung.files import write_json
from einstellung.results.family import family_file
from einstellung.results.folder import ResultsFolder
from tests.report.html_reader import HtmlReader

from .test_claims import EVERY_METHOD

NAMES = ["nn-strict", "nn-disjoint", "nn-unconfounded"]


def test_a_family_shares_its_ceiling_and_has_a_page(family, quick):
    reported = report_family(family, [*NAMES, "nesy-strict"])
    cards = {name: scored.card for name, scored in reported.studies.items()}
    assert reported.page == family / "family.html"
    assert cards["nn-strict"].ceiling.mean == pytest.approx(0.96)
    assert cards["nn-strict"].ceiling.source == "study nn-unconfounded"
    assert cards["nn-unconfounded"].ceiling is None
    stored = json.loads((family / "family.json").read_text())
    assert stored == {"studies": {name: card.to_json() for name, card in cards.items()}}
    text = HtmlReader(reported.page.read_text()).text
    for words in (
        "nn-unconfounded: trained on the unconfounded set, the model reaches 96.0 % on it.",
        "disjoint NN er measured 100.0 99.6 100.0 100.0 99.6 50.1 confounded",
        "disjoint NN er reported 100.0 99.6 100.0 100.0 99.6 50.1",
        "NN nn-unconfounded 96.0 97.0 ± 0.44 1",
        "A single seed in at least one study.",
    ):
        assert words in text, words
    assert 'href="nn-strict/report.html"' in reported.page.read_text()
    shown = ["Which of the paper's findings hold", "Table 1:", "Sanity check: trained on the", "Table 4:"]
    assert sorted(shown, key=text.index) == shown
    claims = {(row[1].text, row[0].text): row[3].text for row in claims_table(cards).rows}
    assert claims["joint training finds the ground truth", "nn-strict"] == "yes"
    assert claims["cumulative training stays far below joint training", "nn-strict"] == "open"  # one seed
    assert claims[EVERY_METHOD, "nn-disjoint"] == "yes"
    assert claims["naive training and EWC forget old tasks", "nn-disjoint"] == "yes"
    assert claims["replay and cumulative training keep old tasks", "nn-disjoint"] == "yes"
    assert claims["with replay, unconfounded images stay near chance", "nn-strict"] == "open"


def test_a_member_reported_alone_says_the_same(family, quick):
    together = report_family(family, NAMES).studies["nn-strict"].card
    assert report_study(ResultsFolder(family / "nn-strict")).scored.card == together
    shutil.rmtree(family / "nn-strict" / "runs")  # handed on without them: the timeline tells the same
    assert report_study(ResultsFolder(family / "nn-strict")).scored.card == together
    assert not list(family.rglob("ceiling.json"))


def test_a_study_that_left_its_family_has_no_ceiling(family, quick):
    family_file(family).unlink()
    assert report_study(ResultsFolder(family / "nn-strict")).scored.card.ceiling is None


def test_a_ceiling_of_another_question_is_none(family, quick):
    """Pictures from a folder have the rules that it was made with."""
    folder = ResultsFolder(family / "nn-unconfounded")
    facts = {"variant": "unconfounded", "confounders": [], "ground_truth": "sphere"}
    write_json(folder.proof_file, {"stream": "concon", "facts": facts, "checks": []})
    assert report_family(family, NAMES).studies["nn-strict"].card.ceiling is None
