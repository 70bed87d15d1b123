"""Files and folders, and what happens when they are not what they should be."""

from __future__ import annotations

import pytest

from einstellung.errors import InputError
from einstellung.timeline import Timeline
from tests.timeline.rows import HEADER, row, write


def test_a_results_folder_is_read_once(tmp_path):
    write(tmp_path / "timeline.csv", row(seed=1), row(seed=2))
    for seed in (1, 2):
        write(tmp_path / "runs" / f"sgd-seed{seed}" / "timeline.csv", row(seed=seed))
    assert Timeline.read_many([tmp_path]).seeds("sgd") == (1, 2)


def test_in_a_results_folder_the_runs_count_and_not_an_older_table_of_them(tmp_path):
    write(tmp_path / "timeline.csv", row(seed=1))
    (tmp_path / "config.yaml").write_text("name: study\n")
    assert Timeline.read_many([tmp_path]).seeds("sgd") == (1,)
    for seed in (1, 2):
        write(tmp_path / "runs" / f"sgd-seed{seed}" / "timeline.csv", row(seed=seed))
    write(tmp_path / "shared" / "timeline.csv", row(seed=7))
    assert Timeline.read_many([tmp_path]).seeds("sgd") == (1, 2)
    write(tmp_path / "timeline_extra.csv", row(seed=3))
    assert Timeline.read_many([tmp_path]).seeds("sgd") == (1, 2, 3)


def test_tables_next_to_a_timeline_are_read_with_it(tmp_path):
    whole = write(tmp_path / "timeline.csv", row(seed=1))
    other = write(tmp_path / "timeline_b.csv", row(seed=2))
    assert Timeline.read_many([tmp_path]).seeds("sgd") == (1, 2)
    write(other, row(seed=1))
    with pytest.raises(InputError, match=f"^{other}, line 2: the same .* as {whole}, line 2 "):
        Timeline.read_many([tmp_path])


def test_a_folder_of_runs_is_merged(tmp_path):
    for seed in (1, 2, 3):
        write(tmp_path / "runs" / f"sgd-seed{seed}" / "timeline.csv", row(seed=seed))
    write(tmp_path / ".cache" / "timeline.csv", row(seed=9))
    write(tmp_path / "runs" / "notes.csv", "x", header="a")
    assert Timeline.read_many([tmp_path]).seeds("sgd") == (1, 2, 3)


def test_folders_of_foreign_files_are_merged_with_ours(tmp_path):
    write(tmp_path / "ours" / "timeline.csv", row("derpp"))
    write(tmp_path / "fork" / "timeline_SGD_1.csv", "SGD,1,0,T1_all,0.5", header="method,seed,epoch_eff,split,acc")
    timeline = Timeline.read_many([tmp_path])
    assert sorted(timeline.methods) == ["derpp", "sgd"]
    assert timeline.frame[["loss", "n"]].isna().all(axis=None)


def test_a_file_given_twice_counts_once(tmp_path):
    path = write(tmp_path / "timeline.csv", row())
    assert len(Timeline.read_many([path, tmp_path, tmp_path / ".." / tmp_path.name / "timeline.csv"]).frame) == 1


def test_the_csv_is_read_where_both_formats_exist(tmp_path):
    timeline = Timeline.read(write(tmp_path / "timeline.csv", row()))
    timeline.write(tmp_path / "timeline.parquet")
    assert len(Timeline.read_many([tmp_path]).frame) == 1


def test_one_row_in_two_files_names_both(tmp_path):
    first = write(tmp_path / "a" / "timeline.csv", row(epoch=1), row(epoch=2))
    second = write(tmp_path / "b" / "timeline.csv", row(epoch=3), row(epoch=2))
    with pytest.raises(InputError) as caught:
        Timeline.read_many([tmp_path])
    assert f"{second}, line 3: the same" in str(caught.value)
    assert f"as {first}, line 3 " in str(caught.value)


def test_the_file_among_many_is_named(tmp_path):
    write(tmp_path / "a" / "timeline.csv", row(seed=1), "", row(seed=2))
    bad = write(tmp_path / "b" / "timeline.csv", row(seed=3), row(seed=4, acc=2))
    write(tmp_path / "c" / "timeline.csv", row(seed=5))
    with pytest.raises(InputError, match=f"^{bad}, line 3, column 'acc': 2 is outside"):
        Timeline.read_many([tmp_path])
    write(bad, row(seed=3), row(seed=4) + ",x")
    with pytest.raises(InputError, match=f"^{bad}, line 3: 9 fields"):
        Timeline.read_many([tmp_path])
    write(bad)
    with pytest.raises(InputError, match=f"^{bad} has a header but no rows"):
        Timeline.read_many([tmp_path])
    write(bad, "sgd,1", header="method,seed")
    with pytest.raises(InputError, match=f"^{bad}: columns 'phase', 'epoch', 'split' and 'acc' are missing"):
        Timeline.read_many([tmp_path])


def test_quoted_line_breaks_do_not_shift_other_files(tmp_path):
    write(tmp_path / "a" / "timeline.csv", '"s\ngd",1,T2,1,T1_all,0.5,,')
    bad = write(tmp_path / "b" / "timeline.csv", row(), row(seed=2, acc=2))
    with pytest.raises(InputError, match=f"^{bad}, line 3,"):
        Timeline.read_many([tmp_path])


def test_text_conventions_of_other_systems(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join([HEADER, " sgd , 1, T2 ,1, T1_all ,0.5, ,"]).encode())
    timeline = Timeline.read(path)
    assert timeline.methods == ("sgd",)
    assert timeline.curve("sgd", 1, "T2", "T1_all")[1].tolist() == [0.5]


def test_an_index_column_without_a_name_is_left_out(tmp_path):
    timeline = Timeline.read(write(tmp_path / "log.csv", f"0,{row()}", header=f",{HEADER}"))
    assert list(timeline.frame.columns) == HEADER.split(",")


def test_unknown_columns_are_kept(tmp_path):
    timeline = Timeline.read(write(tmp_path / "log.csv", f"{row()},x,3", header=f"{HEADER},note,depth"))
    assert timeline.frame[["note", "depth"]].values.tolist() == [["x", 3]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (HEADER.encode(), "has a header but no rows"),
        (HEADER.encode() + b"\n\n,,,,,,,\n", "has a header but no rows"),
        (b"PK\x03\x04\x00\x00", "is not a CSV file: it holds binary data"),
        (b"\xff\xfe\xfa,\x81\n", "is not a CSV file in UTF-8"),
        (b"method;seed;phase\n1;2;3\n", 'the columns are separated by ";": save it with commas'),
        (b"method\tseed\tphase\n1\t2\t3\n", "the columns are separated by tabs: save it with commas"),
        (b"hello\nworld\n", "are missing (columns found: hello)"),
    ],
)
def test_what_is_no_timeline_is_said_in_one_line(tmp_path, content, words):
    path = tmp_path / "timeline.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        Timeline.read(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_missing_things(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.csv does not exist"):
        Timeline.read(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="holds no timeline"):
        Timeline.read_many([tmp_path])
    with pytest.raises(InputError, match="is a folder"):
        Timeline.read(tmp_path)
    with pytest.raises(InputError, match="no timeline was given"):
        Timeline.read_many([])


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = write(tmp_path / "timeline.csv", row())

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(InputError, match=f"cannot read {path}: Permission denied"):
        Timeline.read(path)


def test_a_broken_parquet_file(tmp_path):
    path = tmp_path / "timeline.parquet"
    path.write_bytes(b"PAR1 but not really")
    with pytest.raises(InputError, match=r"cannot read .*timeline\.parquet as Parquet"):
        Timeline.read(path)


def test_a_wrong_value_in_parquet_is_named_by_row(tmp_path):
    frame = Timeline.read(write(tmp_path / "log.csv", row(), row(seed=2))).frame
    path = tmp_path / "timeline.parquet"
    frame.assign(acc=[0.5, 1.5]).to_parquet(path)
    with pytest.raises(InputError, match=r"timeline\.parquet, row 2, column 'acc': 1\.5"):
        Timeline.read(path)
