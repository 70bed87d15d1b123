"""Where a run's measurements can be logged while it trains: one file per target."""

from __future__ import annotations

from importlib import import_module

from einstellung.experiments.log_targets.contract import LoggedRun, LogTarget

_CLASSES = {"csv": "CsvLog", "tensorboard": "TensorBoardLog", "mlflow": "MlflowLog", "wandb": "WandbLog"}

__all__ = ["LogTarget", "LoggedRun", "log_target"]


def log_target(name: str) -> type[LogTarget]:
    """The target of a name that the configuration allows.

    >>> log_target("csv").__name__
    'CsvLog'
    """
    found: type[LogTarget] = getattr(import_module(f"{__name__}.{name}"), _CLASSES[name])
    return found
