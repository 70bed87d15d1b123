"""The gallery: stored images beside the predictions of every run for just these images."""

from __future__ import annotations

import numpy as np
import pytest

from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.rigidity.gallery import make_gallery, picture_rows
from einstellung.results.run_files import RunFiles, run_folder
from einstellung.timeline import Timeline

from .hand_made import prediction_frame, timeline_frame, write_samples


@pytest.fixture
def evidence(tmp_path):
    timeline = Timeline(timeline_frame())
    for run in timeline.runs:
        run_folder(tmp_path, run).mkdir(parents=True)
        prediction_frame().to_csv(run_folder(tmp_path, run) / "predictions.csv", index=False)
    stored = dict(np.load(write_samples(tmp_path / "samples.npz")))
    more = {f"gallery_{name}": stored[name][:3] for name in ("original", "patched", "masked")}
    names = np.array([f"class {number}" for number in range(40)])
    np.savez(
        tmp_path / "samples.npz",
        **stored,
        **more,
        gallery_index=[103, 100, 999],
        gallery_labels=[21, 20, 20],
        class_names=names,
    )
    return Evidence(timeline, runs=RunFiles(tmp_path, timeline.runs))


def test_every_image_has_the_predictions_of_its_index(evidence, written):
    gallery = make_gallery(evidence, written.card)
    assert [image["index"] for image in gallery["images"]] == [103, 100, 999]
    assert [words for _, words in gallery["variants"]] == ["original", "with cue", "covered"]
    run = next(run for run in gallery["runs"] if (run["method"], run["seed"]) == ("sgd", "43"))
    assert run["patched"] == [21, 20, None]  # of image 999 nothing is known
    assert run["masked"] == [3, 20, None]
    assert gallery["classes"][21] == "class 21"


def test_without_an_index_or_predictions_there_is_none(evidence, written, tmp_path):
    for run in evidence.timeline.runs:
        (run_folder(tmp_path, run) / "predictions.csv").unlink()
    assert make_gallery(evidence, written.card) is None
    assert make_gallery(written.evidence, written.card) is None  # its samples have no index
    assert make_gallery(Evidence(evidence.timeline), written.card) is None


def test_the_strip_shows_the_variants_that_are_stored(evidence, tmp_path):
    assert [row.label for row in picture_rows(evidence)] == ["original", "with cue", "covered"]
    stored = dict(np.load(tmp_path / "samples.npz"))
    del stored["original"]
    np.savez(tmp_path / "samples.npz", **stored)
    assert [row.label for row in picture_rows(evidence)] == ["with cue", "covered"]
    assert picture_rows(Evidence(evidence.timeline)) == []
