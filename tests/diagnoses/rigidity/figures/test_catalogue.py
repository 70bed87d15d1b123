"""All figures of a card: every one there or its absence explained, nothing cut off, the same bytes every time."""

from __future__ import annotations

import pytest
from matplotlib.text import Text

from einstellung.diagnoses.rigidity.figures import catalogue
from einstellung.diagnoses.rigidity.figures.curves import PhaseTwoCurves
from einstellung.diagnoses.rigidity.score import score
from einstellung.report.figures import canvas, plan
from einstellung.report.figures.canvas import settle
from einstellung.report.figures.plan import draw_figures
from einstellung.results.run_files import RunFiles
from einstellung.timeline import Timeline
from tests.diagnoses.rigidity.figures.seen import hatches_of
from tests.diagnoses.rigidity.hand_made import CURVES, timeline_frame


def test_files_of_a_report_do_not_change_from_one_writing_to_the_next(written, tmp_path, monkeypatch):
    monkeypatch.setattr(canvas, "FORMATS", ("svg",))
    frame, files = written.evidence.timeline.frame, RunFiles(written.folder)
    draw_figures(catalogue.figure_plans(frame, written.card.baseline_first(), files), tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 9
    for name in names:
        assert (tmp_path / name).read_bytes() == (written.folder / "figures" / name).read_bytes(), name


def test_every_figure_is_there_in_every_format(written):
    names = {"fig1_samples", "fig2_augmentation", "fig3_accuracy", "fig4_delay_grid", "fig5_deficit", "fig6_reliance"}
    names |= {"fig1_samples_grey", "verdict", "survival", "pictures_derpp"}
    files = {path.name for path in (written.folder / "figures").iterdir()}
    assert files == {f"{name}.{kind}" for name in names for kind in ("svg", "png", "pdf")}
    for path in (written.folder / "figures").iterdir():
        start = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[path.suffix[1:]]
        assert path.read_bytes().startswith(start)
        assert path.stat().st_size > 3000


CASES = {
    "one seed": {"seeds": (7,)},
    "no baseline": {"curves": {name: CURVES[name] for name in ("sgd", "derpp")}},
    "only the baseline": {"curves": {"scratch_t2": CURVES["scratch_t2"]}},
    "all censored": {"curves": {name: (0.5, *rest) for name, (_, *rest) in CURVES.items()}},
    "twelve with long names": {
        "curves": {"scratch_t2": CURVES["scratch_t2"]}
        | {f"a_very_long_name_$of$_method_number_{number}": CURVES["sgd"] for number in range(11)}
    },
}


@pytest.mark.parametrize("case", CASES)
def test_every_text_lies_inside_its_figure(case, monkeypatch, tmp_path):
    timeline = Timeline(timeline_frame(**CASES[case]))
    seen = {}

    def look(figure, folder, name):
        canvas.settle(figure)
        figure.set_dpi(canvas.PNG_DPI)
        figure.draw_without_rendering()
        width, height = figure.bbox.size
        for text in figure.findobj(Text):
            if text.get_text() and text.get_visible():
                box = text.get_window_extent()
                inside = box.x0 > -2 and box.y0 > -2 and box.x1 < width + 2 and box.y1 < height + 2
                tick = text.get_text().replace("−", "-").replace(".", "").lstrip("-").isdigit()
                assert inside or tick, (name, text.get_text(), box)
        seen[name] = figure
        return {"svg": b""}

    monkeypatch.setattr(plan, "save", look)
    drawn, missing = draw_figures(catalogue.figure_plans(timeline.frame, score(timeline), RunFiles()), tmp_path)
    assert set(drawn) | {figure.name for figure in missing} == set(catalogue.TITLES)
    assert "fig3_accuracy" in seen
    assert ("fig4_delay_grid" in seen) == (case not in ("no baseline", "only the baseline"))
    if case == "all censored":
        assert len(hatches_of(seen["fig4_delay_grid"])) >= 2


def test_missing_splits_are_named_not_drawn(tmp_path, monkeypatch):
    frame = timeline_frame()
    _, missing = written_from(tmp_path, monkeypatch, frame[frame["split"] != "T2_shortcut_masked"])
    assert missing["fig6_reliance"] == ("T2_shortcut_masked was not measured in phase T2 after epoch 0")


def written_from(tmp_path, monkeypatch, frame):
    """Names of the figures drawn from a frame, and why the others were not."""
    monkeypatch.setattr(plan, "save", lambda figure, folder, name: settle(figure) or {"svg": b""})
    timeline = Timeline(frame)
    drawn, missing = draw_figures(catalogue.figure_plans(timeline.frame, score(timeline), RunFiles()), tmp_path)
    return set(drawn), {figure.name: figure.why for figure in missing}


def test_a_seed_measured_before_training_only_is_left_out(tmp_path, monkeypatch):
    frame = timeline_frame()
    frame = frame[(frame["method"] != "sgd") | (frame["seed"] != 43) | (frame["epoch"] == 0)]
    drawn, _ = written_from(tmp_path, monkeypatch, frame)
    assert {"fig3_accuracy", "fig5_deficit", "fig6_reliance", "survival", "verdict"} <= drawn
    curves = PhaseTwoCurves(frame, score(Timeline(frame)))
    assert list(curves.accuracy("sgd").columns) == [42, 44]
    assert [run.budget for run in curves.times_to_threshold("sgd")] == [8.0, 8.0]


def test_a_method_measured_before_training_only_has_no_curve(tmp_path, monkeypatch):
    frame = timeline_frame()
    drawn, _ = written_from(tmp_path, monkeypatch, frame[(frame["method"] != "sgd") | (frame["epoch"] == 0)])
    assert {"fig3_accuracy", "survival", "verdict"} <= drawn


def test_without_any_training_there_is_no_curve_to_draw(tmp_path, monkeypatch):
    frame = timeline_frame()
    drawn, missing = written_from(tmp_path, monkeypatch, frame[frame["epoch"] == 0])
    assert drawn == set()
    assert missing["survival"] == "T2_shortcut_normal was not measured in phase T2 after epoch 0"
