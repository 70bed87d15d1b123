"""Planned figures are drawn and saved; one that cannot be drawn is named with its reason and section."""

from __future__ import annotations

from einstellung.report.figures.canvas import FORMATS, new_figure
from einstellung.report.figures.plan import Plan, draw_figures
from einstellung.report.tables import Missing


def never():
    raise AssertionError("it is not drawn")


def test_what_can_be_drawn_is_and_the_rest_says_why(tmp_path):
    plans = [
        Plan("one", "One", "Caption.", lambda: new_figure(1, 1), section="samples"),
        Plan("two", "Two", "", never, "nothing was measured", "attention"),
    ]
    drawn, missing = draw_figures(plans, tmp_path)
    assert list(drawn) == ["one"]
    assert (drawn["one"].caption, drawn["one"].section) == ("Caption.", "samples")
    assert drawn["one"].svg == (tmp_path / "one.svg").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {f"one.{kind}" for kind in FORMATS}
    assert missing == [Missing("two", "Two", "nothing was measured", "attention")]
