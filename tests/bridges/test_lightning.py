"""The callback's hooks in the order in which a trainer calls them; Lightning itself is not needed here."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from einstellung.bridges import lightning
from einstellung.bridges.lightning import LightningRecording, length
from einstellung.errors import InputError

SPLITS = {"T2_val": (torch.zeros(2, 3), torch.tensor([0, 1]))}
BATCH = (torch.zeros(8, 3), torch.zeros(8))


class Net(nn.Linear):
    device = torch.device("cpu")


def trainer(rank: int = 0, world_size: int = 1, samples: int = 32) -> SimpleNamespace:
    return SimpleNamespace(
        is_global_zero=rank == 0,
        world_size=world_size,
        train_dataloader=SimpleNamespace(dataset=range(samples)),
        precision_plugin=SimpleNamespace(forward_context=nullcontext),
    )


def epoch(callback: LightningRecording, by: SimpleNamespace, batches: int) -> None:
    for number in range(batches):
        callback.on_train_batch_end(by, None, None, BATCH, number)
    callback.on_train_epoch_end(by, Net(3, 2))


def epochs_of(callback: LightningRecording) -> list[float]:
    return callback.timeline().curve("mine", 1, "T2", "T2_val")[0].tolist()


def test_counts_samples_and_measures_the_end(tmp_path):
    callback, by = LightningRecording("mine", 1, tmp_path, SPLITS, every=2), trainer()
    callback.on_train_start(by, Net(3, 2))
    for batches in (4, 4, 1):
        epoch(callback, by, batches)
    callback.on_train_end(by, Net(3, 2))
    assert epochs_of(callback) == [0, 2, 2.25]


def test_every_process_counts_and_only_rank_zero_measures_and_writes(tmp_path):
    for rank in (1, 0):
        callback, by = LightningRecording("mine", 1, tmp_path, SPLITS), trainer(rank, world_size=2)
        callback.on_train_start(by, Net(3, 2))
        epoch(callback, by, 2)
        assert callback.recorder.effective_epoch == 1
        callback.on_train_end(by, Net(3, 2))
        assert (tmp_path / "mine-seed1" / "timeline.csv").exists() == (rank == 0)
    assert epochs_of(callback) == [0, 1]


def test_goes_on_from_the_state_of_a_checkpoint():
    first, by = LightningRecording("mine", 1, None, SPLITS), trainer()
    first.on_train_start(by, Net(3, 2))
    epoch(first, by, 4)
    second = LightningRecording("mine", 1, None, SPLITS)
    assert second.state_key == first.state_key != LightningRecording("mine", 1, None, SPLITS, phase="T1").state_key
    second.load_state_dict(first.state_dict())
    second.on_train_start(by, Net(3, 2))
    epoch(second, by, 4)
    second.on_train_end(by, Net(3, 2))
    assert epochs_of(second) == [2]


@pytest.mark.parametrize(
    ("batch", "expected"),
    [(torch.zeros(3, 2), 3), ([{"x": torch.zeros(5, 1)}, torch.zeros(9)], 5), ({"x": (torch.zeros(4),)}, 4)],
)
def test_the_length_of_a_batch(batch, expected):
    assert length(batch) == expected


@pytest.mark.parametrize("batch", ["text", torch.tensor(1.0), {}, []])
def test_a_batch_of_no_length_asks_for_a_count(batch):
    with pytest.raises(InputError, match="give count="):
        length(batch)


def test_wrong_options_are_refused():
    with pytest.raises(InputError, match="every is 0"):
        LightningRecording("mine", 1, None, SPLITS, every=0)
    callback = LightningRecording("mine", 1, None, SPLITS)
    with pytest.raises(InputError, match="give samples="):
        callback.on_train_start(SimpleNamespace(train_dataloader=[]), Net(3, 2))
    with pytest.raises(InputError, match="T2 has 0 samples"):
        LightningRecording("mine", 1, None, SPLITS, samples=0).on_train_start(SimpleNamespace(), Net(3, 2))


def test_without_lightning_one_line_says_what_to_install(monkeypatch):
    lightning.callback_class.cache_clear()
    for name in ("lightning", "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(lightning, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install lightning"):
        lightning.ERICallback  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'Callback'"):
        lightning.Callback  # noqa: B018
    lightning.callback_class.cache_clear()
