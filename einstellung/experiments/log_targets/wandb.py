"""An offline run of W&B's in ``wandb/`` of the run's folder (extra ``wandb``); ``wandb sync`` uploads it, if you want."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import Any

from einstellung.errors import InputError
from einstellung.experiments.log_targets.contract import LogTarget, Row, moments
from einstellung.folders import make_folder


class WandbLog(LogTarget):
    """Always offline, without system metrics, code or console output."""

    logs_shared_phases = False

    @classmethod
    def require(cls) -> None:
        _wandb()

    def start(self) -> None:
        wandb = _wandb()
        shutil.rmtree(self.run.folder / "wandb", ignore_errors=True)
        make_folder(self.run.folder)
        self._run = wandb.init(
            mode="offline",
            dir=str(self.run.folder),
            project=self.run.study,
            name=self.run.name,
            config={"method": self.run.method, "seed": self.run.seed},
            settings=wandb.Settings(
                console="off",
                silent=True,
                disable_git=True,
                save_code=False,
                x_disable_stats=True,
                x_disable_meta=True,
                reinit="create_new",
            ),
        )

    def add(self, rows: Sequence[Row], lr: float | None, seconds: float) -> None:
        for _, _, metrics in moments(rows, lr):
            self._run.log(metrics)

    def close(self) -> None:
        self._run.finish()


def _wandb() -> Any:
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # read when wandb is imported
    try:
        import wandb
    except ImportError:
        raise InputError("logging: wandb is not installed; pip install 'einstellung[wandb]'") from None
    return wandb
