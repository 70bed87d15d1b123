"""Reading predictions: files of every form, and every bad input in one line."""

from __future__ import annotations

import gzip
import lzma

import pandas as pd
import pytest

from einstellung.errors import InputError
from einstellung.gating.predictions import of_frame, read_predictions_file
from tests.gating.tables import predictions

GOOD = "id,label,prediction,condition\n1,cat,cat,cue\n1,cat,dog,covered\n"


def read(tmp_path, text, name="new.csv"):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_predictions_file(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", GOOD.encode()),
        ("a.csv", b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()),
        ("a.csv.gz", gzip.compress(GOOD.encode())),
        ("a.csv.xz", lzma.compress(GOOD.encode())),
        ("a.csv", GOOD.replace(",", ", ").encode()),
        ("a.csv", (GOOD + "\n\n").encode()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # the content has a time in it
)
def test_csv_in_every_form(tmp_path, name, content):
    found = read(tmp_path, content, name)
    assert found.frame[["id", "label", "prediction", "condition"]].to_numpy().tolist() == [
        ["1", "cat", "cat", "cue"],
        ["1", "cat", "dog", "covered"],
    ]


def test_parquet_and_frames_are_the_same_as_csv(tmp_path):
    frame = predictions({"cue": [1, 0], "covered": [0, 0]}, probability=0.5)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    tables = [read_predictions_file(tmp_path / name).frame for name in ("a.parquet", "a.csv")]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(of_frame(frame, "before").frame)


def test_whole_numbers_are_the_same_class_however_they_are_written():
    frame = pd.DataFrame({"id": [1, 1], "label": [3, 3], "prediction": [3.0, 4.0], "condition": ["cue", "covered"]})
    assert of_frame(frame, "before").frame["prediction"].tolist() == ["3", "4"]


def test_classes_may_be_digits_and_letters():
    frame = predictions({"cue": [1, 1], "covered": [1, 1]}).replace({"cat": "3", "dog": "A"})
    assert set(of_frame(frame, "before").frame["label"]) == {"3", "A"}


@pytest.mark.parametrize("prefix", ["", "p_", "prob_", "probability_"])
def test_one_column_a_class_gives_confidence_and_brier(prefix):
    frame = predictions({"cue": [1], "covered": [0]})  # a dog, called cat when it is covered
    frame = frame.assign(**{f"{prefix}cat": [0.3, 0.6], f"{prefix}dog": [0.7, 0.4]})
    found = of_frame(frame, "before").frame
    assert found["confidence"].tolist() == [0.7, 0.6]
    assert found["brier"].tolist() == pytest.approx([2 * 0.3**2, 2 * 0.6**2])


HEAD = "id,label,prediction,condition"
BAD = {
    "empty file": ("", "new.csv is empty"),
    "header only": (HEAD + "\n", "holds no predictions"),
    "blank lines only": (HEAD + "\n\n\n", "holds no predictions"),
    "no column": (GOOD.replace("prediction", "pred"), "has no column 'prediction': did you mean 'pred'? Rename it"),
    "capital": (GOOD.replace("label", "Label"), "has no column 'label': did you mean 'Label'?"),
    "unlike": ("a,b\n1,2\n", "has no column 'id': it needs id, label, prediction, condition"),
    "twice": (HEAD + ",id\n1,a,a,cue,1\n", "line 1: column 'id' appears twice"),
    "nearly optional": (
        HEAD + ",groups\n1,a,a,cue,x\n1,a,a,covered,x\n",
        "a column 'groups': did you mean 'group'? Rename or remove it",
    ),
    "condition": (HEAD + "\n1,a,a,cue\n1,a,a,coverd\n", "line 3: unknown condition 'coverd': did you mean 'covered'?"),
    "no covered": (HEAD + "\n1,a,a,cue\n", "has no rows with the condition 'covered'"),
    "no cue": (HEAD + "\n1,a,a,covered\n", "has no rows with the condition 'cue'"),
    "nan": (HEAD + "\n1,a,a,cue\n1,a,nan,covered\n", "line 3: column 'prediction' is empty or NaN"),
    "missing": (HEAD + "\n1,,a,cue\n", "line 2: column 'label' is empty or NaN"),
    "duplicate": (GOOD + "1,cat,cat,cue\n", "line 4: id '1' appears twice with the condition 'cue'; keep one row"),
    "label changes": (
        GOOD.replace("1,cat,dog", "1,dog,dog"),
        "line 3: id '1' has the label 'dog' here and 'cat' in another row",
    ),
    "group changes": (
        HEAD + ",group\n1,a,a,cue,x\n1,a,a,covered,y\n",
        "line 3: id '1' has the group 'y' here and 'x' in another row",
    ),
    "numbers and names": (
        HEAD + "\n1,0,cat,cue\n1,0,dog,covered\n",
        "column 'label' holds numbers ('0') and 'prediction' holds names ('cat'); write classes in one form",
    ),
    "probability": (
        HEAD + ",probability\n1,a,a,cue,0.5\n1,a,a,covered,70\n",
        "line 3: 'probability' is '70': give a number from 0 to 1",
    ),
    "no number": (HEAD + ",probability\n1,a,a,cue,high\n1,a,a,covered,.5\n", "line 2: 'probability' is 'high'"),
    "sum": (
        HEAD + ",a,b\n1,a,b,cue,.5,.5\n1,a,a,covered,.7,.7\n",
        "line 3: the probabilities of the classes sum to 1.4, not 1",
    ),
    "some classes": (
        HEAD + ",p_a\n1,a,b,cue,.5\n1,a,a,covered,.7\n",
        "has the probabilities of some classes ('p_a'), but no column 'p_b'",
    ),
    "ragged": (GOOD + "2,a,a,cue,9,9\n", "cannot be read as CSV"),
    "more fields": (
        GOOD.replace("cue\n", "cue,9\n").replace("covered\n", "covered,9\n"),
        "more fields than the header",
    ),
    "binary": (b"\xff\xfe\x00\x01", "cannot be read as CSV"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused_in_one_line(tmp_path, case):
    content, words = BAD[case]
    with pytest.raises(InputError) as refused:
        read(tmp_path, content)
    assert words in str(refused.value)
    assert "new.csv" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv.gz", b"no gzip", "has no column"),
        ("a.csv.xz", b"no xz", "has no column"),
        ("a.parquet", b"no parquet", "cannot be read as Parquet"),
        ("a.xlsx", b"", "give predictions as .csv"),
    ],
)
def test_files_of_another_kind(tmp_path, name, content, words):
    with pytest.raises(InputError, match=words):
        read(tmp_path, content, name)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_predictions_file(tmp_path / "a.csv")


def test_mixed_types_in_a_frame():
    frame = pd.DataFrame({"id": [1, "1"], "label": ["a"] * 2, "prediction": ["a"] * 2, "condition": ["cue", "covered"]})
    with pytest.raises(InputError, match="before, row 2: column 'id' mixes numbers and text"):
        of_frame(frame, "before")
