"""Sets of the UCR archive in every layout, and what is said of files in another form."""

from __future__ import annotations

import lzma
import os
from pathlib import Path

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.sources import UCR
from einstellung.sources.ucr import load_ucr, read_series
from tests.sources.hostile import write_files

REAL = os.environ.get("EINSTELLUNG_DATA")
TRAIN = b"1\t0.5\t1\t-2\n-1\t3\t4e-1\t5\n\n10\t6\t7\t8\n"
TEST = b"10\t1\t2\t3\n1\t4\t5\t6\n"


@pytest.mark.parametrize("folder", ["", "Ships", "ucr", "UCRArchive_2018/Ships"])
@pytest.mark.parametrize("ending", [".tsv", ".tsv.xz"])
def test_every_layout(folder, ending, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_DATA", "mine")
    pack = lzma.compress if ending.endswith(".xz") else bytes
    copy = Path("mine") / folder
    write_files(copy, {f"Ships_TRAIN{ending}": pack(TRAIN), f"Ships_TEST{ending}": pack(TEST)})
    found = load_ucr("Ships")
    assert (found.name, found.found) == ("Ships", copy)
    assert found.label_names == ("-1", "1", "10")
    assert found.train.labels.tolist() == [1, 0, 2]
    assert found.test.labels.tolist() == [2, 1]
    assert found.train.series.dtype == np.float32
    assert found.train.series.shape == (3, 1, 3)
    assert found.train.series[1, 0].tolist() == [3.0, np.float32(0.4), 5.0]
    assert load_ucr("Ships", copy).found == copy


def test_an_unknown_name_names_those_that_are_there(tmp_path):
    write_files(tmp_path, {"Ships_TRAIN.tsv": TRAIN, "Ships_TEST.tsv": TEST})
    with pytest.raises(InputError, match=r"no set 'Shops' of the UCR archive in .*: did you mean 'Ships'"):
        load_ucr("Shops", tmp_path)
    with pytest.raises(InputError, match="is no name of a set"):
        load_ucr("../Ships", tmp_path)


def test_nothing_found_is_one_line():
    with pytest.raises(InputError, match=r"UCR's Crop not found in ./data, .*: download the archive from https://"):
        load_ucr("Crop")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"1\t2\t3\n1\t2\n", "line 2: a series of 1 values where the first has 2; sets with series of unequal length"),
        (b"1\t2\t3\n\n1\t2\tNaN\n", "line 3: column 3 is nan; sets with missing values or series padded with NaN"),
        (b"1\t2\tinf\n", "line 1: column 3 is inf"),
        (b"1,2,3\n", "line 1: a label and a series are expected, separated by tabs"),
        (b"1\t2\ta\n", "holds something other than numbers"),
        (b"1\t2\t\n", "holds something other than numbers"),
        (b"\x00\xff\t\x80\t1\n", "holds something other than numbers"),
    ],
)
def test_files_of_another_form(content, words):
    with pytest.raises(InputError, match=f"^a file.*{words}"):
        read_series(content, "a file")


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (b"1\t2\n", "Ships_TRAIN has series of 3 values, Ships_TEST of 1"),
        (b"7\t2\t2\t2\n", "Ships_TEST has the label 7, which Ships_TRAIN lacks"),
        (None, "lacks Ships_TEST.tsv"),
    ],
)
def test_parts_that_do_not_fit(test, words, tmp_path):
    write_files(tmp_path, {"Ships_TRAIN.tsv": TRAIN} | ({} if test is None else {"Ships_TEST.tsv": test}))
    with pytest.raises(InputError, match=words):
        load_ucr("Ships", tmp_path)


def test_a_cut_file(tmp_path):
    write_files(tmp_path, {"Ships_TRAIN.tsv.xz": lzma.compress(TRAIN)[:-8], "Ships_TEST.tsv": TEST})
    with pytest.raises(InputError, match=r"Ships_TRAIN.tsv.xz is damaged \(it ends in the middle\)"):
        load_ucr("Ships", tmp_path)


@pytest.mark.filterwarnings("ignore:.*Crop_TEST.tsv")
def test_a_known_set_with_other_content_is_used_with_a_warning(tmp_path):
    write_files(tmp_path, {"Crop_TRAIN.tsv": TRAIN, "Crop_TEST.tsv": TEST})
    with pytest.warns(UserWarning, match="Crop_TRAIN.tsv differs from the file that published studies used"):
        load_ucr("Crop", tmp_path)


def test_check_counts_the_usable_sets(tmp_path):
    write_files(tmp_path, {"Ships_TRAIN.tsv": TRAIN, "Ships_TEST.tsv": TEST})
    write_files(tmp_path, {"Cut/Cut_TRAIN.tsv": b"1\t2\n1\n", "Cut/Cut_TEST.tsv": TEST})
    assert UCR.check(tmp_path) == "1 of 2 sets; not Cut"
    (tmp_path / "Ships_TEST.tsv").unlink()
    with pytest.raises(InputError, match="unequal length"):
        UCR.check(tmp_path)


@pytest.mark.parametrize(
    ("name", "train", "test", "classes"),
    [("Crop", (7200, 1, 46), (16800, 1, 46), 24), ("ElectricDevices", (8926, 1, 96), (7711, 1, 96), 7)],
)
def test_the_real_sets(name, train, test, classes, recwarn):
    if REAL is None:
        pytest.skip(f"UCR's {name} not found: EINSTELLUNG_DATA is not set")
    try:
        found = load_ucr(name, REAL)
    except InputError as error:
        pytest.skip(str(error))
    assert not recwarn.list
    assert (found.train.series.shape, found.test.series.shape) == (train, test)
    assert found.label_names == tuple(str(number) for number in range(1, classes + 1))
    assert sorted(set(found.train.labels.tolist())) == list(range(classes))
