"""A stored net says the same as its timeline, or the difference is named."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest
import torch

from einstellung.errors import InputError
from einstellung.experiments.plan import plan
from einstellung.experiments.remeasure import remeasure
from einstellung.experiments.study import prepare_study, run_study
from einstellung.results.config import build_config, merged
from einstellung.results.folder import ResultsFolder

from .conftest import SMALL, recorded_again


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """One run from scratch, the study behind it, its job, and where it lies."""
    out = tmp_path_factory.mktemp("remeasure") / "out"
    change = {
        "methods": ["scratch_t2"],
        "stream": {"size": 8},
        "training": {"epochs": [1, 2]},
        "evaluation": {"extra_every": 2, "t1_all_every": 2},
    }
    prepared = prepare_study(build_config(merged(SMALL, change)), out)
    with ResultsFolder(out).in_use():
        assert not run_study(prepared, out, 1, "a test").failures
    (job,) = plan(prepared.config, prepared.stream)
    return prepared, out, job


def test_every_split_as_it_was(finished):
    prepared, out, job = finished
    threads = torch.get_num_threads()
    again = remeasure(prepared, out, job)
    table = pd.read_csv(out / job.folder / "timeline.csv")
    rows = table[(table.phase == "T2") & (table.epoch == again.epoch)].set_index("split")
    assert {m.split for m in again.measurements} == {split.name for split in prepared.stream.splits} == set(rows.index)
    for measured in again.measurements:
        for name in ("acc", "acc_task", "acc_within", "top5", "loss"):
            assert getattr(measured, name) == pytest.approx(rows.loc[measured.split, name], abs=1e-12)
    assert f"{len(rows)} splits agree with its timeline" in again.describe()
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("measure", ["acc", "loss", "acc_task", "acc_within", "top5"])
def test_a_difference_is_named_with_both_numbers(finished, tmp_path, measure):
    prepared, out, job = finished
    copy = shutil.copytree(out, tmp_path / "out")
    file = copy / job.folder / "timeline.csv"
    table = pd.read_csv(file)
    epoch = remeasure(prepared, out, job).epoch
    row = table.index[(table.epoch == epoch) & (table.split == "T2_shortcut_masked")]
    was = float(table.loc[row, measure].iloc[0])
    table.loc[row, measure] = now = was + (2e-6 if was < 0.5 else -2e-6)
    table.to_csv(file, index=False)
    recorded_again(file.parent)
    with pytest.raises(InputError, match=f"T2_shortcut_masked at epoch {epoch:g} of T2: {measure} is") as error:
        remeasure(prepared, copy, job)
    assert f"{measure} is {was:.6f} now, but {now:.6f} in" in str(error.value)


def test_a_split_without_a_row_is_named(finished, tmp_path):
    prepared, out, job = finished
    copy = shutil.copytree(out, tmp_path / "out")
    file = copy / job.folder / "timeline.csv"
    table = pd.read_csv(file)
    table[table.split != "T1_all"].to_csv(file, index=False)
    recorded_again(file.parent)
    with pytest.raises(InputError, match="has no row of T1_all at epoch"):
        remeasure(prepared, copy, job)


def test_another_net_does_not_pass(finished, tmp_path):
    """The numbers come from the stored weights, not from the file they are compared with."""
    from einstellung.training.checkpoint import load_state, save_state

    prepared, out, job = finished
    copy = shutil.copytree(out, tmp_path / "out")
    state = load_state(copy / job.folder / "model.safetensors")
    save_state(copy / job.folder / "model.safetensors", {name: -value for name, value in state.items()})
    recorded_again(copy / job.folder)
    with pytest.raises(InputError, match=r"is .* now, but"):
        remeasure(prepared, copy, job)
