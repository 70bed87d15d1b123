"""The parts of a report add up to it."""

from __future__ import annotations

from benchmarks import render
from benchmarks.attention import net_row
from benchmarks.score import timeline


def test_every_figure_and_format_is_clocked(tmp_path, monkeypatch):
    monkeypatch.setattr(render.canvas, "settle", lambda figure: None)
    monkeypatch.setattr(render.canvas, "render", lambda figure, kind: b"<svg></svg>")  # drawn, and not rendered: quick
    logs = tmp_path / "timeline.csv"
    timeline(2, 2, 4).to_csv(logs, index=False)
    parts = render.report_parts(logs, tmp_path)
    figures = [name for name in parts if name.startswith("figure ")]
    written = {path.stem for path in (tmp_path / "report" / "figures").glob("*.svg")}
    assert {name.split()[1].rstrip(",") for name in figures} == written
    assert {"fig1_samples", "fig2_augmentation", "pictures_method_1", "fig3_accuracy"} <= written
    formats = [parts[f"all figures as {kind}"] for kind in ("SVG", "PNG", "PDF")]
    assert 0 < sum(formats) < sum(parts[name] for name in figures) < parts["whole"]


def test_the_clock_is_taken_off_again(tmp_path):
    before = render.plan.save, render.canvas.render
    with render.clocked_figures():
        assert (render.plan.save, render.canvas.render) != before
    assert (render.plan.save, render.canvas.render) == before


def test_attention_reaches_what_is_said_of_it():
    small = {seconds: net_row("vit", seconds, 1.0, 0.5 * 2**30)["reached"] for seconds in (29.0, 31.0)}
    assert small == {29.0: True, 31.0: False}
    assert net_row("vit", 1.0, 1.0, 2 * 2**30)["reached"] is False
    # 16 images: 4 a second are 2 a second and core
    assert [net_row("vit_base_patch16_224", 9.0, alone, 0)["reached"] for alone in (3.9, 4.1)] == [True, False]
