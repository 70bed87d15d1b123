"""The first screen of a page: methods, verdicts and intervals, as text and as data."""

from __future__ import annotations

from einstellung.report.figures.style import method_styles
from einstellung.report.forest import Forest, ForestColumn, ForestRow, ForestValue
from einstellung.report.page import PageOrigin
from einstellung.report.pictures import PictureRow

from .html_reader import HtmlReader
from .test_page import page
from .test_pictures import IMAGES

FOREST = Forest(
    columns=[ForestColumn("PD", "PD", "What <it> is.", "better", "worse", margin=0.02)],
    rows=[
        ForestRow("base", "baseline", "", "", {}, 3, is_baseline=True),
        ForestRow(
            "<sgd>",
            "red-flag",
            "red-flag",
            "holds",
            {"PD": ForestValue(0.1, 0.05, 0.15, "+0.100", "[+0.050, +0.150]")},
            3,
            anchor="method-1",
        ),
        ForestRow("er", "ambiguous", "", "", {"PD": ForestValue(None, text="–", why="never measured")}, 2),
    ],
    caption="Means & intervals.",
    styles=method_styles(["base", "<sgd>", "er"], "base"),
)


def test_the_table_of_methods_is_text_without_any_script():
    reader = HtmlReader(page(forest=FOREST, answer=["One."]))
    for words in (
        "base baseline 3",
        "<sgd> red-flag holds +0.100 [+0.050, +0.150] 3",
        "er ambiguous – never measured 2",
        "Means & intervals.",
    ):
        assert words in reader.text, words


def test_the_same_numbers_are_data():
    data = HtmlReader(page(forest=FOREST)).data
    assert [row["method"] for row in data["forest"]["rows"]] == ["base", "<sgd>", "er"]
    assert data["forest"]["rows"][1]["values"]["PD"]["low"] == 0.05
    assert data["terms"]["PD"] == "What <it> is."
    assert len({style["light"] for style in data["forest"]["styles"].values()}) == 3


def test_the_contents_name_every_section_once_and_the_methods_first():
    reader = HtmlReader(page(forest=FOREST))
    links = [link for link in reader.links if link != "#main"]
    assert links[:2] == ["#methods", "#checks"]
    for section in ("figures", "tables", "measured", "glossary", "provenance"):
        assert links.count(f"#{section}") == 1


def test_without_a_forest_the_first_figure_and_table_stand_first():
    html = page()
    assert html.index('<figure id="one"') < html.index('id="checks"')
    assert html.index("never measured") < html.index('id="checks"')
    assert html.count('<figure id="one"') == 1
    assert HtmlReader(html).links[1:3] == ["#methods", "#checks"]


def test_pictures_stand_beside_the_answer():
    html = page(pictures=[PictureRow("with cue", IMAGES)])
    assert html.index('class="lead"') < html.index('alt="with cue, image 1"') < html.index("<main")
    assert "picture-strip" not in page().partition("<body>")[2]


def test_where_nothing_was_checked_nothing_has_passed():
    text = HtmlReader(page(checks=[], origin=PageOrigin())).text
    assert "Checks: none were recorded" in text
    assert "passed" not in text


def test_checks_are_one_line_that_opens():
    text = HtmlReader(page()).text
    assert "Checks: 1 of 3 passed, 1 failed, 1 not checked" in text
