"""The callback inside real trainers, of either name of the package."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module
from itertools import chain

import pytest
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from einstellung.bridges.lightning import ERICallback
from einstellung.diagnoses.rigidity.score import score
from einstellung.errors import InputError
from einstellung.streams import Presentation
from einstellung.timeline import Timeline
from einstellung.training import Evaluator

QUIET = {
    "accelerator": "cpu",
    "logger": False,
    "enable_checkpointing": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
}


@pytest.fixture(params=["lightning.pytorch", "pytorch_lightning"])
def lightning(request):
    return import_module(request.param)


@pytest.fixture
def loader(stream):
    def make(phase="T2", shuffle=True):
        train = stream.phase(phase).train
        inputs = Presentation(stream).unaugmented(train)
        return DataLoader(TensorDataset(inputs, train.labels), batch_size=8, shuffle=shuffle)

    return make


@pytest.fixture
def fit(lightning, tiny_net, loader):
    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = tiny_net()

        def forward(self, inputs):
            return self.net(inputs)

        def training_step(self, batch, number):
            return F.cross_entropy(self(batch[0]), batch[1])

        def validation_step(self, batch, number):
            self.log("loss", F.cross_entropy(self(batch[0]), batch[1]))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.05)

    def run(*callbacks, data=None, module=None, ckpt_path=None, epochs=2, **settings):
        torch.manual_seed(5)
        module = module or Module()
        trainer = lightning.Trainer(max_epochs=epochs, callbacks=list(callbacks), **{**QUIET, **settings})
        trainer.fit(module, loader() if data is None else data, loader(shuffle=False), ckpt_path=ckpt_path)
        return module, trainer

    return run


def epochs_of(callback, phase="T2"):
    return callback.timeline().curve("mine", 1, phase, "T2_val")[0].tolist()


def test_measures_all_splits_before_the_first_step_and_after_each_epoch(fit, lightning, stream, tmp_path):
    callback = ERICallback("mine", 1, tmp_path, stream)
    module, _ = fit(callback)
    timeline = Timeline.read(tmp_path / "mine-seed1" / "timeline.csv")
    assert set(timeline.splits) == {split.name for split in stream.splits}
    assert epochs_of(callback) == [0, 1, 2]
    evaluator = Evaluator(stream, Presentation(stream), nullcontext)
    for measured in evaluator.measure(module, timeline.splits):
        assert timeline.curves("mine", 1, "T2")[measured.split].acc[-1] == measured.acc


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"accumulate_grad_batches": 3}, [0, 1, 2]),
        ({"limit_train_batches": 3}, [0, 24 / 60, 48 / 60]),
        ({"max_steps": 10}, [0, 1, 76 / 60]),
        ({"num_sanity_val_steps": 4}, [0, 1, 2]),
        ({"val_check_interval": 0.25}, [0, 1, 2]),
        ({"precision": "bf16-mixed"}, [0, 1, 2]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_effective_epochs_are_counted_samples(fit, stream, settings, expected):
    assert len(stream.phase("T2").train) == 60
    callback = ERICallback("mine", 1, None, stream)
    fit(callback, **settings)
    assert epochs_of(callback) == expected


def test_the_same_seed_gives_the_same_weights_with_and_without_it(fit, stream):
    with_callback, _ = fit(ERICallback("mine", 1, None, stream))
    without, _ = fit()
    expected = without.state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in with_callback.state_dict().items())


def test_every_other_epoch_and_the_end(fit, stream):
    callback = ERICallback("mine", 1, None, stream, every=2)
    fit(callback, epochs=3)
    assert epochs_of(callback) == [0, 2, 3]


def test_two_phases_and_a_baseline_are_scored(fit, loader, stream, tmp_path):
    module, _ = fit(ERICallback("mine", 1, tmp_path, stream, phase="T1"), data=loader("T1"), epochs=1)
    fit(ERICallback("mine", 1, tmp_path, stream, phase="T2", resume=True), module=module)
    fit(ERICallback("scratch_t2", 1, tmp_path, stream))
    timeline = Timeline.read_many([tmp_path])
    assert timeline.phases("mine", 1) == ("T1", "T2")
    assert score(timeline).baseline == "scratch_t2"


def test_a_checkpoint_is_taken_up_where_it_was(fit, loader, stream, tmp_path):
    whole = ERICallback("mine", 1, tmp_path / "whole", stream)
    fit(whole, data=loader(shuffle=False), epochs=3)
    _, trainer = fit(ERICallback("mine", 1, tmp_path / "cut", stream), data=loader(shuffle=False), epochs=2)
    trainer.save_checkpoint(tmp_path / "half.ckpt")
    again = ERICallback("mine", 1, tmp_path / "cut", stream, resume=True)
    fit(again, data=loader(shuffle=False), epochs=3, ckpt_path=tmp_path / "half.ckpt")
    assert epochs_of(again) == epochs_of(whole) == [0, 1, 2, 3]


def test_a_checkpoint_of_t1_begins_t2_at_its_start(fit, loader, stream, tmp_path):
    _, trainer = fit(ERICallback("mine", 1, tmp_path, stream, phase="T1"), data=loader("T1"), epochs=1)
    trainer.save_checkpoint(tmp_path / "t1.ckpt")
    second = ERICallback("mine", 1, tmp_path, stream, phase="T2", resume=True)
    fit(second, epochs=2, ckpt_path=tmp_path / "t1.ckpt")
    assert epochs_of(second) == [0, 1]


def test_batches_of_data_loaders_and_own_counting(fit, loader, stream):
    splits = {"T2_val": loader(shuffle=False)}
    callback = ERICallback("mine", 1, None, splits, samples=30, count=lambda batch: len(batch[1]) // 2)
    fit(callback)
    assert epochs_of(callback) == [0, 1, 2]


def test_the_size_of_an_iterable_training_set_must_be_given(fit, loader, stream):
    class Endless(IterableDataset):
        def __iter__(self):
            return chain.from_iterable(zip(*batch, strict=True) for batch in loader())

    data = DataLoader(Endless(), batch_size=8)
    with pytest.raises(InputError, match="give samples="):
        fit(ERICallback("mine", 1, None, stream), data=data)
    callback = ERICallback("mine", 1, None, stream, samples=60)
    fit(callback, data=data)
    assert epochs_of(callback) == [0, 1, 2]


def test_an_error_while_measuring_ends_the_training(fit, stream):
    wrong = {"T2_val": (torch.zeros(4, 3, 12, 12), torch.full((4,), 99))}
    with pytest.raises(InputError, match="T2_val"):
        fit(ERICallback("mine", 1, None, wrong))
