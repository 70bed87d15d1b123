"""Writing a timeline and reading it back; its curves."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from einstellung.errors import InputError
from einstellung.timeline import ImportOptions, Timeline
from tests.timeline.rows import HEADER, row, write


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_is_written_is_read_back_exactly(tmp_path, suffix):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "method": ["sgd"] * 50,
            "seed": 2**60 + 1,
            "phase": "T2",
            "epoch": np.arange(50) / 3,
            "split": "T1_all",
            "acc": rng.random(50),
            "loss": np.where(np.arange(50) % 2, rng.random(50), np.nan),
            "n": np.where(np.arange(50) % 3, 500, np.nan),
            "acc_task": rng.random(50),
            "acc_within": np.where(np.arange(50) % 5, rng.random(50), np.nan),
            "note": "x",
        }
    )
    timeline = Timeline(frame)
    path = timeline.write(tmp_path / f"timeline.{suffix}")
    again = Timeline.read(path)
    pd.testing.assert_frame_equal(timeline.frame, again.frame)
    assert again.write(tmp_path / f"again.{suffix}").read_bytes() == path.read_bytes()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = write(tmp_path / "timeline.csv", row())
    before = path.read_bytes()

    def full(self, *_, **__):
        raise OSError(28, "No space left on device")

    timeline = Timeline.read(path)
    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    with pytest.raises(InputError, match="no space left"):
        timeline.write(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["timeline.csv"]


def test_curves_are_sorted_and_absent_ones_are_empty(tmp_path):
    timeline = Timeline.read(write(tmp_path / "a.csv", row(epoch=2, acc=0.2), row(epoch=0.5, acc=0.1)))
    epochs, accs = timeline.curve("sgd", 1, "T2", "T1_all")
    assert (epochs.tolist(), accs.tolist()) == ([0.5, 2.0], [0.1, 0.2])
    for key in (
        ("sgd", 1, "T1", "T1_all"),
        ("sgd", 2, "T2", "T1_all"),
        ("x", 1, "T2", "T1_all"),
        ("sgd", 1, "T2", "T1"),
    ):
        assert [values.tolist() for values in timeline.curve(*key)] == [[], []]
    assert timeline.splits == ("T1_all",)
    assert timeline.phases("sgd", 1) == ("T2",)
    assert timeline.runs == (("sgd", 1),)


def test_parquet_without_its_library_is_said(tmp_path, monkeypatch):
    timeline = Timeline.read(write(tmp_path / "a.csv", row()))
    path = timeline.write(tmp_path / "timeline.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"needs pyarrow; pip install 'einstellung\[parquet\]'"):
        Timeline.read(path)
    with pytest.raises(InputError, match=r"needs pyarrow; pip install 'einstellung\[parquet\]'"):
        timeline.write(path)


def test_a_curve_has_the_accuracy_within_its_split_where_the_file_does(tmp_path):
    lines = (f"{row(epoch=2)},0.9", f"{row(epoch=1)},0.7", f"{row(method='er')},")
    timeline = Timeline.read(write(tmp_path / "a.csv", *lines, header=f"{HEADER},acc_within"))
    assert timeline.curves("sgd", 1, "T2")["T1_all"].acc_within.tolist() == [0.7, 0.9]
    assert np.isnan(timeline.curves("er", 1, "T2")["T1_all"].acc_within).all()
    without = Timeline.read(write(tmp_path / "b.csv", row())).curves("sgd", 1, "T2")["T1_all"]
    assert without.acc_within is None


def test_only_keeps_the_order_and_the_rows_of_the_chosen_runs(tmp_path):
    timeline = Timeline.read(write(tmp_path / "a.csv", row("er", 2), row("sgd", 2), row("sgd", 1), row("er", 1)))
    chosen = timeline.only(methods=["sgd", "er"], seeds=[1])
    assert (chosen.methods, chosen.runs, chosen.seeds("sgd")) == (("er", "sgd"), (("er", 1), ("sgd", 1)), (1,))
    assert chosen.frame[["method", "seed"]].to_numpy().tolist() == [["sgd", 1], ["er", 1]]
    assert chosen.frame.index.tolist() == [0, 1]
    assert len(timeline.runs) == 4


def test_only_refuses_what_no_run_has(tmp_path):
    timeline = Timeline.read(write(tmp_path / "a.csv", row("er", 2), row("sgd", 1)))
    with pytest.raises(InputError, match="no method 'xx' in the timeline: there are: er, sgd"):
        timeline.only(methods=["er", "xx"])
    with pytest.raises(InputError, match="no seed 3 in the timeline: there are: 1, 2"):
        timeline.only(seeds=[3])
    with pytest.raises(InputError, match="no run is left"):
        timeline.only(methods=["er"], seeds=[1])


def named(phases, method="sgd"):
    rows = [
        {"method": method, "seed": 1, "phase": phase, "epoch": epoch, "split": "a", "acc": 0.5}
        for phase in phases
        for epoch in (0, 1)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("phases", "order"),
    [
        (["T2", "T10", "1"], ("T1", "T2", "T10")),  # by number
        (["night", "day"], ("night", "day")),  # as they first appear
        (["T2", "warm-up", "T1"], ("T2", "warm-up", "T1")),  # one other name, and numbers say nothing any more
    ],
)
def test_phases_are_sorted_by_number_or_kept_as_they_appear(phases, order):
    timeline = Timeline(named(phases))
    assert timeline.phase_names == timeline.phases("sgd", 1) == order


def test_a_run_of_the_last_phase_alone_does_not_move_it_to_the_front():
    timeline = Timeline(pd.concat([named(["night"], "scratch_t2"), named(["day", "night"])]))
    assert timeline.phase_names == ("day", "night")
    assert timeline.only(methods=["scratch_t2"]).phase_names == ("night",)
    assert timeline.only(methods=["sgd"]).phases("sgd", 1) == ("day", "night")


def test_phases_of_any_name_survive_a_file(tmp_path):
    timeline = Timeline(named(["night", "day"]))
    path = timeline.write(tmp_path / "timeline.csv")
    assert Timeline.read(path).phase_names == ("night", "day")


def test_a_wide_table_names_phases_where_a_pattern_asks_for_it():
    wide = pd.DataFrame({"epoch": [1], "day/acc/day_val": [0.5], "night/acc/day_val": [0.4]})
    options = ImportOptions({"{phase}/acc/{split}": "acc"}, method="sgd", seed=1)
    timeline = Timeline.from_frame(wide, options)
    assert timeline.phase_names == ("day", "night")
    with pytest.raises(InputError, match="no column is recognised"):
        Timeline.from_frame(wide, ImportOptions(wide=True, method="sgd", seed=1))
