"""A sweep of two settings: every pair in its place, what is missing hatched, one page for all."""

from __future__ import annotations

import json

from matplotlib.patches import Rectangle

from einstellung.diagnoses.contract import Members
from einstellung.diagnoses.rigidity.diagnosis import Rigidity
from einstellung.diagnoses.rigidity.figures.grid import draw_grid
from einstellung.diagnoses.rigidity.grid import grid_answer, swept_grid
from einstellung.report.family import Study, write_family_page
from einstellung.report.figures import canvas
from einstellung.report.figures.canvas import drawing, settle
from tests.report.html_reader import HtmlReader

from .test_family import study

KEYS = ("cue.size", "cue.place")
STRENGTHS = {(10, "top-left"): 0.4, (2, "top-left"): 0.1, (2, "random"): 0.3}


def name(pair):
    return f"cue.size={pair[0]},cue.place={pair[1]}"


def members(waiting=("cue.size=10,cue.place=random",)):
    cards = {name(pair): study(strength, crosses=pair[0] > 2) for pair, strength in STRENGTHS.items()}
    return Members(cards, waiting, KEYS, {name(pair): pair for pair in (*STRENGTHS, (10, "random"))})


def test_numbers_by_size_words_as_given():
    grid = swept_grid(members())
    assert (grid.rows, grid.columns) == (("2", "10"), ("top-left", "random"))
    assert grid.methods == ["sgd", "gpm"]
    assert round(grid.facet("sgd", "10", "top-left", "SFR_rel").mean, 9) == 0.2
    assert grid.facet("sgd", "10", "random", "SFR_rel") is None
    assert grid.facet("gpm", "2", "random", "AD").mean is None


def test_every_pair_is_drawn_where_it_belongs():
    with drawing():
        figure = draw_grid(swept_grid(members()))
        settle(figure)
    panels = [axes for axes in figure.axes if axes.get_xlim() == (-0.5, 1.5)]
    assert len(panels) == 2 * 3  # methods by facets
    reliance = panels[0]
    texts = {(round(text.get_position()[0]), round(text.get_position()[1])): text.get_text() for text in reliance.texts}
    assert texts == {(0, 0): "+0.050", (1, 0): "+0.150", (0, 1): "+0.200"}
    hatched = [one for one in reliance.patches if isinstance(one, Rectangle) and one.get_hatch()]
    assert [one.get_xy() for one in hatched] == [(0.5, 0.5)]
    delay_of_gpm = panels[5]
    assert (
        sum(bool(one.get_hatch()) for one in delay_of_gpm.patches) == 3
    )  # never crosses at size 2, not run at 10, random


def test_the_answer_names_the_extremes():
    words = grid_answer(swept_grid(members()))
    assert (
        "sgd: SFR_rel is highest at cue.size = 10, cue.place = top-left (+0.200), lowest at 2, top-left (+0.050)"
        in words
    )
    assert "3 pairs of cue.size and cue.place" in words


def test_the_page_links_to_every_pair(tmp_path, monkeypatch):
    monkeypatch.setattr(canvas, "FORMATS", ("svg",))
    given = members()
    made = Rigidity().family(given)
    studies = [Study(name, card.checks, card.warnings, card.fewest_seeds) for name, card in given.cards.items()]
    reader = HtmlReader(write_family_page(tmp_path, made, studies).read_text(encoding="utf-8"))
    assert reader.links == [f"{name(pair)}/report.html" for pair in STRENGTHS]
    assert "cue.size=10,cue.place=random has no finished run yet" in reader.text
    record = json.loads((tmp_path / "sweep.json").read_text())
    assert record["keys"] == list(KEYS)
    assert [point["value"] for point in record["points"]] == [list(pair) for pair in STRENGTHS]
    assert record["points"][0]["report"] == f"{name((10, 'top-left'))}/report.html"
