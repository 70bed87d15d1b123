"""What each part of the kernels gains, at a tiny size through the program; the arithmetic by hand."""

from __future__ import annotations

import json

import pytest
import torch

from benchmarks import __main__ as program
from benchmarks import kernels
from benchmarks.kernels import FISHER, FISHER_FASTER, ONE_BY_ONE, ONE_PASS, Size, size_rows
from einstellung.training.acceleration import PARTS


def test_kernels_through_the_program(monkeypatch, tmp_path):
    pytest.importorskip("numba")
    monkeypatch.setattr(program, "HERE", tmp_path)
    monkeypatch.setattr(kernels, "SHORT", (Size(8, 1, 2),))
    monkeypatch.setattr(kernels, "BATCH", 4)
    assert program.main(["kernels", "--short"]) == 0
    found = json.loads((tmp_path / "results.json").read_text())["kernels"]["short"]
    took = found["core_seconds"]["8"]
    assert list(took) == ["torch", *PARTS, ONE_BY_ONE, ONE_PASS, FISHER, FISHER_FASTER]
    assert all(len(values) == 2 and min(values) > 0 for values in took.values())
    assert len(found["rows"]) == 1 + len(PARTS) + 2


def test_without_numba_nothing_is_measured(monkeypatch):
    monkeypatch.setattr(kernels, "available", lambda: False)
    (line,) = kernels.measure(short=True)["rows"]
    assert "numba is not installed" in line["measured"]


def test_every_part_has_words():
    assert set(kernels.PART_NAMES) == set(PARTS)


def test_a_part_is_compared_with_the_parts_before_it():
    took = {"torch": [1.2], "convolutions": [0.6], "norms": [0.5], "blocks": [0.4]}
    took |= {ONE_BY_ONE: [3.0], ONE_PASS: [2.0], FISHER: [1.5], FISHER_FASTER: [1.0]}
    rows = {line["what"].partition(": ")[2]: line["measured"] for line in size_rows(Size(8, 2, 1), took)}
    assert rows["a step with torch's layers, channels_last"] == "600.0 ms (once)"
    norms = rows["a step with + batch norm with addition and ReLU"]
    assert norms == "1.20 (once) x as fast as before it; 2.40 (once) x torch's; 250.0 ms (once)"
    assert rows["a step on 3 batches in one pass, against one by one"] == "1.50 (once) x as fast; 1,000.0 ms (once)"


def test_both_rehearsal_steps_learn_the_same(monkeypatch):
    """Up to rounding: what is compared is the same work."""
    pytest.importorskip("numba")
    monkeypatch.setattr(kernels, "BATCH", 4)
    made = []
    net_with = kernels.net_with
    monkeypatch.setattr(kernels, "net_with", lambda *given: made.append(net_with(*given)) or made[-1])
    for one_pass in (False, True):
        kernels.rehearsal_steps(Size(8, 1, 1), one_pass)()
    (one, _), (other, _) = made
    for mine, yours in zip(one.state_dict().values(), other.state_dict().values(), strict=True):
        torch.testing.assert_close(mine, yours, rtol=1e-3, atol=1e-4)
