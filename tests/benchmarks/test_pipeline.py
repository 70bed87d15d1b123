"""Shares of a step and of an epoch, at a tiny size through the program; the arithmetic by hand."""

from __future__ import annotations

import json

import pytest

from benchmarks import __main__ as program
from benchmarks import pipeline
from benchmarks.pipeline import Size, size_rows
from einstellung.cues import PatchCue
from einstellung.streams import shapes


def test_pipeline_through_the_program(monkeypatch, tmp_path):
    monkeypatch.setattr(program, "HERE", tmp_path)
    monkeypatch.setattr(pipeline, "SHORT", (Size(8, 1, 2, 10),))
    monkeypatch.setattr(pipeline, "DATA_TIMES", 1)
    assert program.main(["pipeline", "--short"]) == 0
    found = json.loads((tmp_path / "results.json").read_text())["pipeline"]["short"]
    took = found["core_seconds"]["8"]
    assert set(took) == {*pipeline.PARTS, "step", "image", "checkpoint", "tables"}
    assert all(len(values) == 2 and min(values) > 0 for values in took.values())
    assert len(found["rows"]) == len(pipeline.PARTS) + 4


@pytest.mark.parametrize(("data", "reached"), [(0.02, True), (0.05, False)])
def test_shares_are_of_a_step_or_of_an_epoch(data, reached):
    took = {name: [0.01] for name in pipeline.PARTS} | {"data": [data], "step": [1.0]}
    took |= {"image": [0.01], "checkpoint": [4.5], "tables": [2.8125]}
    stream = shapes(PatchCue(), train_per_class=10, test_per_class=1)
    rows = {line["what"].partition(": ")[2]: line for line in size_rows(stream, Size(64, 1, 1, 3), took)}
    whole = rows["reading, augmentation, cue and normalisation together / whole step"]
    assert (whole["reach"], whole["reached"]) == ("under 3 %", reached)
    assert rows["cue alone / whole step"]["measured"] == "1.00 % (once)"
    # an epoch: 9,000 images in batches of 32 of one second each, 281.25 s
    evaluated = rows["evaluating SC patched, SC masked and validation / epoch of T2"]
    assert (evaluated["measured"], evaluated["reached"]) == ("10.67 % (once)", True)
    assert rows["evaluating all 8 splits (11,000 images) / epoch of T2"]["measured"] == "39.11 % (once)"
    assert rows["writing a checkpoint / epoch of T2"]["measured"] == "1.60 % (once)"
    assert rows["writing a run's tables of 50 epochs / epoch of T2"]["measured"] == "1.00 % (once)"
