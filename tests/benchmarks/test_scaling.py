"""What scaling reports, from workers and studies whose pace is known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Self

import pytest

from benchmarks import scaling


class KnownPool:
    """Workers of which each takes a millisecond per image alone, and longer beside others; the calls are kept."""

    calls: list[tuple[int, int]]

    def __init__(self, config: Any) -> None:
        assert config.backbone.options["width"] == 8
        KnownPool.calls = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def measure(self, threads: int, workers: int, budget: float) -> Any:
        self.calls.append((workers, threads))
        rate = {1: 1000.0, 2: 800.0, 4: 400.0}[workers] * threads
        return SimpleNamespace(throughput=SimpleNamespace(training=rate))


def test_throughput_is_that_of_all_workers_together_in_changing_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "WorkerPool", KnownPool)
    rates = scaling.throughputs("paper-fast", ((1, 1), (2, 1), (4, 1), (1, 2)), repeats=2, budget=1.0)
    assert {key: [round(rate) for rate in found] for key, found in rates.items()} == {
        (1, 1): [1000, 1000],
        (2, 1): [1600, 1600],
        (4, 1): [1600, 1600],
        (1, 2): [2000, 2000],
    }
    assert KnownPool.calls == [(1, 1), (2, 1), (4, 1), (1, 2), (2, 1), (4, 1), (1, 2), (1, 1)]


@pytest.mark.parametrize(("two", "cores", "reached"), [(1810.0, 2, True), (1790.0, 2, False), (1790.0, 1, None)])
def test_two_workers_must_nearly_double_one(two: float, cores: int, reached: bool | None) -> None:
    rates = {(1, 1): [1000.0, 1000.0], (2, 1): [two, two], (4, 1): [5000.0, 5000.0]}
    assert scaling._worker_row(rates, (2, 1), cores)["reached"] is reached
    assert scaling._worker_row(rates, (4, 1), cores)["reach"] == "no target"


def test_ratios_are_taken_within_a_repeat() -> None:
    """A machine at half its pace in the second repeat: the ratio stays."""
    rates = {(1, 1): [1000.0, 500.0, 1000.0], (2, 1): [1900.0, 950.0, 1900.0]}
    row = scaling._worker_row(rates, (2, 1), 2)
    assert row["measured"] == "1.90 (1.90 to 1.90, 3 times); 1,900 / 1,000 images/s"


def test_cost_per_seed_is_the_studys_over_its_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for: list[int] = []

    def answer(what: str, *, values: dict[str, Any], out: str, workers: int) -> dict[str, float]:
        assert (what, workers, values["training"]["threads"]) == ("study", 2, 1)
        asked_for.append(len(values["seeds"]))
        return {"wall": 4.0 + len(values["seeds"]), "core": 8.0 + 2 * len(values["seeds"])}

    monkeypatch.setattr(scaling, "asked", answer)
    found = scaling.costs_by_seeds(6, (1, 1), repeats=2, cores=2)
    assert asked_for == [1, 2, 4, 8, 8, 4, 2, 1]
    assert {number: costs["wall"] for number, costs in found.items()} == {
        1: [5.0, 5.0],
        2: [3.0, 3.0],
        4: [2.0, 2.0],
        8: [1.5, 1.5],
    }
    assert scaling._seeds_row(8, found[8], 2)["measured"] == "1.5 s, 3.0 core-seconds (wall 1.5 to 1.5, 2 times)"
