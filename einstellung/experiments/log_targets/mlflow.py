"""An MLflow file store in ``mlruns/`` of the results folder (extra ``mlflow``): never a server, never the network."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.experiments.log_targets.contract import LogTarget, Row, moments, step_of
from einstellung.files import require_writable
from einstellung.folders import make_folder

_TAG = "einstellung.run"
# read when MLflow is imported; newer versions open a file store only on request
_ENVIRONMENT = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_ALLOW_FILE_STORE": "true"}


class MlflowLog(LogTarget):
    """A run of MLflow's per run, in an experiment named after the study."""

    logs_shared_phases = False  # the runs of one store must not hold a row twice

    @classmethod
    def require(cls) -> None:
        _mlflow()

    def start(self) -> None:
        from filelock import FileLock

        store = (self.run.results or self.run.folder) / "mlruns"
        require_writable(store)
        make_folder(store)
        self._client = _mlflow().MlflowClient(tracking_uri=store.absolute().as_uri())
        with FileLock(store / ".lock"):  # workers share the store
            found = self._client.get_experiment_by_name(self.run.study)
            experiment = self._client.create_experiment(self.run.study) if found is None else found.experiment_id
        for old in self._client.search_runs([experiment], f"tags.`{_TAG}` = '{self.run.name}'"):
            shutil.rmtree(Path(store / experiment / old.info.run_id), ignore_errors=True)
        run = self._client.create_run(experiment, run_name=self.run.name, tags={_TAG: self.run.name})
        self._id = run.info.run_id
        self._time = 0
        for name in ("method", "seed"):
            self._client.log_param(self._id, name, getattr(self.run, name))

    def add(self, rows: Sequence[Row], lr: float | None, seconds: float) -> None:
        metric = _mlflow().entities.Metric
        for _, epoch, metrics in moments(rows, lr):
            self._time = max(int(time.time() * 1000), self._time + 1)
            found = [metric(name, value, self._time, step_of(epoch)) for name, value in metrics.items()]
            for start in range(0, len(found), 1000):  # MLflow's limit on a batch
                self._client.log_batch(self._id, metrics=found[start : start + 1000])

    def close(self) -> None:
        self._client.set_terminated(self._id)


def _mlflow() -> Any:
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import mlflow
        import mlflow.entities
    except ImportError:
        raise InputError("logging: mlflow is not installed; pip install 'einstellung[mlflow]'") from None
    return mlflow
