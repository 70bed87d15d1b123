"""Addresses: the same numbers in every process, independent of each other."""

from __future__ import annotations

import subprocess
import sys

import torch
from scipy.stats import kstest

from einstellung.randomness import generator, seed_of, seeded_globally, uniform_by_index

SCRIPT = """
from einstellung.randomness import generator, uniform_by_index
import torch
print(torch.rand(3, generator=generator(42, "order", "T2", 7)).tolist(), uniform_by_index(torch.arange(3), 5).tolist())
"""


def test_other_processes_draw_the_same():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": salt}
        ).stdout
        for salt in ("0", "1", "random")
    }
    here = torch.rand(3, generator=generator(42, "order", "T2", 7)).tolist()
    assert outputs == {f"{here} {uniform_by_index(torch.arange(3), 5).tolist()}\n"}


def test_addresses_are_distinct():
    seeds = {
        seed_of(1, "a"),
        seed_of(1, "b"),
        seed_of(2, "a"),
        seed_of(1, "a", 1),
        seed_of(1, "a", "1", "2"),
        seed_of(11, "a"),
    }
    assert len(seeds) == 6
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_uniform_by_index_is_uniform_and_salted():
    values = uniform_by_index(torch.arange(20_000), salt=3)
    assert kstest(values.numpy(), "uniform").pvalue > 1e-3
    other = uniform_by_index(torch.arange(20_000), salt=4)
    assert abs(float(torch.corrcoef(torch.stack([values, other]))[0, 1])) < 0.03
    assert float(values.min()) >= 0
    assert float(values.max()) < 1


def test_seeding_globally_is_undone():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    with seeded_globally(1, "weights"):
        inside = torch.rand(2)
    assert torch.equal(torch.get_rng_state(), before)
    with seeded_globally(1, "weights"):
        assert torch.equal(torch.rand(2), inside)
