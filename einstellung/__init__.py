"""Einstellung: does a continual learner adapt for the right reason?

    import einstellung as e

    result = e.score("my_logs")           # or a DataFrame; in a notebook it shows the answer and a table
    study = e.load("results/demo")        # a results folder, a sweep or a family
    study = e.run("demo", out="mine")     # a study of a preset, a YAML file or a dict
    data = e.two_phase((x, y), (x_test, y_test), t1=[0, 1], t2=[2, 3], shortcut=[2])   # your data, with a cue planted

Names are imported when they are first used: ``import einstellung`` takes no torch, pandas or matplotlib.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from einstellung.version import __version__

if TYPE_CHECKING:
    from einstellung.api.auditing import audit
    from einstellung.api.comparing import compare
    from einstellung.api.data import phases, two_phase
    from einstellung.api.scoring import load, score
    from einstellung.api.studies import run
    from einstellung.bridges.recorder import Recorder
    from einstellung.gating import gate

_HOMES = {
    "Recorder": "einstellung.bridges.recorder",
    "audit": "einstellung.api.auditing",
    "compare": "einstellung.api.comparing",
    "gate": "einstellung.gating",
    "load": "einstellung.api.scoring",
    "run": "einstellung.api.studies",
    "score": "einstellung.api.scoring",
    "phases": "einstellung.api.data",
    "two_phase": "einstellung.api.data",
}

__all__ = ["Recorder", "__version__", "audit", "compare", "gate", "load", "phases", "run", "score", "two_phase"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'einstellung' has no attribute '{name}'")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
