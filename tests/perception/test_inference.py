"""Pictures to tables: what the slots say, kept in the cache, and refused where the weights do not fit."""

from __future__ import annotations

import pytest
import torch

from einstellung.errors import InputError
from einstellung.perception import inference, perceived_tables
from einstellung.perception.columns import GROUPS, PRESENCE, tables_of
from einstellung.perception.inference import outputs_of, perception_bytes
from einstellung.perception.slot_attention import SlotPerception
from einstellung.perception.storage import tensor_bytes
from einstellung.randomness import seeded_globally

from .conftest import TINY, drawn


@pytest.fixture
def weights(tmp_path, own_cache):
    with seeded_globally(6, "test"):
        net = SlotPerception(TINY)
        torch.nn.init.zeros_(net.head[2].bias)
        torch.nn.init.normal_(net.head[2].weight[PRESENCE])  # so that some slots hold nothing
    path = tmp_path / "eyes.safetensors"
    path.write_bytes(perception_bytes(net, TINY, 16, "key"))
    return path


def test_tables_of_slot_outputs(weights):
    images, said = drawn(30).images, []
    tables = perceived_tables(images, weights, said.append)
    assert (tables.shape, tables.dtype) == ((30, 3, 16), torch.uint8)
    net, _, _ = inference.load_perception(weights)
    assert torch.equal(tables, tables_of(outputs_of(net, images)))
    present = tables[:, :, 0].bool()
    assert 0 < present.sum() < present.numel()
    assert not tables[~present].any()
    assert all(bool((tables[present][:, group].sum(dim=1) == 1).all()) for group in GROUPS.values())
    assert said == ["perceiving objects in 30 images"]


def test_the_second_time_they_come_from_the_cache(weights, monkeypatch):
    images = drawn(6).images
    first = perceived_tables(images, weights)
    monkeypatch.setattr(inference, "_tables", None)
    assert torch.equal(perceived_tables(images, weights), first)
    # the same pictures in another memory layout are the same pictures
    assert torch.equal(perceived_tables(images.contiguous(memory_format=torch.channels_last), weights), first)
    with pytest.raises(TypeError):  # other pictures, or other weights, are not there yet
        perceived_tables(images.flip(0), weights)
    weights.write_bytes(perception_bytes(SlotPerception(TINY), TINY, 16, "key"))
    with pytest.raises(TypeError):
        perceived_tables(images, weights)


def test_pictures_of_another_size_are_refused(weights):
    with pytest.raises(InputError, match="trained on images of 3x16x16, these are 3x32x32"):
        perceived_tables(torch.zeros(2, 3, 32, 32, dtype=torch.uint8), weights)


def test_other_files_are_refused(tmp_path, own_cache):
    images = drawn(1).images
    with pytest.raises(InputError, match=r"nothing\.safetensors"):
        perceived_tables(images, tmp_path / "nothing.safetensors")
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"no weights")
    with pytest.raises(InputError, match="concon perceive"):
        perceived_tables(images, broken)
    other = tmp_path / "other.safetensors"
    other.write_bytes(tensor_bytes({"a": torch.zeros(1)}, {"perception": {"strides": [1]}, "size": 16}))
    with pytest.raises(InputError, match="is not a weights file"):
        perceived_tables(images, other)
