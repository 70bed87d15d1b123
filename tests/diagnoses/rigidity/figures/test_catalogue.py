"""What is drawn: styles, hatches, numbers in cells, bytes, and nothing cut off."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest
from einstellung.diagnoses.rigidity.curves import PhaseTwoCurves, band
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from einstellung.diagnoses.rigidity.figures.accuracy import draw_accuracy
from einstellung.diagnoses.rigidity.figures.delays import HATCHES, draw_delay_grid
from einstellung.diagnoses.rigidity.figures.survival import step_at
from einstellung.diagnoses.rigidity.figures.verdict import draw_verdict
from einstellung.diagnoses.rigidity.score import score
from einstellung.metrics.survival import SurvivalCurve
from einstellung.report.figures import canvas, catalogue
from einstellung.report.figures.canvas import drawing, render, settle, spread
from einstellung.report.figures.samples import draw_samples
from einstellung.report.figures.style import PALETTE, method_styles
from einstellung.report.notation import baseline_first, short_names, write
from einstellung.timeline import Timeline

from .hand_made import CURVES, timeline_frame


def texts_of(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_visible() and text.get_text()]


def hatches_of(figure):
    return [patch.get_hatch() for patch in figure.axes[0].patches if isinstance(patch, Rectangle) and patch.get_hatch()]


def test_colours_of_the_palette_are_far_apart():
    rgb = [np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) for colour in (*PALETTE, "#000000")]
    assert min(np.abs(one - other).sum() for one, other in itertools.combinations(rgb, 2)) > 60


def test_thirty_methods_differ_in_colour_or_dash_and_keep_them():
    names = ["scratch_t2", *(f"m{number}" for number in range(30))]
    styles = method_styles(names, "scratch_t2")
    assert len({(style.colour, str(style.dash)) for style in styles.values()}) == 31
    alone = method_styles(["gpm", "sgd"], None)
    assert alone["sgd"] == method_styles(["scratch_t2", "sgd", "zzz"], "scratch_t2")["sgd"]


def test_hatched_cells_stand_exactly_where_there_is_no_delay(card):
    with drawing():
        figure = draw_delay_grid(card)
    assert hatches_of(figure) == [HATCHES["both"]]  # gpm at 0.60: gpm in two seeds, both in the third
    assert {"−5.0", "n 2/3", "−1.0"} <= set(texts_of(figure))
    card["methods"]["gpm"]["AD_tau"]["0.60"]["censored"] = {"1": "gpm", "2": "gpm", "3": "gpm"}
    card["methods"]["ewc_on"]["AD_tau"]["0.50"] = {"mean": None, "n": 0, "censored": {"1": "scratch_t2"}}
    with drawing():
        figure = draw_delay_grid(card)
    assert hatches_of(figure) == [HATCHES["baseline"], HATCHES["method"]]


def test_delays_are_coloured_around_zero(card):
    card["methods"]["gpm"]["AD_tau"]["0.60"] = {"mean": 5.0, "n": 3, "censored": {}}
    with drawing():
        cells = [patch for patch in draw_delay_grid(card).axes[0].patches if not patch.get_hatch()]
    early, late = cells[1].get_facecolor(), cells[3].get_facecolor()
    assert early[2] > early[0]  # blue
    assert late[0] > late[2]  # orange


def test_figure_three_labels_the_delay(written):
    with drawing():
        figure = draw_accuracy(PhaseTwoCurves(written.timeline.frame, written.card), written.card, {"chance": 0.1})
    words = texts_of(figure)
    mean = written.card["methods"]["sgd"]["AD"]["mean"]
    assert f"AD −{abs(mean):.2f}" in words or f"AD −{abs(mean):.1f}" in words
    assert "AD –  method below τ" in words
    assert {"τ = 0.60", "chance 0.100"} <= set(words)


def test_bands_are_mean_and_sample_deviation_of_smoothed_seeds(written):
    frame = written.timeline.frame
    summary = band(PhaseTwoCurves(frame, written.card).accuracy("sgd"))
    rows = frame[(frame.method == "sgd") & (frame.phase == "T2") & (frame.split == "T2_shortcut_normal")]
    raw = rows.pivot_table(index="epoch", columns="seed", values="acc")
    by_hand = raw.loc[[1.0, 2.0, 3.0]].mean()
    assert summary.n == 3
    assert summary.epochs.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert summary.mean[2] == pytest.approx(by_hand.mean())
    assert summary.sd[2] == pytest.approx(by_hand.std(ddof=1))


def test_gaps_are_paired_by_seed(written):
    curves = PhaseTwoCurves(written.timeline.frame, written.card)
    sgd, scratch = curves.accuracy("sgd"), curves.accuracy("scratch_t2")
    assert curves.deficit("sgd").loc[5.0, 43] == pytest.approx(scratch.loc[5.0, 43] - sgd.loc[5.0, 43])
    delta = curves.reliance("sgd").loc[8.0, 44] - curves.reliance("scratch_t2").loc[8.0, 44]
    assert curves.relative_reliance("sgd").loc[8.0, 44] == pytest.approx(delta)


def test_equal_input_gives_equal_bytes(card):
    def once():
        with drawing():
            figure = draw_verdict(card)
            return [render(figure, kind) for kind in ("svg", "png", "pdf")]

    assert once() == once()


def test_files_of_a_report_do_not_change_from_one_writing_to_the_next(written, tmp_path, monkeypatch):
    monkeypatch.setattr(canvas, "FORMATS", ("svg",))
    samples = written.folder / "samples.npz"
    catalogue.draw_figures(
        tmp_path,
        written.timeline.frame,
        baseline_first(written.card),
        levels={"chance": 1 / 36, "cue alone": 1 / 6},
        samples=samples,
    )
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


def test_no_global_figure_state_is_touched(written):
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_samples_are_drawn_pixel_by_pixel(written):
    with np.load(written.folder / "samples.npz") as stored, drawing():
        figure = draw_samples(dict(stored), ("original", "patched", "masked"), ["a_$b$"] * 8)
    images = [axes.images[0].get_array() for axes in figure.axes]
    assert len(images) == 24
    assert images[0].shape == (128, 128, 3)
    patch = images[8][:32, :32]  # 2 of 8 pixels, each 16 times as large
    assert (np.asarray(patch) == (255, 0, 255)).all()
    assert not (np.asarray(images[8][32, 32]) == (255, 0, 255)).all()
    assert "a_$b$" in texts_of(figure)


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

    monkeypatch.setattr(catalogue, "save", look)
    card = score(timeline).to_dict()
    drawn, missing = catalogue.draw_figures(tmp_path, timeline.frame, card, levels={}, samples=None)
    assert {figure.name for figure in drawn} | {figure.name for figure in missing} == set(catalogue.TITLES)
    assert "fig3_accuracy" in seen
    assert ("fig4_delay_grid" in seen) == (case not in ("no baseline", "only the baseline"))
    if case == "all censored":
        assert len(hatches_of(seen["fig4_delay_grid"])) >= 2


def test_missing_splits_are_named_not_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "save", lambda figure, folder, name: {"svg": b""})
    frame = timeline_frame()
    timeline = Timeline(frame[frame["split"] != "T2_shortcut_masked"])
    _, missing = catalogue.draw_figures(tmp_path, timeline.frame, score(timeline).to_dict(), levels={}, samples=None)
    assert {figure.name: figure.why for figure in missing}["fig6_reliance"] == (
        "T2_shortcut_masked was not measured in phase T2 after epoch 0"
    )


def test_labels_never_touch_and_stay_in_order():
    places = spread([0.0, 0.01, 0.02, 0.5, 0.98, 1.0], 0.1)
    assert all(later - earlier > 0.1 - 1e-9 for earlier, later in itertools.pairwise(places))
    assert min(places) >= 0
    assert max(places) <= 1 + 1e-9


def test_short_names_stay_distinct():
    names = ["x" * 40, "x" * 41, "x" * 42, "sgd"]
    assert len(set(short_names(names).values())) == 4


def test_steps_hold_until_the_next():
    curve = SurvivalCurve(np.array([0.0, 2.0, 5.0]), np.array([1.0, 0.5, 0.0]))
    assert step_at(curve, np.array([0.0, 1.9, 2.0, 4.9, 5.0, 9.0])).tolist() == [1, 1, 0.5, 0.5, 0, 0]


def written_from(tmp_path, monkeypatch, frame):
    """Names of the figures drawn from a frame, and why the others were not."""
    monkeypatch.setattr(catalogue, "save", lambda figure, folder, name: settle(figure) or {"svg": b""})
    timeline = Timeline(frame)
    card = score(timeline).to_dict()
    drawn, missing = catalogue.draw_figures(tmp_path, timeline.frame, card, levels={}, samples=None)
    return {figure.name for figure in drawn}, {figure.name: figure.why for figure in missing}


def test_a_seed_measured_before_training_only_is_left_out(tmp_path, monkeypatch):
    frame = timeline_frame()
    frame = frame[(frame["method"] != "sgd") | (frame["seed"] != 43) | (frame["epoch"] == 0)]
    drawn, _ = written_from(tmp_path, monkeypatch, frame)
    assert {"fig3_accuracy", "fig5_deficit", "fig6_reliance", "survival", "verdict"} <= drawn
    curves = PhaseTwoCurves(frame, score(Timeline(frame)).to_dict())
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


def test_the_verdict_shows_delta_on_the_seeds_of_the_baseline():
    frame = timeline_frame()
    card = score(Timeline(frame[(frame["method"] != "scratch_t2") | (frame["seed"] != 44)])).to_dict()
    sgd = card["methods"]["sgd"]
    assert (sgd["delta"]["n"], sgd["delta_paired"]["n"]) == (3, 2)
    texts = [text.get_text() for text in draw_verdict(card).axes[-1].texts]
    assert f"{write('delta', sgd['delta_paired']['mean'])}  n 2" in texts
