"""The arithmetic and the order of measurements, by a clock that is moved by hand."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks import measuring
from benchmarks.measuring import (
    Spread,
    command_core_seconds,
    core_seconds,
    in_turn,
    interleaved,
    ratios,
    row,
    wall_seconds,
)
from einstellung.training.devices import torch_threads

HERE = Path(measuring.__file__).parent
WITH_EXAMPLES = [
    "__main__",
    "accuracies",
    "audit.intervals",
    "comparison",
    "concon_render",
    "demo",
    "launchers.kills",
    "leaderboard",
    "measuring",
    "probes",
    "rates",
    "scaling",
    "study",
    "table",
    "time_left",
]


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_in_docstrings_hold(module):
    found = doctest.testmod(importlib.import_module(f"benchmarks.{module}"))
    assert found.attempted > 0
    assert found.failed == 0


def test_no_example_is_left_out():
    assert (
        sorted(
            ".".join(file.relative_to(HERE).with_suffix("").parts)
            for file in HERE.rglob("*.py")
            if ">>>" in file.read_text("utf-8")
        )
        == WITH_EXAMPLES
    )


@pytest.fixture
def clock(monkeypatch):
    """A clock that only ``work(seconds)`` moves."""

    class Clock:
        now = 100.0

        def work(self, seconds):
            self.now += seconds

    made = Clock()
    monkeypatch.setattr(measuring.time, "process_time", lambda: made.now)
    monkeypatch.setattr(measuring.time, "perf_counter", lambda: made.now)
    return made


def test_spread_shows_the_median_and_both_ends():
    assert Spread.of([3.0, 1.0, 2.0, 10.0]) == Spread(2.5, 1.0, 10.0, 4)
    assert Spread.of([1234.5]).words(0) == "1,234 (once)"
    assert Spread.of([1.79, 1.83, 1.88]).words() == "1.83 (1.79 to 1.88, 3 times)"


def test_ratios_are_taken_repeat_by_repeat():
    # the machine was ten times slower in the second repeat; medians of each side would say 11 / 5.5 too, pairs say it exactly
    assert ratios([2.0, 20.0, 2.2], [1.0, 10.0, 1.0]) == Spread(2.0, 2.0, 2.2, 3)
    with pytest.raises(ValueError, match="shorter"):
        ratios([1.0, 2.0], [1.0])


def test_every_repeat_starts_with_another_work():
    order = []
    found = in_turn({name: lambda name=name: order.append(name) or float(len(order)) for name in "abc"}, 4)
    assert "".join(order) == "abc" + "bca" + "cab" + "abc"
    assert found == {"a": [1.0, 6.0, 8.0, 10.0], "b": [2.0, 4.0, 9.0, 11.0], "c": [3.0, 5.0, 7.0, 12.0]}


def test_interleaved_warms_up_unmeasured_and_measures_each_work_alone(clock):
    calls = []

    def work(name, first, later):
        clock.work(later if name in calls else first)
        calls.append(name)

    took = interleaved({"slow": lambda: work("slow", 50.0, 4.0), "fast": lambda: work("fast", 20.0, 2.0)}, 3)
    assert took == {"slow": [4.0] * 3, "fast": [2.0] * 3}
    assert calls == ["slow", "fast", "slow", "fast", "fast", "slow", "slow", "fast"]


def test_wall_seconds_are_those_of_the_work(clock):
    assert wall_seconds(lambda: clock.work(2.5)) == 2.5


def test_core_seconds_count_children_that_ended():
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    assert core_seconds(lambda: subprocess.run([sys.executable, "-c", busy], check=True)) >= 0.3


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="orphans are adopted on Linux only")
def test_core_seconds_of_a_command_count_processes_that_outlive_it():
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    command = [sys.executable, "-c", f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {busy!r}])"]
    assert command_core_seconds(command) >= 0.3


def test_threads_are_put_back_even_after_an_error():
    before = torch.get_num_threads()

    def fail():
        with torch_threads(before + 1):
            assert torch.get_num_threads() == before + 1
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert torch.get_num_threads() == before


def test_a_row_carries_data_for_programs():
    assert row("step", "2 s", seconds=[2.0]) == {
        "what": "step",
        "measured": "2 s",
        "reach": "no target",
        "reached": None,
        "seconds": [2.0],
    }
