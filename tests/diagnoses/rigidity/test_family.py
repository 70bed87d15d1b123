"""A sweep: every value and method is there, undefined ones in their own place, nothing is moved or lost."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from einstellung.checks import Check
from einstellung.diagnoses.contract import Members
from einstellung.diagnoses.rigidity.diagnosis import Rigidity
from einstellung.diagnoses.rigidity.family import SweptStudies, sweep_record, sweep_table
from einstellung.diagnoses.rigidity.figures.sweep import draw_sweep, positions
from einstellung.errors import InputError
from einstellung.metrics.statistics import Summary
from einstellung.report.family import Study, write_family_page
from einstellung.report.figures import canvas
from einstellung.report.figures.canvas import drawing, settle
from einstellung.report.figures.style import method_styles
from tests.report.html_reader import HtmlReader

from .hand_made import scorecard, seed, typed


def study(strength, *, crosses=True, methods=("sgd", "gpm")):
    """Two seeds; Δ of the methods is ``strength`` and that of scratch half of it. Without ``crosses``, gpm never does."""
    runs = {"scratch_t2": {"1": seed(8, 0.70, 0.70 - strength / 2), "2": seed(9, 0.72, 0.72 - strength / 2)}}
    for method in methods:
        own = crosses or method != "gpm"
        runs[method] = {
            "1": seed(4 if own else None, 0.8, 0.8 - strength),
            "2": seed(5 if own else None, 0.82, 0.82 - strength),
        }
    return typed(scorecard(runs))


def changed(card, method, **facets):
    """The same card with other facets of one method."""
    record = card.methods[method].model_copy(update=facets)
    return card.model_copy(update={"methods": {**card.methods, method: record}})


def sizes():
    return SweptStudies.of("cue.size", [(8, study(0.4)), (2, study(0.1, crosses=False)), (4, study(0.3))])


def drawn(sweep):
    with drawing():
        figure = draw_sweep(sweep)
        settle(figure)
    return figure


def marks(axes, marker, colour):
    """Places of all points with this marker and colour, left to right."""
    return sorted(
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]))
        for line in axes.lines
        if line.get_marker() == marker and to_hex(line.get_color()).upper() == colour.upper()
    )


def test_numbers_rise_and_words_keep_their_order():
    assert [point.label for point in sizes().points] == ["2", "4", "8"]
    assert positions(sizes()).tolist() == [2, 4, 8]
    words = SweptStudies.of("cue.place", [("top-left", study(0.1)), ("centre", study(0.2)), ([14, 14], study(0.2))])
    assert [point.label for point in words.points] == ["top-left", "centre", "14,14"]
    assert positions(words).tolist() == [0, 1, 2]


def test_a_value_given_twice_or_none_at_all_is_refused():
    with pytest.raises(InputError, match="lists 4 twice"):
        SweptStudies.of("cue.size", [(4, study(0.1)), ("4", study(0.2))])
    with pytest.raises(InputError, match="at least one value"):
        SweptStudies.of("cue.size", [])


def test_means_are_drawn_at_their_values_in_the_colours_of_every_report():
    figure = drawn(sizes())
    styles = method_styles(["scratch_t2", "sgd", "gpm"], "scratch_t2")
    delay, deficit, reliance, delta = figure.axes
    for axes, expected in ((delta, [0.1, 0.3, 0.4]), (reliance, [0.05, 0.15, 0.2]), (deficit, [-0.1, -0.1, -0.1])):
        points = marks(axes, styles["sgd"].marker, styles["sgd"].colour)
        assert [y for _, y in points] == pytest.approx(expected)
        assert [x for x, _ in points] == pytest.approx([2, 4, 8], abs=0.3 * 2)
    assert [y for _, y in marks(delta, "*", styles["scratch_t2"].colour)] == pytest.approx([0.05, 0.15, 0.2])
    assert marks(delay, "*", styles["scratch_t2"].colour) == []
    assert [y for _, y in marks(delay, styles["sgd"].marker, styles["sgd"].colour)] == pytest.approx([-4, -4, -4])


def test_intervals_are_those_of_the_scorecard():
    """PD of both seeds is -.10: no width. AD: 4 - 8, 5 - 9: no width. Δ of one seed apart: t interval by hand."""
    card = changed(study(0.3), "sgd", delta=Summary(0.3, 0.05, 2, (0.21, 0.39), "t"))
    delta = drawn(SweptStudies.of("cue.size", [(4, card), (8, study(0.4))])).axes[3]
    bars = [line.get_ydata() for line in delta.lines if len(line.get_xdata()) == 2 and np.ptp(line.get_xdata()) == 0]
    assert any(np.allclose(bar, [0.21, 0.39]) for bar in bars)


def test_what_was_not_reached_is_marked_and_not_left_out():
    figure = drawn(sizes())
    gpm = method_styles(["scratch_t2", "sgd", "gpm"], "scratch_t2")["gpm"]
    delay = figure.axes[0]
    ((x, y),) = marks(delay, "x", gpm.colour)
    assert x == pytest.approx(2, abs=0.6)
    lowest = min(value for _, value in marks(delay, gpm.marker, gpm.colour))
    assert delay.get_ylim()[0] < y < lowest
    assert min(delay.get_yticks()) > y
    assert "not\nreached" in [text.get_text() for text in delay.texts]
    assert len(marks(delay, gpm.marker, gpm.colour)) == 2
    assert not figure.axes[3].texts  # Δ is there at every value


def test_a_split_that_was_not_measured_is_marked_too():
    blind = typed(scorecard({"scratch_t2": {"1": seed(8, 0.7, None)}, "sgd": {"1": seed(4, 0.8, None)}}))
    figure = drawn(SweptStudies.of("cue.size", [(2, blind), (4, study(0.2, methods=("sgd",)))]))
    assert [text.get_text() for axes in figure.axes for text in axes.texts] == ["undefined", "undefined"]


def test_open_marks_where_only_some_seeds_count():
    card = study(0.3)
    card = changed(card, "sgd", AD=replace(card.methods["sgd"].AD, n=1, ci95=None))
    delay = drawn(SweptStudies.of("cue.size", [(2, card), (4, study(0.3))])).axes[0]
    sgd = method_styles(["scratch_t2", "sgd", "gpm"], "scratch_t2")["sgd"]
    faces = [
        to_hex(line.get_markerfacecolor())
        for line in delay.lines
        if line.get_marker() == sgd.marker and line.get_color() == sgd.colour
    ]
    assert faces == ["#ffffff", sgd.colour.lower()]


CASES = {
    "numbers": sizes,
    "one value": lambda: SweptStudies.of("cue.size", [(4, study(0.3))]),
    "words": lambda: SweptStudies.of(
        "cue.place", [("bottom-right", study(0.3)), ("per-index_$x$", study(0.1, crosses=False))]
    ),
    "ten methods with long names": lambda: SweptStudies.of(
        "learners.experience_replay.buffer",
        [(size, study(0.3, methods=[f"a_long_name_$of$_method_{number}" for number in range(9)])) for size in (1, 2)],
    ),
    "only the baseline": lambda: SweptStudies.of(
        "cue.size", [(4, study(0.3, methods=())), (6, study(0.3, methods=()))]
    ),
    "nobody crosses": lambda: SweptStudies.of(
        "cue.share",
        [(0.5, study(0.2, crosses=False, methods=("gpm",))), (1.0, study(0.2, crosses=False, methods=("gpm",)))],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_text_lies_inside_the_figure(case):
    figure = drawn(CASES[case]())
    width, height = figure.bbox.size
    for text in figure.findobj(Text):
        if text.get_text() and text.get_visible():
            box = text.get_window_extent()
            inside = box.x0 > -2 and box.y0 > -2 and box.x1 < width + 2 and box.y1 < height + 2
            assert inside, (text.get_text(), box)


def test_the_table_has_a_row_for_every_value_and_method_and_a_reason_for_every_dash():
    table = sweep_table(sizes())
    assert [(row[0].text, row[1].text) for row in table.rows] == [
        (size, method) for size in ("2", "4", "8") for method in ("scratch_t2", "sgd", "gpm")
    ]
    row = table.rows[2]
    assert [cell.text for cell in row[2:6]] == ["–", "−0.100 ± 0.000", "+0.050 ± 0.000", "+0.100 ± 0.000"]
    assert row[2].why == "τ = 0.60 not reached by gpm in seeds 1 and 2"
    assert all(cell.why for row in table.rows for cell in row if cell.text == "–")


def test_the_page_is_whole_offline_and_links_to_every_report(tmp_path, monkeypatch):
    monkeypatch.setattr(canvas, "FORMATS", ("svg", "png"))
    checks = (Check("masking has an effect", False, "<b>"),)
    failing = study(0.3).model_copy(update={"checks": checks, "warnings": ("seed 9 is alone",)})
    cards = {"cue.colour=255-0-255": failing, "cue.colour=0-0-0": study(0.1, crosses=False)}
    colours = {"255-0-255": [255, 0, 255], "0-0-0": [0, 0, 0], "9-9-9": [9, 9, 9]}
    values = {f"cue.colour={name}": (colour,) for name, colour in colours.items()}
    made = Rigidity().family(Members(cards, ("cue.colour=9-9-9",), ("cue.colour",), values))
    studies = [Study(name, card.checks, card.warnings, card.fewest_seeds) for name, card in cards.items()]
    page = write_family_page(tmp_path, made, studies)
    assert page == tmp_path / "sweep.html"
    reader = HtmlReader(page.read_text(encoding="utf-8"))
    assert reader.open == []
    assert all(load.startswith("data:") for load in reader.loads)
    assert reader.links == ["cue.colour=255-0-255/report.html", "cue.colour=0-0-0/report.html"]
    for words in (
        "The index against cue.colour",
        "falls from +0.300 to +0.100 for sgd",
        "cue.colour=255-0-255: masking has an effect: <b>",
        "cue.colour=255-0-255: seed 9 is alone",
        "cue.colour=9-9-9 has no finished run yet",
        "Fewer than three seeds: not enough to tell.",
        "τ = 0.60 not reached by gpm in seeds 1 and 2",
    ):
        assert words in reader.text, words
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"sweep.svg", "sweep.png"}
    record = json.loads((tmp_path / "sweep.json").read_text())
    assert [point["value"] for point in record["points"]] == [[255, 0, 255], [0, 0, 0]]
    assert record["points"][1]["methods"]["gpm"]["AD"]["mean"] is None
    assert record["points"][0]["failed_checks"][0]["name"] == "masking has an effect"
    rows = list(csv.DictReader((tmp_path / "tables" / "sweep.csv").read_text().splitlines()))
    assert (rows[1]["value"], rows[1]["method"], float(rows[1]["delta_mean"])) == (
        "255,0,255",
        "sgd",
        pytest.approx(0.3),
    )
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {"sweep.md", "sweep.tex", "sweep.csv"}


def test_the_record_keeps_what_decides():
    record = sweep_record(sizes())
    assert record["key"] == "cue.size"
    assert [point["report"] for point in record["points"]] == [f"cue.size={size}/report.html" for size in (2, 4, 8)]
    assert record["points"][0]["methods"]["sgd"]["pattern"] == "ambiguous"
