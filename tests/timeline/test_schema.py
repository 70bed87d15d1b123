"""Every way a table can be wrong, and the words that say so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from einstellung.errors import InputError
from einstellung.timeline import Timeline

HEADER = "method,seed,phase,epoch,split,acc,loss,n"
GOOD = "sgd,1,T2,1,T1_all,0.5,1.2,500"


def read(tmp_path, *lines, header=HEADER):
    path = tmp_path / "log.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    return Timeline.read(path)


def error_of(tmp_path, *lines, header=HEADER):
    with pytest.raises(InputError) as caught:
        read(tmp_path, *lines, header=header)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(tmp_path), "DIR")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "sgd,1,T2,2,T1_all,1.67,,",
            "DIR/log.csv, line 3, column 'acc': 1.67 is outside 0..1; per cent? divide by 100",
        ),
        ("sgd,1,T2,2,T1_all,1.5,,", "DIR/log.csv, line 3, column 'acc': 1.5 is outside 0..1"),
        ("sgd,1,T2,2,T1_all,1.0000001,,", "DIR/log.csv, line 3, column 'acc': 1.0000001 is outside 0..1"),
        ("sgd,1,T2,2,T1_all,-0.00000001,,", "DIR/log.csv, line 3, column 'acc': -1e-08 is outside 0..1"),
        ("sgd,1,T2,2,T1_all,-0.1,,", "DIR/log.csv, line 3, column 'acc': -0.1 is outside 0..1"),
        ("sgd,1,T2,2,T1_all,nan,,", "DIR/log.csv, line 3, column 'acc': is empty or NaN, a number is needed"),
        ("sgd,1,T2,2,T1_all,,,", "DIR/log.csv, line 3, column 'acc': is empty or NaN, a number is needed"),
        ("sgd,1,T2,2,T1_all,inf,,", "DIR/log.csv, line 3, column 'acc': is infinite, a number is needed"),
        ("sgd,1,T2,2,T1_all,high,,", "DIR/log.csv, line 3, column 'acc': 'high' is not a number"),
        ("sgd,1,T2,2,T1_all,True,,", "DIR/log.csv, line 3, column 'acc': 'True' is not a number"),
        ("sgd,1,T2,2,T1_all,0.5,much,", "DIR/log.csv, line 3, column 'loss': 'much' is not a number"),
        ("sgd,1,T2,2,T1_all,0.5,,0", "DIR/log.csv, line 3, column 'n': 0 is below 1"),
        ("sgd,1,T2,2,T1_all,0.5,,2.5", "DIR/log.csv, line 3, column 'n': 2.5 is not a whole number up to 2**53"),
        ("sgd,1,T2,-1,T1_all,0.5,,", "DIR/log.csv, line 3, column 'epoch': -1 is below 0"),
        ("sgd,1,T2,,T1_all,0.5,,", "DIR/log.csv, line 3, column 'epoch': is empty or NaN, a number is needed"),
        ("sgd,one,T2,2,T1_all,0.5,,", "DIR/log.csv, line 3, column 'seed': 'one' is not a number"),
        ("sgd,1.5,T2,2,T1_all,0.5,,", "DIR/log.csv, line 3, column 'seed': 1.5 is not a whole number up to 2**53"),
        (",1,T2,2,T1_all,0.5,,", "DIR/log.csv, line 3, column 'method': is empty"),
        ("sgd,1,T2,2, ,0.5,,", "DIR/log.csv, line 3, column 'split': is empty"),
        ("sgd,1,,2,T1_all,0.5,,", "DIR/log.csv, line 3, column 'phase': is empty"),
        (
            "sgd,1,0,2,T1_all,0.5,,",
            "DIR/log.csv, line 3, column 'phase': '0' is not a phase; write T1, T2, ..., or a name without spaces",
        ),
        (
            "sgd,1,phase 2,2,a,0.5,,",
            "DIR/log.csv, line 3, column 'phase': 'phase 2' is not a phase; write T1, T2, ..., or a name without spaces",
        ),
        (
            "sgd,1,T2,1.0,T1_all,0.7,,",
            "DIR/log.csv, line 3: the same method, seed, phase, epoch and split as line 2 "
            "(sgd, seed 1, T2, epoch 1, T1_all)",
        ),
        ("sgd,1,T2,2,T1_all,0.5,,,", "DIR/log.csv, line 3: 9 fields where the header names 8"),
        ("sgd,1,T2", "DIR/log.csv, line 3, column 'epoch': is empty or NaN, a number is needed"),
    ],
)
def test_a_wrong_row_is_named_by_file_line_and_column(tmp_path, line, message):
    assert error_of(tmp_path, GOOD, line) == message


def test_blank_lines_keep_their_numbers(tmp_path):
    message = error_of(tmp_path, GOOD, "", "", "sgd,1,T2,2,T1_all,2,,")
    assert message.startswith("DIR/log.csv, line 5, column 'acc'")


@pytest.mark.parametrize("column", HEADER.split(",")[:6])
def test_each_missing_column_is_named(tmp_path, column):
    keep = [i for i, name in enumerate(HEADER.split(",")) if name != column]
    header = ",".join(HEADER.split(",")[i] for i in keep)
    line = ",".join(GOOD.split(",")[i] for i in keep)
    message = error_of(tmp_path, line, header=header)
    assert message == f"DIR/log.csv: column '{column}' is missing (columns found: {header.replace(',', ', ')})"


def test_loss_and_n_may_be_left_out(tmp_path):
    frame = read(tmp_path, "sgd,1,T2,1,T1_all,0.5", header="method,seed,phase,epoch,split,acc").frame
    assert list(frame.columns) == HEADER.split(",")
    assert frame[["loss", "n"]].isna().all(axis=None)
    assert read(tmp_path, "sgd,1,T2,1,T1_all,0.5,7", header="method,seed,phase,epoch,split,acc,n").frame["n"][0] == 7


def test_a_column_under_another_name_is_pointed_at(tmp_path):
    message = error_of(tmp_path, GOOD, header="Method,seed,phase,epochs,split,Acc ,loss,n")
    assert message.startswith("DIR/log.csv: columns 'method', 'epoch' and 'acc' are missing (columns found: Method, ")
    assert message.endswith("; did you mean --map Method=method --map epochs=epoch --map Acc=acc?")


def test_what_others_call_accuracy_is_pointed_at(tmp_path):
    message = error_of(tmp_path, GOOD, header="method,seed,phase,epoch,split,accuracy,loss,n")
    assert message.endswith("; did you mean 'accuracy' for 'acc'? Use --map accuracy=acc")


@pytest.mark.parametrize("column", ["acc_task", "acc_within", "top5"])
def test_optional_accuracies_are_checked_where_given(tmp_path, column):
    header = f"{HEADER},{column}"
    assert read(tmp_path, f"{GOOD},0.9", header=header).frame[column].tolist() == [0.9]
    assert np.isnan(read(tmp_path, f"{GOOD},", header=header).frame[column][0])
    assert error_of(tmp_path, f"{GOOD},90", header=header).startswith(f"DIR/log.csv, line 2, column '{column}': 90")


def test_phase_is_written_in_many_ways_and_read_as_one(tmp_path):
    phases = ["T1", "t1", "1", "T2", "2", "t3", "12"]
    lines = [f"sgd,{seed},{phase},1,T1_all,0.5,," for seed, phase in enumerate(phases)]
    assert read(tmp_path, *lines).frame["phase"].tolist() == ["T1", "T1", "T1", "T2", "T2", "T3", "T12"]


@pytest.mark.parametrize("phase", [2, 2.0, "2"])
def test_a_frame_may_hold_numbers_for_phases(phase):
    row = {"method": "a", "seed": 1, "phase": phase, "epoch": 0.5, "split": "x", "acc": 1, "loss": None, "n": None}
    assert Timeline(pd.DataFrame([row])).frame["phase"].tolist() == ["T2"]


def test_unmeasured_loss_and_counts_stay_unmeasured(tmp_path):
    frame = read(tmp_path, "sgd,1,T2,1,T1_all,0.5,,", "sgd,1,T2,2,T1_all,0.5,nan,7").frame
    assert frame["loss"].isna().all()
    assert frame["n"].isna().tolist() == [True, False]


def test_a_frame_without_a_file_is_blamed_by_row():
    frame = pd.DataFrame(
        {"method": "a", "seed": 1, "phase": "T2", "epoch": [1, 2], "split": "x", "acc": [0.5, 3], "loss": 0, "n": 1}
    )
    with pytest.raises(InputError, match=r"^row 2, column 'acc': 3 is outside 0\.\.1"):
        Timeline(frame)
    with pytest.raises(InputError, match="the timeline: column 'acc' is missing"):
        Timeline(frame.drop(columns="acc"))
    with pytest.raises(InputError, match="the timeline: no rows"):
        Timeline(frame.iloc[:0])


def test_epochs_that_differ_by_rounding_are_the_same_key(tmp_path):
    message = error_of(tmp_path, "a,1,T2,0.3,x,0.5,,", "a,1,T2,0.30000000000000004,x,0.5,,")
    assert "line 3: the same method" in message


def test_an_accuracy_above_one_by_rounding_is_one(tmp_path):
    assert read(tmp_path, "a,1,T2,1,x,1.0000000000000002,,").frame["acc"].tolist() == [1.0]


def test_seeds_beyond_float_precision_stay_exact(tmp_path):
    assert read(tmp_path, f"a,{2**62 + 1},T2,1,x,0.5,,").seeds("a") == (2**62 + 1,)


def test_a_column_that_stands_twice_is_refused(tmp_path):
    assert error_of(tmp_path, f"{GOOD},1", header=f"{HEADER},acc") == (
        "DIR/log.csv, line 1: column 'acc' appears twice"
    )
