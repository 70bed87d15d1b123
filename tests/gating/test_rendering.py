"""What people and pipelines read: the line, Markdown, JUnit XML, the page, the notebook's fragment."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from einstellung.errors import InputError
from einstellung.gating import gate
from einstellung.gating.junit import to_junit
from einstellung.gating.markdown import to_pull_request
from einstellung.gating.page import plot, render
from einstellung.gating.result import FlipShare
from einstellung.gating.verdict import flip_words, judge_flips, judge_rise, more_pairs, overall, reliance_words
from tests.gating.tables import drawn, predictions

NASTY = "<script>alert(1)</script>|_x_\x07"
WORDS_OF_RIGIDITY = re.compile("rigid", re.IGNORECASE)


def named(frame, name=NASTY):
    return frame.replace({"label": {"cat": name}, "prediction": {"cat": name}})


@pytest.fixture(scope="module")
def results():
    before, after, same = drawn(2000, 0.9, 0.8, 1), drawn(2000, 0.95, 0.7, 2), drawn(2000, 0.9, 0.8, 1)
    few = {f"x{place}" for place in range(60)}
    return {
        "fail": gate(named(before), named(after), max_flips=0.3),
        "pass": gate(named(before), named(same), max_flips=0.3),
        "inconclusive": gate(named(before[before["id"].isin(few)]), named(same[same["id"].isin(few)]), max_flips=0.01),
        "rigid": gate(before, after, drawn(2000, 0.8, 0.78, 3)),
    }


@pytest.mark.parametrize("verdict", ["fail", "pass", "inconclusive"])
def test_all_forms_agree(results, verdict):
    found = results[verdict]
    assert found.verdict == verdict
    assert found.summary.startswith(f"{verdict.upper()}: ")
    assert f"### Reliance gate: {verdict}\n" in to_pull_request(found)
    assert f">{verdict}</span>" in render(found)
    assert f">{verdict}</b>" in found._repr_html_()
    assert found._repr_markdown_() == to_pull_request(found)


@pytest.mark.parametrize("verdict", ["fail", "pass", "inconclusive"])
def test_without_a_scratch_model_nobody_says_rigid(results, verdict):
    found = results[verdict]
    everything = (found.summary, to_pull_request(found), to_junit(found), render(found), found._repr_html_())
    # the page's shared code is the same for all pages; its text is what stands before it
    assert not any(WORDS_OF_RIGIDITY.search(text.partition("<script")[0]) for text in everything)
    assert "reliance" in found.summary


def test_with_a_scratch_model_rigidity_may_be_named(results):
    found = results["rigid"]
    assert found.baseline.sfr_rel_after_ci95[0] > 0
    assert "a sign of rigidity" in to_pull_request(found)
    assert "a sign of rigidity" in render(found)
    assert "a sign of rigidity" in found._repr_html_()


class Tags(HTMLParser):
    """Whether tags are closed in order, and which scripts there are."""

    def __init__(self):
        super().__init__()
        self.open, self.scripts = [], 0

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        if tag not in ("meta", "link", "br", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_names_are_text_in_pages_and_notebooks(results):
    for text, scripts in ((render(results["fail"]), 2), (results["fail"]._repr_html_(), 0)):
        tags = Tags()
        tags.feed(text)
        assert tags.open == []
        assert tags.scripts == scripts
        assert "&lt;script&gt;alert" in text
    assert "<script>" not in to_pull_request(results["fail"])
    assert r"\|\_x\_" in to_pull_request(results["fail"])


def test_junit_is_what_ci_systems_read(results):
    for name, options, failures, skipped in (
        ("fail", {}, ["reliance"], []),
        ("pass", {}, [], []),
        ("inconclusive", {}, [], ["reliance", "flips"]),
        ("inconclusive", {"inconclusive": "fail"}, ["reliance", "flips"], []),
        ("inconclusive", {"inconclusive": "pass"}, [], []),
    ):
        root = ElementTree.fromstring(to_junit(results[name], **options))
        (suite,) = root
        assert (root.tag, suite.tag) == ("testsuites", "testsuite")
        cases = suite.findall("testcase")
        assert [case.get("name") for case in cases] == ["reliance", "flips"]
        assert all(case.get("classname") for case in cases)
        assert [case.get("name") for case in cases if case.find("failure") is not None] == failures
        assert [case.get("name") for case in cases if case.find("skipped") is not None] == skipped
        counts = {key: int(suite.get(key)) for key in ("tests", "failures", "skipped", "errors")}
        assert counts == {"tests": 2, "failures": len(failures), "skipped": len(skipped), "errors": 0}
        assert (root.get("tests"), root.get("failures")) == ("2", str(len(failures)))


def test_files(results, tmp_path):
    page = results["fail"].save(tmp_path / "new" / "folder")
    assert page == tmp_path / "new" / "folder" / "gate.html"
    assert {file.name for file in page.parent.iterdir()} == {"gate.html", "gate.json", "gate.md", "gate.xml"}
    assert json.loads((page.parent / "gate.json").read_text()) == results["fail"].to_json()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file"):
        results["fail"].save(tmp_path / "file")


def test_the_page_asks_for_nothing(results):
    text = render(results["fail"])
    assert not re.search(r"(src|href)=\"(?!data:|#)", text)
    assert "default-src 'none'" in text


def test_the_plot_has_one_scale(results):
    drawn_plot = plot(results["fail"])
    bar = drawn_plot.bars[0]
    assert drawn_plot.zero < drawn_plot.limit < bar.low < bar.at < bar.high <= 100
    assert all(0 <= one.low <= one.at <= one.high <= 100 for one in drawn_plot.bars)
    assert [one.kind for one in drawn_plot.bars] == ["fail", "slice", "slice"]


@pytest.mark.parametrize(
    ("verdict", "inconclusive", "code"),
    [("pass", "fail", 0), ("fail", "pass", 1), ("inconclusive", "report", 3), ("inconclusive", "pass", 0)],
)
def test_exit_codes(results, verdict, inconclusive, code):
    assert results[verdict].exit_code(inconclusive) == code


# the rule of the gate, at and beyond every edge
@pytest.mark.parametrize(
    ("rise", "ci95", "expected"),
    [
        (0.05, (0.001, 0.1), "fail"),
        (0.05, (0.0, 0.1), "inconclusive"),  # 0 is not excluded
        (0.02, (0.01, 0.03), "inconclusive"),  # the rise is at the limit, not above it
        (0.01, (0.005, 0.02), "pass"),  # it rose, but no more than it may
        (0.0, (-0.01, 0.0201), "inconclusive"),
        (-0.5, (-0.6, -0.4), "pass"),
    ],
)
def test_the_rule_for_the_rise(rise, ci95, expected):
    assert judge_rise(rise, ci95, 0.02) == expected


@pytest.mark.parametrize(
    ("ci95", "expected"),
    [((0.011, 0.02), "fail"), ((0.01, 0.02), "inconclusive"), ((0.0, 0.01), "pass"), ((0.0, 0.0101), "inconclusive")],
)
def test_the_rule_for_flips(ci95, expected):
    assert judge_flips(ci95, 0.01) == expected


def test_one_failure_fails_and_all_must_pass():
    assert overall({"reliance": "pass", "flips": "fail"}) == "fail"
    assert overall({"reliance": "inconclusive", "flips": "fail"}) == "fail"
    assert overall({"reliance": "pass", "flips": "inconclusive"}) == "inconclusive"
    assert overall({"reliance": "pass"}) == "pass"


def test_how_many_pairs_would_settle_it():
    # half-width 0.02 at n = 100, 0.01 from the limit: four times as many
    assert more_pairs(0.01, (-0.01, 0.03), 100, 0.02) == " (about 400 pairs would settle it)"
    assert more_pairs(0.02, (0.0, 0.04), 100, 0.02) == ""
    assert "about 400" in reliance_words("inconclusive", 0.01, (-0.01, 0.03), 100, 0.02)


def test_flips_in_words():
    share = FlipShare(n=100, negative=0.05, ci95=(0.02, 0.11), positive=0.0)
    assert flip_words("fail", share, 0.01) == "negative flips 0.050 [0.020, 0.110], above the limit 0.01"


def test_a_floor_is_named():
    found = gate(*[predictions({"cue": [1, 0] * 10, "covered": [0] * 20})] * 2)
    assert any("With the cue covered both models are almost always wrong" in warning for warning in found.warnings)


def test_the_python_console_shows_the_verdict_in_a_line():
    before = drawn(1000, 0.9, 0.8, 1)
    result = gate(before, drawn(1000, 0.95, 0.6, 2))
    assert repr(result) == f"<GateResult: {result.summary}>"
