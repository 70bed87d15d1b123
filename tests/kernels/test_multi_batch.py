"""Sizes of batches are known within their pass, and not after it."""

from __future__ import annotations

from einstellung.kernels.multi_batch import batch_sizes, separate_batches


def test_sizes_are_forgotten_after_the_pass() -> None:
    with separate_batches((2, 3)), separate_batches((1, 4)):
        assert batch_sizes() == (1, 4)
    assert batch_sizes() == ()
