"""Sheets of images: grey by luminance, and the pictures that a learner left."""

from __future__ import annotations

import numpy as np
import pytest

from einstellung.diagnoses.rigidity.figures import catalogue
from einstellung.diagnoses.rigidity.figures.pictures import draw_pictures, sheet
from einstellung.diagnoses.rigidity.score import score
from einstellung.report.figures.canvas import drawing
from einstellung.report.figures.samples import in_grey
from einstellung.results.run_files import RunPictures
from einstellung.timeline import Timeline

from .hand_made import timeline_frame, write_pictures


def test_grey_is_the_luminance_of_itu_601():
    colours = np.array(
        [[[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 0, 255], [255, 255, 255], [10, 200, 30]]]], np.uint8
    )
    grey = in_grey({"patched": colours, "captions": np.array(["a"])})
    assert list(grey) == ["patched"]
    assert grey["patched"].shape == colours.shape
    by_hand = [76, 150, 29, 105, 255, round(0.299 * 10 + 0.587 * 200 + 0.114 * 30)]
    assert grey["patched"][0, 0, :, 0].tolist() == by_hand
    assert (grey["patched"] == grey["patched"][..., :1]).all()


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


def test_pictures_that_cannot_be_read_are_named_as_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "save", lambda figure, folder, name: {"svg": b""})
    broken = tmp_path / "pictures.npz"
    broken.write_bytes(b"?")
    whole = write_pictures(tmp_path / "other.npz")
    timeline = Timeline(timeline_frame(seeds=(1,), epochs=2))
    drawn, missing = catalogue.draw_figures(
        tmp_path,
        timeline.frame,
        score(timeline).to_dict(),
        levels={},
        samples=None,
        pictures=[RunPictures("sgd", 1, broken), RunPictures("derpp", 1, whole)],
    )
    assert {thing.name: thing.why for thing in missing}["pictures_sgd"] == (
        "pictures.npz is not a whole .npz file of plain arrays"
    )
    assert [figure.is_sheet for figure in drawn if figure.name == "pictures_derpp"] == [True]
