"""Files of the runs: what is odd is named and left out, and nothing is ever unpickled."""

from __future__ import annotations

import io

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.results.run_files import RunFiles, find_pictures, read_pictures, read_predictions, read_sources
from tests.diagnoses.rigidity.hand_made import prediction_frame, write_pictures

HEAD = "split,index,label,prediction\n"


def write_run(results, name, content, file="predictions.csv"):
    folder = results / "runs" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())


def same(read, frame):
    """Whether every split has the rows of the frame, in their order."""
    return {
        split: np.stack([own.index, own.label, own.prediction], axis=1).tolist() for split, own in read.items()
    } == {split: own[["index", "label", "prediction"]].to_numpy().tolist() for split, own in frame.groupby("split")}


def test_predictions_are_read_by_method_and_seed(tmp_path):
    write_run(tmp_path, "ewc_on-seed42", prediction_frame().to_csv(index=False))
    found, problems = read_predictions(tmp_path, [("ewc_on", 42)])
    assert problems == []
    assert same(found["ewc_on", 42], prediction_frame())


def test_where_the_last_epoch_counts_its_predictions_are_read(tmp_path):
    later = prediction_frame().assign(prediction=3)
    for name in ("ewc_on-seed42", "sgd-seed1"):
        write_run(tmp_path, name, prediction_frame().to_csv(index=False))
    write_run(tmp_path, "ewc_on-seed42", later.to_csv(index=False), "predictions_last.csv")
    runs = [("ewc_on", 42), ("sgd", 1)]
    found, problems = read_predictions(tmp_path, runs, last=True)
    assert problems == []
    assert same(found["ewc_on", 42], later)
    assert same(found["sgd", 1], prediction_frame())  # made before they were kept
    assert same(read_predictions(tmp_path, runs)[0]["ewc_on", 42], prediction_frame())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "is missing"),
        ("", "cannot be read (No columns to parse from file)"),
        (HEAD, "has no predictions"),
        ("split,index,label\nT2_val,1,2\n", "has no column 'prediction'"),
        (HEAD + "T2_val,1,2,3.5\n", "has values other than whole numbers in column 'prediction'"),
        (HEAD + "T2_val,1,,3\n", "has values other than whole numbers in column 'label'"),
        (HEAD + "T2_val,1,2,3\nT2_val,1,2,3,4,5\n", "cannot be read (Error tokenizing data"),
        (b"\xff\xfe\x00", "cannot be read"),
    ],
)
def test_an_odd_file_is_a_warning_that_names_it(tmp_path, content, words):
    write_run(tmp_path, "sgd-seed1", prediction_frame().to_csv(index=False))
    if content is not None:
        write_run(tmp_path, "sgd-seed2", content)
    found, (problem,) = read_predictions(tmp_path, [("sgd", 1), ("sgd", 2)])
    assert list(found) == [("sgd", 1)]
    assert problem.startswith(f"runs/sgd-seed2/predictions.csv {words}")
    assert problem.endswith("tests on single images leave sgd seed 2 out")
    assert "\n" not in problem


def test_pictures_are_those_of_the_first_seed_that_has_some(tmp_path):
    for name in ("dgr-seed2", "dgr-seed3", "sgd-seed1"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    for name in ("dgr-seed2", "dgr-seed3"):
        write_pictures(tmp_path / "runs" / name / "pictures.npz")
    (found,) = find_pictures(tmp_path, [("sgd", 1), ("dgr", 1), ("dgr", 2), ("dgr", 3)])
    assert (found.method, found.seed) == ("dgr", 2)
    assert read_pictures(found.path)["generated"].shape == (40, 8, 8, 3)


def archive(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


class Trap:
    """Unpickling this would end the test with an error of its own."""

    def __reduce__(self):
        return (pytest.fail, ("something was unpickled",))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"no archive", "is not a complete .npz file of plain arrays"),
        (archive(generated=np.zeros((2, 8, 8, 3), np.uint8))[:-30], "is not a complete .npz file of plain arrays"),
        (archive(generated=np.array([Trap()], dtype=object)), "is not the plain array that it claims to be"),
        (archive(), "pictures.npz is empty"),
        (archive(z=np.zeros((2, 8, 8, 3))), "'z' in pictures.npz is float64 [2, 8, 8, 3], not uint8 [N, H, W, 3]"),
        (archive(z=np.zeros((2, 3, 8, 8), np.uint8)), "is uint8 [2, 3, 8, 8], not uint8 [N, H, W, 3]"),
        (archive(z=np.zeros((0, 8, 8, 3), np.uint8)), "is uint8 [0, 8, 8, 3]"),
    ],
)
def test_odd_pictures_are_refused_in_one_line(tmp_path, content, words):
    (tmp_path / "pictures.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"pictures\.npz") as caught:
        read_pictures(tmp_path / "pictures.npz")
    assert words in str(caught.value)
    assert "pickle" not in str(caught.value)


SOURCES = "index,source,value\n"


def test_the_sources_that_test_images_share_are_read_by_image(tmp_path):
    assert read_sources(tmp_path) == (None, [])  # the stream did not know them
    (tmp_path / "sources.csv").write_text(SOURCES + "7,3,0\n9,3,0\n8,4,1\n")
    frame, problems = read_sources(tmp_path)
    assert problems == []
    assert frame.loc[[7, 8, 9], "source"].tolist() == [3, 4, 3]
    assert RunFiles(tmp_path).sources()[0].equals(frame)
    assert RunFiles().sources() == (None, [])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (SOURCES, "has no sources"),
        ("index,source\n1,2\n", "has no column 'value'"),
        (SOURCES + "1,a,0\n", "has values other than whole numbers"),
        (SOURCES + "1,2,0\n1,3,0\n", "has image 1 twice"),
    ],
)
def test_an_odd_file_of_sources_is_a_warning(tmp_path, content, words):
    (tmp_path / "sources.csv").write_text(content)
    frame, (problem,) = read_sources(tmp_path)
    assert frame is None
    assert problem == f"sources.csv {words}; test images are resampled individually"
