"""The table of other shifts: accuracies behind every gap, what was left out, and the mean over models."""

from __future__ import annotations

from einstellung.report.probes.shifts import shift_table


def record(model, gap):
    own = {
        "classes": 9,
        "acc": 0.6 + gap,
        "n": 4050,
        "left_out": 12,
        "reference_acc": 0.6,
        "reference_n": 4050,
        "reference_left_out": 0,
        "gap": gap,
        "interval": [gap - 0.02, gap + 0.02],
    }
    return {"model": model, "gaps": {"in9": own, "stylized": {**own, "interval": None}}}


def test_every_gap_has_its_accuracies_and_the_average_its_gaps():
    mean = {"gaps": {"in9": -0.15, "stylized": -0.15}}
    table = shift_table([record("one", -0.1), record("other", -0.2)], mean)
    assert [cell.text for cell in table.rows[0]] == [
        "one",
        "IN-9 Gap",
        "9",
        "50.0 (n = 4,050; 12 left out)",
        "60.0 (n = 4,050)",
        "−10.0 [−12.0, −8.0]",
    ]
    assert table.rows[1][-1].text == "−10.0"  # without an interval
    assert [cell.text for cell in table.rows[-1]] == ["average", "SIN Gap", "", "", "", "−15.0"]
    assert (table.values[0]["low95"], table.values[1]["low95"]) == (-0.12000000000000001, None)
    assert table.values[-1] == dict.fromkeys(table.values[0]) | {"model": "average", "shift": "stylized", "gap": -0.15}


def test_one_model_has_no_average():
    assert len(shift_table([record("one", -0.1)], None).rows) == 2
