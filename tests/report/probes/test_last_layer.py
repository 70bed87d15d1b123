"""The table of last layers: estimates with intervals, amplification marked, the paper's figures beside a model that it used."""

from __future__ import annotations

import pytest

from einstellung.report.probes.last_layer import last_layer_table
from einstellung.report.probes.last_layer_published import published, reported_for


def estimate(mean, spread=0.02):
    return {"mean": mean, "sd": spread, "n": 3, "ci95": [mean - spread, mean + spread], "interval": "t"}


def ratio(value, low=None, high=None):
    return {"value": value, "n": 3, "ci95": None if low is None else [low, high], "interval": "Fieller"}


def record(model="mine.py:net", index=478, n_carton=0):
    def method(clean, gap, texture):
        own = {
            "clean_acc": estimate(clean),
            "watermark_gap": estimate(gap),
            "texture_gap": estimate(texture),
            "per_seed": {},
        }
        carton = {"carton_gap": {"mean": None, "sd": None, "n": 0, "ci95": None, "interval": "none"}}
        return own | carton | {"dp_carton": estimate(0.01)}

    lle = method(0.7, -0.05, -0.9)
    lle["amplification"] = {"watermark_gap": ratio(0.2, 0.1, 0.3), "texture_gap": ratio(1.5, 1.2, 1.9)}
    texture = method(0.7, -0.3, -0.5)
    texture["amplification"] = {"watermark_gap": ratio(1.2, 0.9, 1.5), "texture_gap": ratio(0.8, 0.7, 0.9)}
    return {
        "model": model,
        "n_train": 80,
        "n_test": 40,
        "class": index,
        "n_carton": n_carton,
        "begins_as_it_was": True,
        "seeds": [0, 1, 2],
        "methods": {"erm": method(0.75, -0.25, -0.6), "texture_aug": texture, "lle": lle},
    }


def cells(table):
    return {row[1].text: dict(zip(table.head, row, strict=True)) for row in table.rows}


def test_gaps_have_intervals_and_marks_where_they_exceed_erms():
    table = last_layer_table([record()], None)
    assert table.head == ("model", "method", "clean", "IN-W Gap", "carton Gap", "ΔP(carton)", "texture Gap")
    found = cells(table)
    assert found["erm"]["IN-W Gap"].text == "−25.0 ± 2.0 [−27.0, −23.0]"
    assert found["lle"]["IN-W Gap"].text == "−5.0 ± 2.0 [−7.0, −3.0]"  # a fifth of erm's: nothing to mark
    assert found["lle"]["texture Gap"].text == "−90.0 ± 2.0 [−92.0, −88.0] (↑×1.50)"
    assert found["texture_aug"]["IN-W Gap"].text.endswith("] (×1.20)")  # the interval of the factor holds 1
    assert found["lle"]["carton Gap"].text == "–"
    assert found["lle"]["carton Gap"].why == "no test picture of class 478"
    assert "(0 of the given class)" in table.note
    assert "Reported" not in table.note
    values = table.values[2]
    assert values["texture_gap_amplification"] == 1.5
    assert (values["texture_gap_low95"], values["texture_gap_amplification_low95"]) == (pytest.approx(-0.92), 1.2)
    assert values["carton_gap"] is None


def test_the_papers_figures_stand_below_the_model_that_it_used():
    table = last_layer_table([record(published().model)], None)
    found = cells(table)
    assert [row[1].text for row in table.rows][:2] == ["erm", "erm, reported"]
    assert found["erm, reported"]["carton Gap"].text == "+30.0"
    assert found["lle, reported"]["IN-W Gap"].text == "−6.2"
    assert found["texture_aug, reported"]["carton Gap"].text == "+36.0 (×1.20)"  # as printed
    assert found["texture_aug, reported"]["IN-W Gap"].text == "−25.9 (×1.02)"  # as printed
    assert found["lle, reported"]["ΔP(carton)"].why == "not in the paper"
    assert "Table 4" in table.note
    assert "differ" in table.note
    assert {row["source"] for row in table.values} == {"measured", "reported"}
    assert reported_for(published().model, "background_aug") == {
        "clean_acc": 0.7603,
        "watermark_gap": -0.2501,
        "carton_gap": 0.36,
        "texture_gap": -0.6841,
    }


def test_the_average_row_has_its_own_factors():
    mean = {"methods": {"erm": {"watermark_gap": -0.2}, "lle": {"watermark_gap": -0.3, "carton_gap": None}}}
    mean["methods"]["lle"]["amplification"] = {"watermark_gap": 1.5}
    table = last_layer_table([record(), record("other.py:net")], mean)
    last = dict(zip(table.head, table.rows[-1], strict=True))
    assert (last["model"].text, last["method"].text, last["IN-W Gap"].text) == ("average", "lle", "−30.0 (×1.50)")
    assert last["carton Gap"].why == "not available for every model"
    assert table.values[-1]["watermark_gap_amplification"] == 1.5
