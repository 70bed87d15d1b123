"""The guide's variant: table, terminal and page."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from einstellung.checks import Check
from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.reporting import Scored, write_report
from einstellung.guide.card import GuideCard, GuideEstimate, GuideMethod
from einstellung.guide.diagnosis import Guide
from einstellung.guide.score import guide_score
from einstellung.guide.tables import guide_table
from einstellung.hashes import unsealed
from einstellung.report.terminal import print_overview
from einstellung.timeline import Timeline
from tests.diagnoses.rigidity.hand_made import timeline_frame


@pytest.fixture
def guide():
    def part(mean, sd, n=2):
        return GuideEstimate(mean, sd, mean, mean, n)

    both = {"performance_deficit": part(0.25, 0.05), "shortcut_feature_reliance": part(0.5, 0.01)}
    methods = {
        "ewc_on": GuideMethod(
            n_seeds=2,
            adaptation_delay=part(12.5, 0.7071),
            eri_score=part(0.3, 0.02),
            band="moderate",
            why_undefined=None,
            per_seed={},
            **both,
        ),
        "<sgd>": GuideMethod(
            n_seeds=2,
            adaptation_delay=part(None, None, 0),
            eri_score=part(None, None, 0),
            band=None,
            why_undefined="seeds 1, 2: T1_all never reached 0.8",
            per_seed={},
            **both,
        ),
    }
    checks = (Check("seeds match", False, "seed 3 is alone"),)
    return GuideCard(baseline="scratch_t2", final="last", threshold=0.75, methods=methods, checks=checks)


def write_guide_report(folder, card, provenance=None):
    scored = Scored(Guide(), Evidence(Timeline(timeline_frame())), card)
    return write_report(folder, scored, provenance=provenance)


def test_the_table_holds_parts_score_and_band(guide):
    first, second = guide_table(guide).rows
    assert [cell.text for cell in first] == [
        "ewc_on", "2", "12.5 ± 0.71", "0.250 ± 0.050", "0.500 ± 0.010", "0.300 ± 0.020", "moderate"
    ]  # fmt: skip
    assert [cell.text for cell in second[2::3]] == ["–", "–"]
    assert second[5].why == "seeds 1, 2: T1_all never reached 0.8"
    assert "T1_all at or above 0.75" in guide_table(guide).note


def test_the_page_is_written_whole_and_escaped(guide, tmp_path):
    page = write_guide_report(tmp_path, guide, provenance={"command": "x"})
    html = page.read_text(encoding="utf-8")
    assert page == tmp_path / "report.html"
    assert "&lt;sgd&gt;" in html
    assert "<sgd>" not in html
    assert "12.5 ± 0.71" in html
    assert "T1_all never reached 0.8" in html
    assert "1 check failed" in html
    assert "http" not in html.replace("http-equiv", "").replace(
        '"http://www.w3.org/2000/svg"', ""
    )  # a name, not an address
    assert unsealed(json.loads((tmp_path / "score.json").read_text())) == guide.to_json()
    assert (tmp_path / "tables" / "guide.tex").read_text().count(r"ewc\_on") == 1


def test_the_terminal_shows_score_and_reason(guide):
    stream = io.StringIO()
    print_overview(Console(file=stream), Guide().overview(guide), guide.checks, guide.warnings)
    text = stream.getvalue()
    assert "12.5 ± 0.71" in text
    assert "<sgd>: seeds 1, 2: T1_all never reached 0.8" in text
    assert "FAILED CHECK seeds match" in text


def test_the_real_guide_card_fits(tmp_path):
    card = guide_score(Timeline(timeline_frame()))
    html = write_guide_report(tmp_path, card).read_text(encoding="utf-8")
    deficit = card.methods["sgd"].performance_deficit.mean
    assert f"{deficit:.3f} ± " in html
