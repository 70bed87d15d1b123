"""States come back as they were, layout included; a damaged file is named; nothing is unpickled."""

from __future__ import annotations

import pickle

import pytest
import torch

from einstellung.errors import InputError
from einstellung.hashes import DamagedError
from einstellung.training.checkpoint import load_checkpoint, load_state, save_checkpoint, save_state

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
    with pytest.raises(DamagedError, match=r"state\.safetensors is damaged or truncated"):
        load_state(path)


def test_a_checkpoint_is_a_state_with_a_hash(tmp_path):
    path = save_checkpoint(tmp_path / "checkpoint.safetensors", STATE)
    for read in (load_checkpoint, load_state):
        back = read(path)
        assert torch.equal(back["net"]["conv.weight"], STATE["net"]["conv.weight"])
        assert (back["rows"], back["done"]) == (STATE["rows"], 3)
    assert save_checkpoint(tmp_path / "again.safetensors", STATE).read_bytes() == path.read_bytes()


def test_every_flipped_bit_of_a_checkpoint_is_noticed_or_harmless(tmp_path):
    """Anywhere in the file: its length, its header, the hash itself, the tensors."""
    path = save_checkpoint(tmp_path / "checkpoint.safetensors", STATE)
    whole, accepted = path.read_bytes(), 0
    for place in range(0, len(whole), 3):
        content = bytearray(whole)
        content[place] ^= 1 << place % 8
        path.write_bytes(content)
        try:
            back = load_checkpoint(path)
        except InputError:
            continue
        accepted += 1  # in the mark before the hash: then there seems to be none
        assert all(torch.equal(back["net"][name], value) for name, value in STATE["net"].items())
        assert (back["rows"], back["done"]) == (STATE["rows"], 3)
    assert accepted <= 8


@pytest.mark.parametrize("keep", [0, 5, 200, -1])
def test_a_checkpoint_cut_short_is_named(tmp_path, keep):
    path = save_checkpoint(tmp_path / "checkpoint.safetensors", STATE)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DamagedError, match=r"checkpoint\.safetensors is damaged"):
        load_checkpoint(path)


def test_a_checkpoint_of_an_older_version_is_read(tmp_path):
    assert load_checkpoint(save_state(tmp_path / "checkpoint.safetensors", STATE))["done"] == 3


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
