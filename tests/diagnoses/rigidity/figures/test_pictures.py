"""Sheets of the pictures that a learner left."""

from __future__ import annotations

import numpy as np
import pytest

from einstellung.diagnoses.rigidity.figures.catalogue import figure_plans
from einstellung.diagnoses.rigidity.figures.pictures import draw_pictures, sheet
from einstellung.diagnoses.rigidity.score import score
from einstellung.report.figures.canvas import drawing
from einstellung.results.run_files import RunFiles, RunPictures, run_folder
from einstellung.timeline import Timeline
from tests.diagnoses.rigidity.hand_made import timeline_frame, write_pictures


@pytest.mark.parametrize(("count", "rows"), [(1, 1), (8, 1), (9, 2), (32, 4), (100, 4)])
def test_a_sheet_holds_at_most_four_rows_of_eight_in_their_order(count, rows):
    images = np.stack([np.full((64, 64, 3), number, np.uint8) for number in range(count)])
    page = sheet(images)
    pitch = 132  # 64 pixels twice as large, and a gap of 4
    assert page.shape == (rows * pitch - 4, 8 * pitch - 4, 3)
    for number in range(min(count, 32)):
        top, left = number // 8 * pitch, number % 8 * pitch
        assert (page[top : top + 128, left : left + 128] == number).all()
    if count < 32 and count % 8:
        assert (page[-128:, (count % 8) * pitch :] == 255).all()


def test_every_set_has_a_panel_with_method_seed_and_name(tmp_path):
    images = np.zeros((3, 8, 8, 3), np.uint8)
    with drawing():
        figure = draw_pictures(RunPictures("my_$dgr$", 7, tmp_path), {"generated": images, "kept": images})
    assert [axes.get_title("left") for axes in figure.axes] == ["my_$dgr$, seed 7: generated", "my_$dgr$, seed 7: kept"]


def test_pictures_that_cannot_be_read_are_named_as_missing(tmp_path):
    timeline = Timeline(timeline_frame(seeds=(1,), epochs=2))
    for run in timeline.runs:
        run_folder(tmp_path, run).mkdir(parents=True)
    (run_folder(tmp_path, ("sgd", 1)) / "pictures.npz").write_bytes(b"?")
    write_pictures(run_folder(tmp_path, ("derpp", 1)) / "pictures.npz")
    plans = figure_plans(timeline.frame, score(timeline), RunFiles(tmp_path, timeline.runs))
    found = {plan.name: plan for plan in plans if plan.name.startswith("pictures_")}
    assert found["pictures_sgd"].why == "pictures.npz is damaged: it is not a complete .npz file of plain arrays"
    assert found["pictures_derpp"].why is None
    assert {plan.section for plan in found.values()} == {"samples"}
