"""States come back as they were, layout included; a damaged file is named; nothing is unpickled."""

from __future__ import annotations

import pickle

import pytest
import torch

from einstellung.errors import InputError
from einstellung.training.checkpoint import check_whole, load_state, save_state

STATE = {
    "net": {"conv.weight": torch.randn(8, 4, 3, 3).to(memory_format=torch.channels_last), "bias": torch.randn(3)},
    "learner": {"buffer": {"seen": 9, "images": torch.zeros(2, 3, 4, 4, dtype=torch.uint8)}, "empty": {}},
    "rows": [{"epoch": 0.5, "split": "T1_all", "loss": None}],
    "done": 3,
}


def test_round_trip(tmp_path):
    back = load_state(save_state(tmp_path / "state.safetensors", STATE))
    weight = back["net"]["conv.weight"]
    assert torch.equal(weight, STATE["net"]["conv.weight"])
    assert weight.stride() == STATE["net"]["conv.weight"].stride()
    assert back["learner"]["buffer"]["images"].dtype == torch.uint8
    assert back["learner"]["buffer"]["seen"] == 9
    assert back["learner"]["empty"] == {}
    assert back["rows"] == STATE["rows"]
    assert back["done"] == 3


def test_equal_states_are_equal_bytes(tmp_path):
    one, other = (save_state(tmp_path / name, STATE).read_bytes() for name in ("a.safetensors", "b.safetensors"))
    assert one == other


@pytest.mark.parametrize("keep", [0, 5, 200, -1])
def test_a_file_cut_short_is_named(tmp_path, keep):
    path = save_state(tmp_path / "state.safetensors", STATE)
    path.write_bytes(path.read_bytes()[:keep])
    for read in (load_state, check_whole):
        with pytest.raises(InputError, match=r"state\.safetensors is damaged or cut short"):
            read(path)


def test_a_pickle_is_refused(tmp_path):
    path = tmp_path / "state.safetensors"
    path.write_bytes(pickle.dumps({"net": 1}))
    with pytest.raises(InputError, match="damaged"):
        load_state(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="is missing"):
        load_state(tmp_path / "none.safetensors")


def test_a_key_that_would_be_ambiguous_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must not hold '/'"):
        save_state(tmp_path / "state.safetensors", {"a/b": torch.zeros(1)})
