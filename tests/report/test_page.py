"""The shell of a page: whole, offline, escaped, the failed checks first."""

from __future__ import annotations

import re

from einstellung.checks import Check
from einstellung.report.figures.plan import Drawn
from einstellung.report.measured import MeasuredSplit
from einstellung.report.page import Page, PageOrigin, render_page
from einstellung.report.tables import Cell, Missing, Table

from .html_reader import HtmlReader

TABLE = Table("Numbers", "A note.", ("method", "PD"), ((Cell("<sgd>"), Cell("–", "never measured")),), ())
PROOF = {
    "stream": "shapes",
    "facts": {"chance": 1 / 36, "cue_alone": None},
    "checks": [
        {"name": "phases share no class", "passed": True, "detail": "none"},
        {"name": "mask covers the cue", "passed": False, "detail": "3 lie beside it"},
    ],
}


def page(**changes):
    values = {
        "title": "A & B <toy>",
        "kicker": "Toy",
        "answer": ["SFR_rel = -0.1 <= 0.", "Second."],
        "fewest_seeds": 2,
        "checks": [Check("log is whole", None, "who knows")],
        "warnings": ["seed 3 & others <odd>"],
        "figures": {"one": Drawn("one", "One", "Shows one thing.", b"<svg/>")},
        "tables": {"numbers": TABLE},
        "missing": [Missing("two", "Two", "nothing was measured", "figures")],
        "conditions": {"baseline": "scratch_t2"},
        "splits": [MeasuredSplit("T1_all", "all images", "500 images", "all 2")],
        "origin": PageOrigin(PROOF, {"command": "einstellung demo", "git_commit": None}, "name: <toy>\n"),
    }
    return render_page(Page(**{**values, **changes}))


def test_the_page_asks_for_nothing_from_outside_and_is_whole():
    html = page()
    reader = HtmlReader(html)
    assert reader.open == []
    assert all(load.startswith("data:") for load in reader.loads)
    assert len(reader.ids) == len(set(reader.ids))
    assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)
    assert re.findall(r"https?://[^\"]*", reader.code) == ["http://www.w3.org/2000/svg"]  # a name, not an address
    assert not re.search(r"https?://|@import|url\(", html.replace(reader.code, ""))


def test_everything_is_escaped_and_shown():
    html = page()
    assert "<h1>A &amp; B &lt;toy&gt;</h1>" in html
    assert "SFR<sub>rel</sub> = −0.1 ≤ 0." in html
    text = HtmlReader(html).text
    for words in (
        "seed 3 & others <odd>",
        "<sgd>",
        "never measured",
        "One. Shows one thing.",
        "Two (nothing was measured)",
        "baseline scratch_t2",
        "T1_all all images 500 images all 2",
        "chance over the whole head 0.02778",
        "accuracy reachable from the cue alone –",
        "git commit –",
        "name: <toy>",
        "Fewer than three seeds: not enough to tell.",
    ):
        assert words in text, words


def test_failed_checks_come_first_and_loud():
    text = HtmlReader(page()).text
    assert "1 check failed: read this before the numbers." in text
    section = text[text.index("Verification of the stream") :]
    assert section.index("FAILED") < section.index("passed")
    assert "not checked log is whole" in section


def test_what_is_not_there_is_not_announced():
    text = HtmlReader(page(checks=[], warnings=[], fewest_seeds=3, origin=PageOrigin())).text
    for words in ("read this before", "Worth knowing", "Fewer than three seeds", "Verification of the stream"):
        assert words not in text
    assert "No provenance was stored with these results." in text


def test_a_template_of_a_diagnosis_extends_the_shell(tmp_path):
    own = tmp_path / "page.html"
    own.write_text('{% extends "shell.html" %}{% block results %}<p>{{ mine }}</p>{% endblock %}')
    assert "<p>&lt;b&gt;</p>" in page(template=own, own={"mine": "<b>"})


def test_many_warnings_do_not_push_the_answer_off_the_screen():
    """Two are in view, the others open on demand; none is lost."""
    few, many = (page(warnings=[f"warning {number}." for number in range(count)]) for count in (2, 80))
    assert "more</summary>" not in few
    before, _, folded = many.partition("78 more</summary>")
    assert "warning 1." in before
    assert "warning 2." not in before
    assert all(f"warning {number}." in folded for number in range(2, 80))
