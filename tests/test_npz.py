"""Archives of arrays: refused before anything of the size that they claim is allocated."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.npz import read_npz
from tests.faults import hostile


@pytest.mark.parametrize("name", sorted(hostile.arrays().keys() - {"an empty zip"}))
def test_hostile_archives(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.npz"
    path.write_bytes(hostile.arrays()[name])
    tracemalloc.start()
    with pytest.raises(InputError, match=r"^is (damaged|too large): "):
        read_npz(path)
    assert tracemalloc.get_traced_memory()[1] < 30_000_000
    tracemalloc.stop()
    assert not (tmp_path / hostile.MARK).exists()


def test_sound_archives_and_their_limit(tmp_path):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "names": np.array(["x", "yz"]), "empty": np.zeros((0, 3))}
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    for name, array in read_npz(tmp_path / "a.npz").items():
        np.testing.assert_array_equal(array, arrays[name])
    with pytest.raises(InputError, match="is too large: it unpacks to 0 MiB, more than 0"):
        read_npz(tmp_path / "a.npz", most_bytes=100)
    assert read_npz(tmp_path / "a.npz", most_bytes=None).keys() == arrays.keys()
