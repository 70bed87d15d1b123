"""Tables, figure and files of the watermark probe."""

from __future__ import annotations

import json

import numpy as np
import pytest

from einstellung.report.figures.canvas import drawing
from einstellung.report.probes.watermark import class_name, control_table, model_table
from einstellung.report.probes.watermark_figure import draw_watermark
from einstellung.report.probes.watermark_report import as_json, write_watermark

KEYS = ("clean_acc", "watermark_acc", "gap", "dp_carton")
OF_CONTROLS = ("acc", "gap", "dp_carton", "gap_beyond", "dp_carton_beyond")


def record(model="one", carton_gap=None):
    control = dict.fromkeys(OF_CONTROLS, -0.05) | {"what": "a plain bar"}
    control["intervals"] = dict.fromkeys(OF_CONTROLS, (-0.1, 0.0))
    return {
        "model": model,
        "class": {"index": 478, "name": "carton"},
        "n": 1000,
        "n_carton": 0 if carton_gap is None else 50,
        "clean_acc": 0.75,
        "watermark_acc": 0.5,
        "gap": -0.25,
        "carton_gap": carton_gap,
        "p_carton_clean": 0.001,
        "dp_carton": 0.0123,
        "dp_carton_on_carton": carton_gap,
        "intervals": {key: (0.7, 0.8) if key == "clean_acc" else (-0.3, 0.2) for key in KEYS},
        "carton_intervals": {} if carton_gap is None else {"carton_gap": (0.1, 0.5)},
        "top_rising_class": {"index": 478, "name": None, "rise": 0.0123, "interval": None},
        "controls": {"bar": control},
    }


def test_models_stand_with_their_intervals_and_the_average_below():
    average = {key: record("x", 0.3)[key] for key in record() if key.endswith(("acc", "gap")) or "carton" in key}
    table = model_table([record("one"), record("two", 0.3)], average)
    first, second, last = (dict(zip(table.head, row, strict=True)) for row in table.rows)
    assert first["clean"].text == "75.0 [70.0, 80.0]"
    assert first["IN-W Gap"].text == "−25.0 [−30.0, +20.0]"
    assert (first["carton Gap"].text, first["carton Gap"].why) == ("–", "no image of the class was given")
    assert second["carton Gap"].text == "+30.0 [+10.0, +50.0]"
    assert first["rises most"].text == "class 478: +1.23"
    assert (last["model"].text, last["carton Gap"].text) == ("average", "+30.0")
    assert table.values[0]["gap_low95"] == -0.3
    assert class_name({"class": {"index": 3, "name": None}}) == "class 3"


def test_controls_stand_with_what_the_watermark_does_beyond_them():
    table = control_table([record()])
    assert [cell.text for cell in table.rows[0]][:4] == ["one", "bar", "−5.0 [−10.0, 0.0]", "−5.0 [−10.0, 0.0]"]
    assert table.head[-1] == "gap beyond it"
    assert table.values[0]["dp_carton_beyond_high95"] == 0.0


def test_the_figure_has_a_row_for_every_overlay_and_a_mark_for_every_model():
    with drawing():
        figure = draw_watermark([record("one"), record("two")], "carton")
    gaps, rises = figure.axes
    assert [label.get_text() for label in gaps.get_yticklabels()] == ["watermark", "bar"]
    marks = [float(line.get_xdata()[0]) for line in gaps.lines if line.get_marker() not in ("None", "")]
    assert marks == pytest.approx([-25.0, -25.0, -5.0, -5.0])
    assert rises.get_xlabel() == "mean P(carton): overlaid − clean, points"


def test_all_files_are_written_and_the_numbers_last(tmp_path, monkeypatch):
    monkeypatch.setattr("einstellung.report.figures.canvas.FORMATS", ("svg",))
    samples = {"clean": np.zeros((2, 8, 8, 3), dtype=np.uint8)}
    path = write_watermark(tmp_path, [record()], None, samples, ["a", "b"], {"command": "einstellung watermark"})
    assert json.loads(path.read_text()) == json.loads(
        json.dumps(as_json([record()], None, {"command": "einstellung watermark"}))
    )
    names = {file.name for file in tmp_path.iterdir()}
    assert {"watermark.json", "watermark.csv", "controls.md", "watermark.svg", "samples.svg"} <= names
