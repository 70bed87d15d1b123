"""Weights from settings: finished, found again, stopped and gone on with, or refused."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from einstellung.errors import InputError
from einstellung.files import read_json
from einstellung.perception import Pretraining, pretrain, pretraining
from einstellung.perception.inference import load_perception
from einstellung.perception.trainer import Trainer

from .conftest import TINY, drawn

SETTINGS = Pretraining(
    scenes=12, held_out=5, size=16, objects=2, epochs=3, batch_size=8, seed=1, backend="torch", net=TINY
)


@pytest.fixture(autouse=True)
def _simple_pictures(monkeypatch):
    """Squares instead of rendered scenes."""
    monkeypatch.setattr(
        pretraining,
        "load_random_scenes",
        lambda split, count, **law: drawn(count, {"train": 1, "test": 2}[split], law["size"]),
    )


def stopped_after(monkeypatch, epochs):
    """Training ends as by Ctrl-C when more epochs are begun."""
    epoch = Trainer.epoch

    def begun(self, number, on_progress):
        if number > epochs:
            raise KeyboardInterrupt
        return epoch(self, number, on_progress)

    monkeypatch.setattr(Trainer, "epoch", begun)


def test_weights_and_record(tmp_path):
    out, said = tmp_path / "eyes.safetensors", []
    record = pretrain(out, SETTINGS, log=said.append)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["eyes.json", "eyes.safetensors"]
    assert read_json(tmp_path / "eyes.json") == record
    assert record["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    assert [epoch["epoch"] for epoch in record["epochs"]] == [1, 2, 3]
    assert record["accuracy"]["scenes"] == 5
    assert record["accuracy"]["attributes"] == record["epochs"][-1]["attributes"]
    assert record["chance"]["color"] == 1 / 8
    assert record["settings"]["net"]["channels"] == 8
    net, size, key = load_perception(out)
    assert (size, key) == (16, SETTINGS.key)
    assert not net.training
    assert sum(line.startswith("epoch 2 of 3: loss ") for line in said) == 1


def test_the_same_settings_find_what_is_there(tmp_path, monkeypatch):
    out = tmp_path / "eyes.safetensors"
    record = pretrain(out, SETTINGS)
    stopped_after(monkeypatch, 0)
    assert pretrain(out, SETTINGS) == record
    with pytest.raises(InputError, match="other settings"):
        pretrain(out, replace(SETTINGS, seed=2))


def test_stopped_and_gone_on_with(tmp_path, monkeypatch):
    whole, out = tmp_path / "whole.safetensors", tmp_path / "eyes.safetensors"
    pretrain(whole, SETTINGS)
    with monkeypatch.context() as patch:
        stopped_after(patch, 1)
        with pytest.raises(KeyboardInterrupt):
            pretrain(out, SETTINGS)
    assert not out.exists()
    with pytest.raises(InputError, match="was made with other settings"):
        pretrain(out, replace(SETTINGS, lr=0.01))
    record = pretrain(out, SETTINGS)
    assert out.read_bytes() == whole.read_bytes()
    assert [epoch["epoch"] for epoch in record["epochs"]] == [1, 2, 3]
    assert not list(tmp_path.glob("*unfinished*"))


def test_a_state_that_was_cut_is_named(tmp_path):
    (tmp_path / "eyes.unfinished.safetensors").write_bytes(b"half")
    with pytest.raises(InputError, match="unfinished training"):
        pretrain(tmp_path / "eyes.safetensors", SETTINGS)


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"epochs": 0}, "epochs is 0"), ({"objects": 4}, "only 3 slots"), ({"backend": "blender"}, "blender")],
)
def test_wrong_settings_are_named(tmp_path, changed, words):
    with pytest.raises(InputError, match=words):
        pretrain(tmp_path / "eyes.safetensors", replace(SETTINGS, **changed))
    assert not list(tmp_path.iterdir())


def test_the_name_of_the_file(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.safetensors"):
        pretrain(tmp_path / "eyes.pt", SETTINGS)


def test_a_place_that_cannot_be_written_to_is_noticed_before_anything_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr("einstellung.perception.pretraining.load_random_scenes", lambda *_, **__: pytest.fail("drawn"))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file is a file; choose a folder for --out"):
        pretrain(tmp_path / "file" / "eyes.safetensors", SETTINGS)
