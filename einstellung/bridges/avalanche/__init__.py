"""Avalanche: our streams as benchmarks, and a strategy plug-in that records a timeline.

    from einstellung.bridges.avalanche import ERIPlugin, avalanche_benchmark

    benchmark = avalanche_benchmark(stream)
    strategy = Replay(..., plugins=[ERIPlugin(("replay", 1, "my_logs"), stream)])
    for experience in benchmark.train_stream:
        strategy.train(experience)

Avalanche is imported when one of these names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from einstellung.bridges.avalanche.benchmark import avalanche_benchmark
from einstellung.bridges.avalanche.plugin import plugin_class, scratch_t2

if TYPE_CHECKING:
    from einstellung.bridges.avalanche.plugin import AvalancheRecording as ERIPlugin

__all__ = ["ERIPlugin", "avalanche_benchmark", "scratch_t2"]


def __getattr__(name: str) -> Any:
    """``ERIPlugin`` subclasses Avalanche's ``SupervisedPlugin``, so it exists only if Avalanche is installed."""
    if name == "ERIPlugin":
        return plugin_class()
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
