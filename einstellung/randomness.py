"""Random generators by address: every consumer of random numbers has its own.

An address is (seed, purpose, where...), for instance ``(42, "order", "T2", 7)``. It does not depend on the process, so the same
address gives the same numbers everywhere, and no consumer's draws affect another's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


def seed_of(seed: int, purpose: str, *where: int | str) -> int:
    """A 63-bit seed for an address.

    >>> seed_of(42, "order", "T2", 7) == seed_of(42, "order", "T2", 7)
    True
    >>> seed_of(42, "order", "T2", 7) == seed_of(42, "order", "T2", 8)
    False
    """
    address = "/".join([str(int(seed)), purpose, *map(str, where)])
    return int.from_bytes(hashlib.blake2b(address.encode(), digest_size=8).digest(), "little") >> 1


def generator(seed: int, purpose: str, *where: int | str) -> torch.Generator:
    """A new generator for one address."""
    return torch.Generator().manual_seed(seed_of(seed, purpose, *where))


@contextmanager
def seeded_globally(seed: int, purpose: str, *where: int | str) -> Iterator[None]:
    """Seed torch's global generator within the context, for code that uses no other (weight initialisation)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_of(seed, purpose, *where))
        yield


def uniform_by_index(index: Tensor, salt: int) -> Tensor:
    """A number in [0, 1) per index that depends only on (index, salt), not on the rest of the batch.

    The finaliser of SplitMix64, on torch's wrapping 64-bit integers.

    >>> both = uniform_by_index(torch.tensor([3, 8]), salt=1)
    >>> bool(uniform_by_index(torch.tensor([8]), salt=1)[0] == both[1])
    True
    """
    mixed = index.to(torch.int64) + _wrapped(0x9E3779B97F4A7C15 * (salt + 1))
    mixed = (mixed ^ _shifted(mixed, 30)) * _wrapped(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ _shifted(mixed, 27)) * _wrapped(0x94D049BB133111EB)
    mixed = mixed ^ _shifted(mixed, 31)
    return _shifted(mixed, 11).to(torch.float64) * 2.0**-53


def _wrapped(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >= 1 << 63 else value


def _shifted(value: Tensor, bits: int) -> Tensor:
    return (value >> bits) & ((1 << (64 - bits)) - 1)
